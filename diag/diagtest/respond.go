package diagtest

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
)

// respond answers one message, and waits as long as that takes.
func (s *Server) respond(q *dns.Msg, ip netip.Addr, transport string) []*dns.Msg {
	w := s.world
	s.mu.Lock()
	config := s.config
	s.mu.Unlock()
	if len(q.Question) == 1 {
		question := q.Question[0]
		w.queries.add(Query{ip, transport, dns.CanonicalName(question.Name), question.Qtype, w.Now()})
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
		zones = map[string]*zone{instead.origin: instead.within(authorityFor(zones, question))}
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
	case opt != nil && c.EDNS == EDNSKnown && opt.Version() > 0 && !c.AnyVersion:
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
	if c.EDNS == EDNSIgnored {
		m.Rcode &= 0xf
		return
	}
	extend(q, m, fault.Explain, fault.Text)
	c.options(q, m)
}

// serverCookie is a fixed cookie in place of one computed from address and secret (RFC 7873 section 4.2).
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

// A responder answers a message, or not: without messages nothing is sent. It waits as long as the answer takes.
type responder func(q *dns.Msg, transport string) []*dns.Msg

// maxMessage is the largest message of the DNS (RFC 1035 section 4.2.2).
const maxMessage = 65535

func serveDatagrams(c *conn, respond responder) {
	var busy sync.WaitGroup
	defer busy.Wait()
	eachDatagram(c, func(packet []byte) {
		q := new(dns.Msg)
		if q.Unpack(packet) != nil || q.Response {
			return
		}
		busy.Go(func() {
			for _, m := range respond(q, "udp") {
				if b, err := m.Pack(); err == nil {
					c.Write(b)
				}
			}
		})
	})
}

// serveStream answers the questions of a connection as they come, in any order (RFC 7766 section 7).
func serveStream(c net.Conn, transport string, respond responder) {
	defer c.Close()
	var busy sync.WaitGroup
	defer busy.Wait()
	var mu sync.Mutex
	messages := &dns.Conn{Conn: c}
	for {
		q, err := messages.ReadMsg()
		if err != nil {
			return
		}
		busy.Go(func() {
			for _, m := range respond(q, transport) {
				mu.Lock()
				messages.WriteMsg(m)
				mu.Unlock()
			}
		})
	}
}

// cutOff shortens a message that does not fit into a datagram (RFC 2181 section 9).
func cutOff(q, m *dns.Msg, anyway bool) {
	size := dns.MinMsgSize
	if opt := q.IsEdns0(); opt != nil {
		size = max(size, int(opt.UDPSize()))
	}
	m.Compress = true
	if !anyway && m.Len() <= size {
		return
	}
	m.Truncated = true
	m.Answer, m.Ns = nil, nil
	if opt := m.IsEdns0(); opt != nil {
		m.Extra = []dns.RR{opt}
	}
}

// servePublicResolvers lets the well-known resolvers answer, over UDP, TCP, TLS and HTTPS.
func (w *World) servePublicResolvers() {
	for _, p := range resolver.Public() {
		for _, ip := range append(p.IPv4, p.IPv6...) {
			s := w.resolverAt(ip)
			cert := sync.OnceValue(func() tls.Certificate {
				names := []string{p.DoT, ip.String()}
				if doh := p.Servers(resolver.DoH); len(doh) > 0 {
					names = append(names, doh[0].Name)
				}
				return w.Certificate(CertSpec{Names: names})
			})
			w.net.listen("tcp", netip.AddrPortFrom(ip, portTLS), func(c *conn) {
				config := &tls.Config{Certificates: []tls.Certificate{cert()}, Time: w.Now}
				serveStream(tls.Server(c, config), "dot", s.at(ip))
			})
			https := netip.AddrPortFrom(ip, portHTTPS)
			w.net.listen("tcp", https, func(c *conn) {
				config := &tls.Config{Certificates: []tls.Certificate{cert()}, Time: w.Now}
				web := w.webServer(https, false)
				web.addOnce(Site{Host: p.DoT, TLS: config, Handler: dohHandler(s.at(ip))})
				web.listener.hand(c)
			})
		}
	}
}

// The ports of the DNS: RFC 1035 section 4.2, RFC 7858 section 3.1, RFC 8484 section 4.1.
const (
	portDNS   = 53
	portTLS   = 853
	portHTTPS = 443
)

func (w *World) resolverAt(ip netip.Addr) *Server {
	s := (&Server{world: w, addrs: []netip.Addr{ip}, resolver: true}).Configure(ServerConfig{})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.resolvers[ip] = s
	return s
}

// dohHandler answers questions over HTTPS (RFC 8484 section 4).
func dohHandler(respond responder) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := dohQuestion(r)
		q := new(dns.Msg)
		if err != nil || q.Unpack(body) != nil {
			http.Error(w, "no message", http.StatusBadRequest)
			return
		}
		replies := respond(q, "doh")
		if len(replies) == 0 {
			<-r.Context().Done()
			return
		}
		packed, err := replies[len(replies)-1].Pack()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/dns-message")
		w.Write(packed)
	})
}

func dohQuestion(r *http.Request) ([]byte, error) {
	if r.Method == http.MethodPost {
		return io.ReadAll(io.LimitReader(r.Body, maxMessage))
	}
	return base64.RawURLEncoding.DecodeString(r.URL.Query().Get("dns"))
}
