package diagtest

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"io"
	"net/http"
	"net/netip"
	"sync"

	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
)

// A responder answers a message, or not: without messages nothing is sent. It waits as long as the answer takes.
type responder func(q *dns.Msg, transport string) []*dns.Msg

// maxMessage is the largest message of the DNS (RFC 1035 section 4.2.2).
const maxMessage = 65535

func serveDatagrams(c *conn, respond responder) {
	defer c.Close()
	var busy sync.WaitGroup
	defer busy.Wait()
	buffer := make([]byte, maxMessage)
	for {
		n, err := c.Read(buffer)
		if err != nil {
			return
		}
		q := new(dns.Msg)
		if q.Unpack(buffer[:n]) != nil || q.Response {
			continue
		}
		busy.Go(func() {
			for _, m := range respond(q, "udp") {
				if b, err := m.Pack(); err == nil {
					c.Write(b)
				}
			}
		})
	}
}

// serveStream answers the questions of a connection as they come, in any order (RFC 7766 section 7).
func serveStream(c io.ReadWriteCloser, transport string, respond responder) {
	defer c.Close()
	var busy sync.WaitGroup
	defer busy.Wait()
	var mu sync.Mutex
	for {
		q, err := readMessage(c)
		if err != nil {
			return
		}
		busy.Go(func() {
			for _, m := range respond(q, transport) {
				b, err := m.Pack()
				if err != nil || len(b) > maxMessage {
					continue
				}
				mu.Lock()
				c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...))
				mu.Unlock()
			}
		})
	}
}

func readMessage(r io.Reader) (*dns.Msg, error) {
	var length [2]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint16(length[:]))
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, err
	}
	m := new(dns.Msg)
	return m, m.Unpack(b)
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

func netipPort(ip netip.Addr) netip.AddrPort { return netip.AddrPortFrom(ip, portDNS) }

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
