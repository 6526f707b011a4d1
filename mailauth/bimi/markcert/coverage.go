package markcert

import (
	"slices"
	"strings"
)

// wellKnown is the label between the selector and the domain in the name of a record.
const wellKnown = "_bimi"

// A Place is where a BIMI record stands: <Selector>._bimi.<Domain>.
type Place struct {
	Domain         string // of the record, in A-labels
	Organizational string // the organizational domain of that
	Selector       string // empty means any: it is not known which
}

// A coverage says what the names of a certificate cover ("VMC Domain Verification" of the draft).
type coverage struct {
	Domains   []string // names without a selector: they cover each selector of the domain, and not its subdomains
	Selectors []string // names with one, such as "default._bimi.example.com": they cover it alone
	Wildcards []string // names with an asterisk, which cover nothing here
}

// cover sorts the DNS names of a certificate.
func cover(names []string) coverage {
	var c coverage
	for _, n := range names {
		n = strings.ToLower(strings.TrimSuffix(n, "."))
		switch labels := strings.Split(n, "."); {
		case strings.Contains(n, "*"):
			c.Wildcards = append(c.Wildcards, n)
		case slices.Contains(labels, wellKnown):
			c.Selectors = append(c.Selectors, n)
		default:
			c.Domains = append(c.Domains, n)
		}
	}
	return c
}

// Covers reports whether a name of the certificate is that of the domain or of its organizational domain, or that of a
// record there.
func (c coverage) Covers(p Place) bool {
	return slices.ContainsFunc([]string{p.Domain, p.Organizational}, func(domain string) bool {
		domain = strings.ToLower(strings.TrimSuffix(domain, "."))
		return domain != "" && (slices.Contains(c.Domains, domain) || c.selects(p.Selector, domain))
	})
}

// selects reports whether a name of the certificate is that of the record of a selector, or of any if it is empty.
func (c coverage) selects(selector, domain string) bool {
	return slices.ContainsFunc(c.Selectors, func(n string) bool {
		before, of, ok := strings.Cut(n, "."+wellKnown+".")
		return ok && of == domain && (selector == "" || strings.EqualFold(before, selector))
	})
}
