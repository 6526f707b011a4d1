package diagtest

import (
	"encoding/hex"
	"net/netip"
	"strings"

	"github.com/miekg/dns"
)

func (s *Server) at(ip netip.Addr) responder {
	return func(q *dns.Msg, transport string) []*dns.Msg { return s.respond(q, ip, transport) }
}

// respond answers one message, and waits as long as that takes.
func (s *Server) respond(q *dns.Msg, ip netip.Addr, transport string) []*dns.Msg {
	w := s.world
	s.mu.Lock()
	config := s.config
	s.mu.Unlock()
	if len(q.Question) == 1 {
		question := q.Question[0]
		w.log.query(Query{ip, transport, dns.CanonicalName(question.Name), question.Qtype, w.Now()})
	}
	if config.LowerCase {
		q = lowered(q)
	}
	replies, fault := s.answers(q, transport, config)
	if w.wait(w.ctx, w.Latencies().DNS+fault.Delay) != nil || fault.Silent {
		return nil
	}
	for _, m := range replies {
		if transport == "udp" {
			cutOff(q, m, fault.Truncate || config.Truncate)
		}
	}
	return append(forged(q, config.Forged), replies...)
}

func lowered(q *dns.Msg) *dns.Msg {
	q = q.Copy()
	for i := range q.Question {
		q.Question[i].Name = strings.ToLower(q.Question[i].Name)
	}
	return q
}

// answers returns the true replies: one, or several for a zone transfer.
func (s *Server) answers(q *dns.Msg, transport string, config ServerConfig) ([]*dns.Msg, Fault) {
	if refusal, done := config.refuse(q); done {
		if refusal == nil {
			return nil, Fault{Silent: true}
		}
		return []*dns.Msg{refusal}, Fault{}
	}
	question := q.Question[0]
	if question.Qclass == dns.ClassCHAOS {
		return []*dns.Msg{config.chaos(q)}, Fault{}
	}
	zones := map[string]*zone{}
	if !s.resolver {
		zones = s.content()
	}
	if question.Qtype == dns.TypeAXFR || question.Qtype == dns.TypeIXFR {
		return transfer(q, zones, config.Transfer && transport != "udp"), Fault{}
	}
	if s.resolver || config.Recursive && q.RecursionDesired && authorityFor(zones, question) == nil {
		return s.recurse(q, config)
	}
	fault, instead := s.faults.hit(question.Name, question.Qtype)
	everywhere, other := s.world.dns.everywhere.hit(question.Name, question.Qtype)
	fault.add(everywhere)
	if instead == nil {
		instead = other
	}
	if instead != nil {
		zones = map[string]*zone{instead.origin: instead}
	}
	m := s.authoritative(q, zones, config)
	if fault.Rcode != 0 {
		m = new(dns.Msg).SetRcode(q, fault.Rcode)
	}
	config.edns(q, m, fault)
	return []*dns.Msg{m}, fault
}

// recurse answers as a resolver does.
func (s *Server) recurse(q *dns.Msg, config ServerConfig) ([]*dns.Msg, Fault) {
	var overlay map[string]*zone
	if s.resolver {
		s.mu.Lock()
		overlay = s.zones
		s.mu.Unlock()
	}
	r := s.world.recurse(q.Question[0], &s.faults, overlay)
	m := r.reply(q)
	if config.EDNS == EDNSIgnored {
		m.Extra = nil
	}
	config.options(q, m)
	return []*dns.Msg{m}, r.fault
}

// refuse returns the reply to a message that is not answered at all, or nil for silence.
func (c ServerConfig) refuse(q *dns.Msg) (m *dns.Msg, done bool) {
	opt := q.IsEdns0()
	switch {
	case c.Silent, opt != nil && c.EDNS == EDNSDropped:
		return nil, true
	case opt != nil && c.EDNS == EDNSRefused:
		m = new(dns.Msg).SetRcode(q, dns.RcodeFormatError)
		return m, true
	case opt != nil && c.EDNS == ednsKnown && opt.Version() > 0 && !c.AnyVersion:
		m = new(dns.Msg).SetRcode(q, dns.RcodeBadVers) // RFC 6891 section 6.1.3
		m.SetEdns0(ednsSize, opt.Do())
		return m, true
	case q.Opcode != dns.OpcodeQuery:
		return new(dns.Msg).SetRcode(q, dns.RcodeNotImplemented), true
	case len(q.Question) != 1:
		return new(dns.Msg).SetRcode(q, dns.RcodeFormatError), true
	}
	return nil, false
}

// ednsSize is the size of datagrams that the servers of a world announce (RFC 9715 section 3).
const ednsSize = 1232

// edns adds EDNS to the reply of an authoritative server.
func (c ServerConfig) edns(q, m *dns.Msg, fault Fault) {
	if q.IsEdns0() == nil || c.EDNS == EDNSIgnored {
		m.Rcode &= 0xf
		return
	}
	m.SetEdns0(ednsSize, dnssecOK(q))
	if fault.Explain != 0 || fault.Text != "" {
		opt := m.IsEdns0()
		opt.Option = append(opt.Option, &dns.EDNS0_EDE{InfoCode: fault.Explain, ExtraText: fault.Text})
	}
	c.options(q, m)
}

// serverCookie stands for what a server computes of address and secret (RFC 7873 section 4.2).
const serverCookie = "d1a67e57d1a67e57"

func (c ServerConfig) options(q, m *dns.Msg) {
	asked, opt := q.IsEdns0(), m.IsEdns0()
	if asked == nil || opt == nil {
		return
	}
	for _, o := range asked.Option {
		switch o := o.(type) {
		case *dns.EDNS0_NSID:
			if c.NSID != "" {
				opt.Option = append(opt.Option, &dns.EDNS0_NSID{Code: dns.EDNS0NSID, Nsid: hex.EncodeToString([]byte(c.NSID))})
			}
		case *dns.EDNS0_COOKIE:
			if c.Cookies && len(o.Cookie) >= 16 {
				cookie := o.Cookie[:16] + serverCookie
				opt.Option = append(opt.Option, &dns.EDNS0_COOKIE{Code: dns.EDNS0COOKIE, Cookie: cookie})
			}
		}
	}
}

// chaos answers version.bind and its like, which is a custom and not a standard (RFC 4892).
func (c ServerConfig) chaos(q *dns.Msg) *dns.Msg {
	name := dns.CanonicalName(q.Question[0].Name)
	if c.Version == "" || name != "version.bind." && name != "version.server." {
		return new(dns.Msg).SetRcode(q, dns.RcodeRefused)
	}
	m := new(dns.Msg).SetReply(q)
	m.Authoritative = true
	m.Answer = []dns.RR{&dns.TXT{
		Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeTXT, Class: dns.ClassCHAOS},
		Txt: []string{c.Version},
	}}
	return m
}

func forged(q *dns.Msg, kinds []Forgery) []*dns.Msg {
	var list []*dns.Msg
	for _, kind := range kinds {
		m := new(dns.Msg).SetReply(q)
		m.Question = append([]dns.Question{}, q.Question...)
		if len(m.Question) == 0 {
			continue
		}
		question := &m.Question[0]
		switch kind {
		case ForgedID:
			m.Id++
		case ForgedName:
			question.Name = "forged.example."
		case ForgedType:
			question.Qtype++
		case ForgedQuery:
			m.Response = false
		}
		header := dns.RR_Header{Name: question.Name, Rrtype: dns.TypeTXT, Class: dns.ClassINET, Ttl: 86400}
		m.Answer = []dns.RR{&dns.TXT{Hdr: header, Txt: []string{"forged"}}}
		list = append(list, m)
	}
	return list
}
