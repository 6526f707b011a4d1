package authres

import (
	"net/netip"
	"strings"
)

// A ReceivedSPF is one field Received-SPF (RFC 7208 section 9.1).
type ReceivedSPF struct {
	Result   string // in lower case, such as softfail
	Comments []string
	Pairs    []Property // without types, in order
}

// Get returns the value of a key, such as "client-ip"; empty if it is not there.
func (r *ReceivedSPF) Get(key string) string {
	for _, p := range r.Pairs {
		if p.Name == key {
			return p.Value
		}
	}
	return ""
}

// ClientIP is the address that was checked, if the field tells it.
func (r *ReceivedSPF) ClientIP() (netip.Addr, bool) {
	ip, err := netip.ParseAddr(r.Get("client-ip"))
	return ip, err == nil
}

// Domain is the domain that was checked, in lower case: of envelope-from, or with identity=helo of helo. Servers that
// leave envelope-from out mostly name the domain in their comment: "domain of alice@example.org designates …".
func (r *ReceivedSPF) Domain() string {
	from := strings.Trim(r.Get("envelope-from"), "<>")
	if strings.EqualFold(r.Get("identity"), "helo") {
		from = r.Get("helo")
	}
	for _, c := range r.Comments {
		if _, behind, ok := strings.Cut(c, "domain of "); ok && from == "" {
			from, _, _ = strings.Cut(behind, " ")
		}
	}
	if from == "" {
		from = r.Get("helo")
	}
	from = from[strings.LastIndexByte(from, '@')+1:]
	return strings.ToLower(strings.TrimSuffix(from, "."))
}

// ParseReceivedSPF reads the value of a field Received-SPF. Semicolons between the pairs may be missing, as some
// servers have it. The error is errEmpty.
func ParseReceivedSPF(value string) (*ReceivedSPF, error) {
	p := scanner{s: value}
	p.skip()
	r := &ReceivedSPF{Result: strings.ToLower(p.until(" \t\r\n(;="))}
	if r.Result == "" {
		return nil, errEmpty
	}
	for p.skip(); !p.done(); p.skip() {
		if p.peek() == ';' {
			p.at++
			continue
		}
		if name, value, ok := p.pair(); ok {
			r.Pairs = append(r.Pairs, Property{"", name, value})
		}
	}
	r.Comments = p.comments
	return r, nil
}
