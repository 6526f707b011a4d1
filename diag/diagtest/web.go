package diagtest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
)

// A Site is a web site of the world.
type Site struct {
	Host    string       // a name or an IP address
	Addrs   []string     // where it is; nil means at all addresses of Host
	Handler http.Handler // nil means 404 for every request
	Port    uint16       // 0 means 443, or 80 without TLS
	Plain   bool         // without TLS
	Cert    Cert         // what is wrong with its certificate
	TLS     *tls.Config  // if set, used instead of a configuration with a certificate of that kind
	HTTP1   bool         // does not offer HTTP/2
	IPv6    bool         // if Host has no address yet, it gets an IPv6 address
}

// HTTPS opens a web site with a valid certificate. The host may end in a port, such as
// "www.example.com:8443". If it has no address in the DNS, perhaps through aliases, it gets one.
func (w *World) HTTPS(host string, h http.Handler) { w.siteAt(host, Site{Handler: h}) }

// HTTP opens a web site without TLS, otherwise like [World.HTTPS].
func (w *World) HTTP(host string, h http.Handler) { w.siteAt(host, Site{Handler: h, Plain: true}) }

// siteAt opens a site at a host that may end in a port.
func (w *World) siteAt(host string, s Site) {
	s.Host = strings.Trim(host, "[]")
	if _, _, err := net.SplitHostPort(host); err == nil {
		if s.Host, s.Port, err = hostPort(host); err != nil {
			w.check(err)
			return
		}
	}
	w.Site(s)
}

// Site opens a web site on all or some addresses of its host. Several sites may share an address; of those
// with the same host, the last one answers.
func (w *World) Site(s Site) {
	if w.t != nil {
		w.t.Helper()
	}
	if s.Port == 0 {
		s.Port = map[bool]uint16{false: 443, true: 80}[s.Plain]
	}
	if s.Handler == nil {
		s.Handler = http.NotFoundHandler()
	}
	if s.TLS == nil && !s.Plain {
		cert := w.Certificate(CertSpec{Names: []string{s.Host}, Cert: s.Cert})
		s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, Time: w.Now}
	}
	at := kit.Map(s.Addrs, w.parseAddr)
	if len(at) == 0 {
		at = w.addresses(s.Host, s.IPv6)
	}
	for _, ip := range at {
		w.webServer(netip.AddrPortFrom(ip, s.Port), s.Plain).add(s)
	}
}

// Wrap wraps the handler of a web site, and reports whether there is one for that host and port.
func (w *World) Wrap(host string, port uint16, wrap func(http.Handler) http.Handler) (found bool) {
	for _, ip := range w.known(host) {
		w.mu.Lock()
		s := w.webServers[netip.AddrPortFrom(ip, port)]
		w.mu.Unlock()
		if s != nil {
			site := s.site(host)
			site.Host, site.Handler, found = host, wrap(site.Handler), true
			s.add(site)
		}
	}
	return found
}

// addresses returns the addresses of a host, and allocates one if needed.
func (w *World) addresses(host string, ipv6 bool) []netip.Addr {
	if list := w.known(host); len(list) > 0 {
		return list
	}
	ip, err := w.net.allocate(ipv6)
	w.check(err)
	w.host(w.aliased(host), ip)
	return []netip.Addr{ip}
}

// aliased returns the name at the end of the aliases of a host.
func (w *World) aliased(host string) string {
	name := dns.Fqdn(host)
	r := &recursion{zones: w.dns.current()}
	r.walk(name, dns.TypeA)
	for _, found := range r.results {
		name = cmp.Or(found.next, name)
	}
	return name
}

// known returns the addresses that a host has, perhaps through aliases, or that it is.
func (w *World) known(host string) []netip.Addr {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip.Unmap()}
	}
	var list []netip.Addr
	for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA} {
		r := &recursion{zones: w.dns.current()}
		r.walk(dns.Fqdn(host), qtype)
		for _, found := range r.results {
			for _, rr := range found.answer {
				if ip := resolver.AddressIn(rr); ip.IsValid() {
					list = append(list, ip)
				}
			}
		}
	}
	return list
}

// Host publishes addresses of a host in the DNS and returns them. If none are given, it allocates one.
func (w *World) Host(name string, addrs ...string) []netip.Addr {
	if len(addrs) == 0 {
		return w.addresses(name, false)
	}
	list := kit.Map(addrs, w.parseAddr)
	w.host(name, list...)
	return list
}

func (w *World) parseAddr(text string) netip.Addr {
	ip, err := netip.ParseAddr(text)
	w.check(err)
	return ip
}

func (w *World) host(name string, ips ...netip.Addr) { w.dns.add(w.hosting(name, ips...)...) }

// hosting returns the records of the addresses of a host, which are not allocated to another.
func (w *World) hosting(name string, ips ...netip.Addr) []dns.RR {
	w.net.reserve(ips...)
	return kit.Map(ips, func(ip netip.Addr) dns.RR { return dnsmsg.AddressRecord(name, ip, 300) })
}

// A webServer serves the sites of one address and port.
type webServer struct {
	listener *listener

	mu    sync.Mutex
	sites []Site // the first answers for hosts that are not among them
}

// webServer returns the server at an address, and starts it if needed.
func (w *World) webServer(addr netip.AddrPort, plain bool) *webServer {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.webServers[addr]; s != nil {
		return s
	}
	s := &webServer{listener: newListener(addr)}
	w.webServers[addr] = s
	server := &http.Server{
		Handler: s, ErrorLog: log.New(complaints{w}, "", 0),
		BaseContext: func(net.Listener) context.Context { return w.ctx },
		TLSConfig:   &tls.Config{GetConfigForClient: s.config, NextProtos: []string{"h2", "http/1.1"}, Time: w.Now},
	}
	w.net.stopLater(func() { server.Close() })
	w.net.running.Go(func() {
		if plain {
			server.Serve(s.listener)
			return
		}
		server.ServeTLS(s.listener, "", "")
	})
	w.net.listen("tcp", addr, s.listener.hand)
	return s
}

// complaints fails the test if a handler panics. What else a server complains about, such as clients
// that do not like its certificate, is for the diagnostic to report.
type complaints struct{ world *World }

func (c complaints) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("panic serving")) && c.world.t != nil && c.world.ctx.Err() == nil {
		c.world.t.Errorf("diagtest: %s", line)
	}
	return len(line), nil
}

func (s *webServer) add(site Site) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sites = append(s.sites, site)
}

// addOnce adds the site of a server that is set up when it is first asked.
func (s *webServer) addOnce(site Site) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sites) == 0 {
		s.sites = append(s.sites, site)
	}
}

// site returns the last site that was opened for a host, or else the first of all.
func (s *webServer) site(host string) Site {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(strings.TrimSuffix(host, "."), "[]")
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.sites) - 1; i >= 0; i-- {
		if strings.EqualFold(strings.TrimSuffix(s.sites[i].Host, "."), host) {
			return s.sites[i]
		}
	}
	return s.sites[0]
}

// config picks the certificate by the name that the client sends (RFC 6066 section 3).
func (s *webServer) config(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	site := s.site(cmp.Or(hello.ServerName, addressText(hello.Conn.LocalAddr())))
	if site.TLS == nil {
		return nil, fmt.Errorf("no certificate for %q", hello.ServerName)
	}
	c := site.TLS.Clone()
	if c.NextProtos == nil && !site.HTTP1 {
		c.NextProtos = []string{"h2", "http/1.1"} // RFC 9113 section 3.2
	}
	return c, nil
}

func addressText(a net.Addr) string {
	host, _, _ := net.SplitHostPort(a.String())
	return host
}

// ServeHTTP implements [http.Handler].
func (s *webServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.site(r.Host).Handler.ServeHTTP(w, r)
}

// A listener is a net.Listener whose connections never leave the process.
type listener struct {
	addr  netip.AddrPort
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newListener(addr netip.AddrPort) *listener {
	return &listener{addr: addr, conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *listener) hand(c *conn) {
	select {
	case l.conns <- c:
	case <-l.done:
		c.Close()
	}
}

// Accept implements [net.Listener].
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (l *listener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *listener) Addr() net.Addr { return net.TCPAddrFromAddrPort(l.addr) }
