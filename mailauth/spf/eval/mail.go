package eval

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// maxPTR is how many host names of the client are looked at (RFC 7208 section 4.6.4).
const maxPTR = 10

type mail struct {
	*Lookups
	ip         netip.Addr
	local      string // of the sender
	sender     string // its domain
	asciiLocal bool   // whether local is ASCII
	helo       string
	receiver   string

	hosts []string // names of the client that lead back to it
	known bool     // whether hosts are
}

// setSender keeps local part and domain of a sender. Without a sender it is the postmaster of the HELO name, without
// a local part that of the domain (RFC 7208 sections 2.4 and 4.3).
func (m *mail) setSender(sender string) {
	i := strings.LastIndexByte(sender, '@')
	m.local, m.sender = sender[:max(i, 0)], ALabels(sender[i+1:])
	if m.local == "" {
		m.local = "postmaster"
	}
	if sender == "" {
		m.sender = m.helo
	}
	m.asciiLocal = isASCII(m.local)
}

func (m *mail) target(t *Term, domain string) string {
	return t.Expand(domain, func(letter byte) string { return m.value(letter, domain) })
}

// value returns what a macro stands for in the record of a domain (RFC 7208 section 7.2).
func (m *mail) value(letter byte, domain string) string {
	switch letter {
	case 's':
		return m.local + "@" + m.sender
	case 'l':
		return m.local
	case 'o':
		return m.sender
	case 'd':
		return domain
	case 'i':
		return dotted(m.ip)
	case 'p':
		return m.validatedName(domain)
	case 'v':
		if m.ip.Is4() {
			return "in-addr"
		}
		return "ip6"
	case 'h':
		return m.helo
	case 'c':
		return m.ip.String()
	case 'r':
		return m.receiver
	case 't':
		return strconv.FormatInt(m.env.Now().Unix(), 10)
	default:
		return ""
	}
}

// addresses asks for the addresses of a host in the family of the client. It returns how many there are, and whether
// the client is in a network that the term makes of one.
func (m *mail) addresses(name string, t *Term) (found int, hit bool, err error) {
	look := func(b []byte) {
		if ip, ok := netip.AddrFromSlice(b); ok {
			found++
			hit = hit || t.Around(ip).Contains(m.ip)
		}
	}
	if m.ip.Is4() {
		answer := Ask[*dns.A](m.Lookups, name)
		for _, r := range answer.Records[:min(len(answer.Records), MaxAddresses)] {
			look(r.A.To4())
		}
		return found, hit, Failure(answer)
	}
	answer := Ask[*dns.AAAA](m.Lookups, name)
	for _, r := range answer.Records[:min(len(answer.Records), MaxAddresses)] {
		look(r.AAAA.To16())
	}
	return found, hit, Failure(answer)
}

// askAll asks for the addresses of hosts at once if they have to be waited for, and reports whether it has.
func (m *mail) askAll(hosts []string) bool {
	if !m.slow() {
		return false
	}
	var g diag.Group
	for _, host := range hosts {
		g.Go(func() { _, _, _ = m.addresses(host, &Term{}) })
	}
	g.Wait()
	return true
}

func (m *mail) reverse() *diag.Answer[*dns.PTR] {
	return Ask[*dns.PTR](m.Lookups, strings.TrimSuffix(diag.IP{Addr: m.ip}.Reverse(), "."))
}

// validated returns the host names of the client that lead back to it, in the order of the DNS. Only the
// first ten are looked at (RFC 7208 section 4.6.4).
func (m *mail) validated() []string {
	if m.known {
		return m.hosts
	}
	m.known = true
	answer := m.reverse()
	var names []string
	for _, r := range answer.Records[:min(len(answer.Records), maxPTR)] {
		if name := Unescape(r.Ptr); name != "" && NameFault(name) == "" {
			names = append(names, name)
		}
	}
	asked := false
	for i, name := range names {
		asked = asked || m.askAll(names[i:])
		if _, leadsBack, _ := m.addresses(name, &Term{}); leadsBack {
			m.hosts = append(m.hosts, name)
		}
	}
	return m.hosts
}

// validatedName is the value of the macro p: the domain itself if it is a validated name of the client,
// else one below it, else any, else "unknown" (RFC 7208 section 7.3).
func (m *mail) validatedName(domain string) string {
	name := "unknown"
	for i, host := range m.validated() {
		switch {
		case strings.EqualFold(host, domain):
			return host
		case i == 0 || Below(host, domain) && !Below(name, domain):
			name = host
		}
	}
	return name
}
