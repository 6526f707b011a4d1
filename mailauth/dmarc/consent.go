package dmarc

import (
	"context"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/miekg/dns"
)

// A consent is what the domain of a destination says about reports for another (RFC 9990 section 4).
type consent struct {
	name     string // where it is published, without a final dot
	tooLong  bool   // there can be no such name
	answer   diag.Answer[*dns.TXT]
	wildcard diag.Answer[*dns.TXT] // the same for all domains
}

// lookupConsent asks whether a destination accepts reports for the domain of a record.
func lookupConsent(ctx context.Context, env *diag.Env, domain, destination string) consent {
	c := consent{name: domain + "._report._dmarc." + destination}
	if c.tooLong = len(c.name) > 253; c.tooLong { // RFC 1035 section 2.3.4
		return c
	}
	var g diag.Group
	g.Go(func() { c.answer = diag.Lookup[*dns.TXT](ctx, env, c.name+".") })
	g.Go(func() { c.wildcard = diag.Lookup[*dns.TXT](ctx, env, "*._report._dmarc."+destination+".") })
	g.Wait()
	return c
}

// given reports whether there is consent, and whether that is known.
func (c *consent) given() (yes, known bool) {
	if c.tooLong {
		return false, true
	}
	return len(c.records()) > 0, c.answer.Err() == nil
}

func (c *consent) records() []string {
	var list []string
	for _, r := range c.answer.Records {
		if text := diag.TXT(r); policy.Format.Is(text) {
			list = append(list, text)
		}
	}
	return list
}

// general reports whether the destination accepts reports for every domain.
func (c *consent) general() bool {
	return slices.ContainsFunc(c.wildcard.Records, func(r *dns.TXT) bool { return policy.Format.Is(diag.TXT(r)) })
}

// overrides lists the destinations that replace those of the record, and whether they lie at the same host, as
// they must.
func (c *consent) overrides(destination string) (list []string, allowed bool) {
	allowed = true
	for _, text := range c.records() {
		r := policy.Parse(text)
		for _, u := range r.AggregateURIs {
			list = append(list, u.Text)
			allowed = allowed && u.Valid() && strings.EqualFold(u.Domain, destination)
		}
	}
	return list, allowed
}
