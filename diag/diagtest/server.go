package diagtest

import (
	"net/netip"
	"sync"

	"github.com/miekg/dns"
)

// A Server is a name server of the world.
type Server struct {
	world     *World
	addr      netip.Addr
	recursive bool
	faults    faultTable

	mu      sync.Mutex
	overlay map[string]*zone // what a resolver says instead of the truth
}

// respond answers one message.
func (s *Server) respond(q *dns.Msg, transport string) []*dns.Msg {
	w := s.world
	if len(q.Question) != 1 {
		return []*dns.Msg{new(dns.Msg).SetRcode(q, dns.RcodeFormatError)}
	}
	question := q.Question[0]
	w.log.query(Query{s.addr, transport, dns.CanonicalName(question.Name), question.Qtype, w.Now()})
	s.mu.Lock()
	overlay := s.overlay
	s.mu.Unlock()
	r := w.recurse(question, &s.faults, overlay)
	if w.wait(w.ctx, w.Latencies().DNS+r.fault.Delay) != nil || r.fault.Silent {
		return nil
	}
	m := r.reply(q)
	if transport == "udp" {
		cutOff(q, m, r.fault.Truncate)
	}
	return []*dns.Msg{m}
}
