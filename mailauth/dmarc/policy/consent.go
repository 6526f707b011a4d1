package policy

import (
	"context"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// A Consent is what the domain of a report destination says about reports for another domain: without it receivers
// send none there (RFC 9990 section 4).
type Consent struct {
	Name        string // where it is published, without a final dot
	TooLong     bool   // there can be no such name, and it was not asked for
	Destination string
	Answer      diag.Answer[*dns.TXT]
	Wildcard    diag.Answer[*dns.TXT] // the same for all domains
}

// ConsentName is where a destination accepts the reports of a domain, without a final dot. The label is that of the
// protocol: _dmarc, or _tls for TLSRPT, which does not ask for it.
func ConsentName(label, domain, destination string) string {
	return domain + "._report." + label + "." + destination
}

// LookupConsent asks whether a destination accepts reports for the domain of a record. Failures of the DNS are in the
// result.
func LookupConsent(ctx context.Context, env *diag.Env, domain, destination string) Consent {
	c := Consent{Name: ConsentName("_dmarc", domain, destination), Destination: destination}
	if c.TooLong = len(c.Name) > maxName; c.TooLong {
		return c
	}
	var g diag.Group
	g.Go(func() { c.Answer = diag.Lookup[*dns.TXT](ctx, env, c.Name+".") })
	g.Go(func() { c.Wildcard = diag.Lookup[*dns.TXT](ctx, env, ConsentName("_dmarc", "*", destination)+".") })
	g.Wait()
	return c
}

// Given reports whether there is consent, and whether that is known.
func (c *Consent) Given() (yes, known bool) {
	if c.TooLong {
		return false, true
	}
	return len(c.records()) > 0, c.Answer.Err() == nil
}

// records lists the records of consent. There may be several (RFC 9990 section 4, step 8).
func (c *Consent) records() []string {
	var list []string
	for _, r := range c.Answer.Records {
		if text := diag.TXT(r); Format.Is(text) {
			list = append(list, text)
		}
	}
	return list
}

// ForAll reports whether the destination accepts reports for every domain.
func (c *Consent) ForAll() bool {
	return slices.ContainsFunc(c.Wildcard.Records, func(r *dns.TXT) bool { return Format.Is(diag.TXT(r)) })
}

// Overrides lists the URIs that replace those of the record, and reports whether they lie at the same host, as they
// must (RFC 9990 section 4, step 9).
func (c *Consent) Overrides() (list []string, allowed bool) {
	allowed = true
	for _, text := range c.records() {
		r := Parse(text)
		for _, u := range r.AggregateURIs {
			list = append(list, u.Text)
			allowed = allowed && u.Valid() && strings.EqualFold(u.Domain, c.Destination)
		}
	}
	return list, allowed
}
