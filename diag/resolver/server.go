package resolver

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/miekg/dns"
)

// A Transport is a transport protocol for DNS messages.
type Transport string

// The transports.
const (
	UDP Transport = "udp" // RFC 1035 section 4.2.1, with TCP for what does not fit
	TCP Transport = "tcp" // RFC 7766
	DoT Transport = "dot" // DNS over TLS, RFC 7858
	DoH Transport = "doh" // DNS over HTTPS, RFC 8484
)

// Standard ports: RFC 1035 section 4.2, RFC 7858 section 3.1, RFC 9110 section 4.2.2.
const (
	portDNS   = 53
	portTLS   = 853
	portHTTPS = 443
)

// defaultPath is where nearly every DoH server answers; RFC 8484 uses it in its examples.
const defaultPath = "/dns-query"

// maxAddrs bounds the addresses of one server, written or looked up: more than a happy-eyeballs
// dialer gets round to within one try.
const maxAddrs = 16

// A Server is a name server and how to query it.
type Server struct {
	// Transport is how to query the server. Empty means UDP.
	Transport Transport
	// Addrs are the addresses of the server: exactly one for UDP and TCP; for DoT and DoH several, in order
	// of preference, or none to look up Name.
	Addrs []netip.Addr
	// Port is the port. 0 means the standard port of the transport.
	Port uint16
	// Name is the name for which the certificate of a DoT or DoH server must be valid. If empty, it must be
	// valid for the address.
	Name string
	// Path is the path of the DoH resource, beginning with a slash. Empty means /dns-query.
	Path string
}

// ParseServer parses a server in one of these forms. A port may follow each host.
//
//	192.0.2.1                                   UDP, with TCP for what does not fit
//	udp://192.0.2.1:53
//	tcp://[2001:db8::1]
//	tls://dns.example                           looked up through the system
//	tls://dns.example#192.0.2.1,2001:db8::1     not looked up
//	tls://192.0.2.1#dns.example                 the same, the other way round
//	https://dns.example/dns-query#192.0.2.1
func ParseServer(s string) (Server, error) {
	server, err := parseServer(s)
	if err != nil {
		return Server{}, fmt.Errorf("name server %.200q: %w", s, err)
	}
	return server, nil
}

// transports are those of the schemes in the text of a server.
var transports = map[string]Transport{"udp": UDP, "tcp": TCP, "tls": DoT, "https": DoH}

// maxServerText bounds the text of a server: two names, a path and maxAddrs addresses fit well.
const maxServerText = 2048

func parseServer(s string) (Server, error) {
	if len(s) > maxServerText {
		return Server{}, fmt.Errorf("longer than %d bytes", maxServerText)
	}
	scheme, rest, found := strings.Cut(s, "://")
	if !found {
		scheme, rest = "udp", s
		if ip, err := netip.ParseAddr(s); err == nil && ip.Is6() {
			rest = "[" + s + "]"
		}
	}
	rest, fragment, _ := strings.Cut(rest, "#")
	server := Server{Transport: transports[strings.ToLower(scheme)]}
	switch i := strings.IndexByte(rest, '/'); {
	case server.Transport == "":
		return Server{}, errors.New("the scheme must be udp, tcp, tls or https")
	case server.Transport == DoH && i >= 0:
		rest, server.Path = rest[:i], rest[i:]
	}
	if err := server.parseHost(rest); err != nil {
		return Server{}, err
	}
	if err := server.parseFragment(fragment); err != nil {
		return Server{}, err
	}
	if server.Port == server.Transport.port() {
		server.Port = 0
	}
	if server.Path == "/" || server.Path == defaultPath {
		server.Path = ""
	}
	return server, server.check()
}

func (s *Server) parseHost(authority string) error {
	host := authority
	if i := strings.LastIndexByte(authority, ':'); i > strings.LastIndexByte(authority, ']') {
		port, err := strconv.ParseUint(authority[i+1:], 10, 16)
		if err != nil || port == 0 {
			return fmt.Errorf("%.20q is not a port", authority[i+1:])
		}
		host, s.Port = authority[:i], uint16(port)
	}
	if inner, bracketed := strings.CutPrefix(host, "["); bracketed {
		ip, err := parseAddr(strings.TrimSuffix(inner, "]"))
		if err != nil || !strings.HasSuffix(inner, "]") || ip.Is4() {
			return errors.New("the brackets do not hold an IPv6 address")
		}
		s.Addrs = []netip.Addr{ip}
		return nil
	}
	if ip, err := parseAddr(host); err == nil && ip.Is4() {
		s.Addrs = []netip.Addr{ip}
		return nil
	}
	if s.Transport == UDP || s.Transport == TCP {
		return errors.New("the host must be an IP address")
	}
	var err error
	s.Name, err = parseName(host)
	return err
}

// parseFragment reads what follows the number sign: addresses if the host was a name, or a name if it was an address.
func (s *Server) parseFragment(fragment string) error {
	if fragment == "" {
		return nil
	}
	if s.Transport == UDP || s.Transport == TCP {
		return errors.New("nothing may follow the address")
	}
	var err error
	if s.Name == "" {
		s.Name, err = parseName(fragment)
		return err
	}
	for part := range strings.SplitSeq(fragment, ",") {
		ip, err := parseAddr(part)
		if err != nil {
			return fmt.Errorf("%.60q is not an IP address", part)
		}
		s.Addrs = append(s.Addrs, ip)
	}
	return nil
}

// parseAddr is netip.ParseAddr, with mapped IPv4 addresses unmapped and zones that are safe to print.
func parseAddr(s string) (netip.Addr, error) {
	ip, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Addr{}, err
	}
	for _, c := range ip.Zone() {
		if !isNameByte(byte(c)) || c > 127 {
			return netip.Addr{}, errors.New("odd zone")
		}
	}
	return ip.Unmap(), nil
}

func parseName(s string) (string, error) {
	name := strings.ToLower(strings.TrimSuffix(s, "."))
	if len(name) == 0 || len(name) > 253 {
		return "", errors.New("the host is missing or too long")
	}
	for i := range len(name) {
		if name[i] != '.' && !isNameByte(name[i]) {
			return "", fmt.Errorf("the host must not contain %q", name[i])
		}
	}
	if _, ok := dns.IsDomainName(name); !ok {
		return "", errors.New("the host has an empty or overlong label")
	}
	if strings.Trim(name[strings.LastIndexByte(name, '.')+1:], "0123456789") == "" {
		return "", errors.New("the host is neither a name nor an IP address")
	}
	return name, nil
}

func isNameByte(c byte) bool {
	return c == '-' || c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// check says what is wrong with a server, however it was made.
func (s Server) check() error {
	switch s.transport() {
	case UDP, TCP:
		if len(s.Addrs) != 1 {
			return fmt.Errorf("a server over %s must have one address", s.transport())
		}
		return nil
	case DoT, DoH:
	default:
		return fmt.Errorf("unknown transport %q", s.Transport)
	}
	if len(s.Addrs) == 0 && s.Name == "" {
		return errors.New("neither a name nor an address")
	}
	if len(s.Addrs) > maxAddrs {
		return fmt.Errorf("more than %d addresses", maxAddrs)
	}
	return s.checkPath()
}

func (s Server) checkPath() error {
	if s.Path == "" {
		return nil
	}
	u, err := url.Parse("https://dns.example" + s.Path)
	if err != nil || s.Path[0] != '/' || strings.ContainsAny(s.Path, " ?{}") || u.RequestURI() != s.Path {
		return errors.New("the path must be a plain absolute one, without a query or a template")
	}
	return nil
}

func (s Server) transport() Transport { return cmp.Or(s.Transport, UDP) }

func (t Transport) port() uint16 {
	switch t {
	case DoT:
		return portTLS
	case DoH:
		return portHTTPS
	}
	return portDNS
}

func (s Server) port() uint16 { return cmp.Or(s.Port, s.transport().port()) }

// String returns the server in the form that [ParseServer] reads.
func (s Server) String() string {
	scheme := map[Transport]string{UDP: "udp", TCP: "tcp", DoT: "tls", DoH: "https"}[s.transport()]
	host, addrs := s.Name, s.Addrs
	if host == "" && len(addrs) > 0 {
		host, addrs = hostText(addrs[0]), addrs[1:]
	}
	if s.port() != s.transport().port() {
		host += ":" + strconv.Itoa(int(s.Port))
	}
	text := scheme + "://" + host
	if s.Transport == DoH {
		text += s.path()
	}
	for i, ip := range addrs {
		text += string("#,"[min(i, 1)]) + ip.String()
	}
	return text
}

func (s Server) path() string { return cmp.Or(s.Path, defaultPath) }

// url is where a DoH server is asked.
func (s Server) url() string {
	host := s.Name
	if host == "" {
		host = hostText(s.Addrs[0].WithZone(""))
	}
	if s.port() != portHTTPS {
		host += ":" + strconv.Itoa(int(s.Port))
	}
	return "https://" + host + s.path()
}

func hostText(ip netip.Addr) string {
	if ip.Is6() {
		return "[" + ip.String() + "]"
	}
	return ip.String()
}

// certificateName returns the name that the certificate must cover, or else the address.
func (s Server) certificateName() string {
	if s.Name == "" && len(s.Addrs) > 0 {
		return s.Addrs[0].WithZone("").String()
	}
	return s.Name
}

// A PublicResolver is a resolver that anyone may use.
type PublicResolver struct {
	ID   string // short, lower case, permanent
	Name string // for people
	IPv4 []netip.Addr
	IPv6 []netip.Addr
	DoT  string // name in the certificate, for DNS over TLS
	DoH  string // URL for DNS over HTTPS, as [ParseServer] reads it
}

// Public returns the built-in list of public resolvers. The addresses and names were compared with lists of
// resolvers in public configuration files in November 2026. The operators announce changes at
// developers.google.com/speed/public-dns, developers.cloudflare.com/1.1.1.1, quad9.net/service and
// support.opendns.com.
func Public() []PublicResolver {
	return []PublicResolver{
		{"google", "Google Public DNS", addrs("8.8.8.8", "8.8.4.4"),
			addrs("2001:4860:4860::8888", "2001:4860:4860::8844"), "dns.google", "https://dns.google/dns-query"},
		{"cloudflare", "Cloudflare 1.1.1.1", addrs("1.1.1.1", "1.0.0.1"),
			addrs("2606:4700:4700::1111", "2606:4700:4700::1001"), "one.one.one.one", "https://cloudflare-dns.com/dns-query"},
		{"quad9", "Quad9", addrs("9.9.9.9", "149.112.112.112"), addrs("2620:fe::fe", "2620:fe::9"),
			"dns.quad9.net", "https://dns.quad9.net/dns-query"},
		{"opendns", "Cisco OpenDNS", addrs("208.67.222.222", "208.67.220.220"),
			addrs("2620:119:35::35", "2620:119:53::53"), "dns.opendns.com", "https://doh.opendns.com/dns-query"},
	}
}

// Servers returns the servers of the resolver for one transport: for UDP and TCP one for each address, IPv4
// first; for DoT and DoH one with all addresses.
func (p PublicResolver) Servers(t Transport) []Server {
	all := append(append([]netip.Addr{}, p.IPv4...), p.IPv6...)
	switch t {
	case DoT:
		return []Server{{Transport: DoT, Name: p.DoT, Addrs: all}}
	case DoH:
		s, err := ParseServer(p.DoH)
		if err != nil {
			return nil
		}
		s.Addrs = all
		return []Server{s}
	}
	return serversAt(t, all)
}

// serversAt are servers with one address each.
func serversAt(t Transport, ips []netip.Addr) []Server {
	servers := make([]Server, len(ips))
	for i, ip := range ips {
		servers[i] = Server{Transport: t, Addrs: []netip.Addr{ip}}
	}
	return servers
}

func addrs(list ...string) []netip.Addr {
	ips := make([]netip.Addr, len(list))
	for i, s := range list {
		ips[i] = netip.MustParseAddr(s)
	}
	return ips
}
