package spf

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// matchPTR is RFC 7208 section 5.5: a host name of the client that leads back to it is the name or below
// it. Servers that do not answer make it not match.
func (e *evaluation) matchPTR(t *Term, name, domain string) (bool, *hostResult) {
	answer := ask[*dns.PTR](e.dns, reverseName(e), dns.TypePTR)
	if answer.Err() == nil && len(answer.Records) == 0 {
		return false, e.void(t, domain)
	}
	return slices.ContainsFunc(e.validated(), func(host string) bool { return within(host, name) }), nil
}

// within reports whether a name is another or below it.
func within(name, ancestor string) bool {
	rest, ok := strings.CutSuffix(strings.ToLower(name), strings.ToLower(ancestor))
	return ok && (rest == "" || strings.HasSuffix(rest, "."))
}

func reverseName(e *evaluation) string { return strings.TrimSuffix(diag.IP{Addr: e.ip}.Reverse(), ".") }

// validated returns the host names of the client that lead back to it, in the order of the DNS. Only the
// first ten are looked at (RFC 7208 section 4.6.4).
func (e *evaluation) validated() []string {
	if e.names != nil {
		return *e.names
	}
	answer := ask[*dns.PTR](e.dns, reverseName(e), dns.TypePTR)
	var hosts []string
	for _, r := range answer.Records[:min(len(answer.Records), maxPTR)] {
		if host := unescaped(r.Ptr); host != "" && malformed(host) == "" {
			hosts = append(hosts, host)
		}
	}
	leadsBack := make([]bool, len(hosts))
	var g diag.Group
	for i, host := range hosts {
		g.Go(func() {
			a := e.dns.addressesOf(host, e.ip.Is4(), e.ip.Is6())
			leadsBack[i] = slices.Contains(append(a.v4, a.v6...), e.ip)
		})
	}
	g.Wait()
	names := []string{}
	for i, host := range hosts {
		if leadsBack[i] {
			names = append(names, host)
		}
	}
	e.names = &names
	return names
}

// validatedName is the value of the macro p: the domain itself if it is a validated name of the client,
// else one below it, else any, else "unknown" (RFC 7208 section 7.3).
func (e *evaluation) validatedName(domain string) string {
	names := e.validated()
	for _, n := range names {
		if strings.EqualFold(n, domain) {
			return n
		}
	}
	for _, n := range names {
		if within(n, domain) {
			return n
		}
	}
	if len(names) > 0 {
		return names[0]
	}
	return "unknown"
}

// explain fetches and expands the explanation of a fail. Whatever is wrong with it, there is none then
// (RFC 7208 section 6.2).
func (e *evaluation) explain(t *Term, domain string) {
	if t == nil || e.dns == nil {
		return
	}
	name := e.target(t, domain)
	if name == "" || malformed(name) != "" {
		return
	}
	answer := ask[*dns.TXT](e.dns, name, dns.TypeTXT)
	if len(answer.Records) != 1 {
		return
	}
	m, _, _, fault := parseMacros(diag.TXT(answer.Records[0]), true)
	if fault != "" {
		return
	}
	text := m.expand(func(letter byte) string {
		if letter == 'i' { // in capitals, as explanations of IPv6 have it since RFC 4408; in names it is all the same
			return strings.ToUpper(e.value(letter, domain))
		}
		return e.value(letter, domain)
	})
	if strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) >= 0 {
		return // section 6.2: US-ASCII; the values of macros come from strangers
	}
	e.explanation = text
}
