package diagtest

import (
	"crypto/tls"
	"encoding/base64"
	"io"
	"net/http"
	"net/netip"
	"sync"

	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
)

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

// resolverAt makes an address a resolver.
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
