package dkim

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
	"golang.org/x/net/publicsuffix"
)

// maxName bounds a name in the DNS, in characters without the final dot (RFC 1035 section 2.3.4).
const maxName = 253

// LookupRequest asks for the examination of one key.
type LookupRequest struct {
	Domain   diag.Domain   `json:"domain" doc:"domain that signs: d= of a signature" example:"example.com"`
	Selector diag.Selector `json:"selector" doc:"selector of the key: s= of a signature" example:"s1"`
}

// LookupReport says what is published at a selector, and what to think of it.
type LookupReport struct {
	diag.RecordLookup
	diag.Verdict
	Selector diag.Selector `json:"selector" doc:"selector of the key"`
	KeyFields
	Service        string         `json:"service,omitempty" doc:"the service to which the CNAME of the selector leads, if it is known"`
	OtherSelectors OtherSelectors `json:"other_selectors,omitempty" doc:"whether the domain may have keys at other selectors; absent if the servers did not say"`
	Partial        bool           `json:"partial" doc:"whether something could not be learned"`
	KnownSelectors []string       `json:"known_selectors" doc:"common selectors at which the domain has keys, looked for if there is none at this one"`
}

// OtherSelectors says whether a domain may have keys at other selectors.
type OtherSelectors string

// What the name _domainkey tells: if it does not exist, nothing below it does (RFC 8020 section 2).
const (
	noSelectors       OtherSelectors = "none"
	possibleSelectors OtherSelectors = "possible"
)

// Values lists what can be said.
func (OtherSelectors) Values() []string { return diag.Values(noSelectors, possibleSelectors) }

// Lookup examines the key of a domain at a selector. The error is a *[diag.InputError], that of the context if
// it ended, or wraps [diag.ErrUnavailable] if nothing could be learned.
func Lookup(ctx context.Context, env *diag.Env, req LookupRequest) (*LookupReport, error) {
	if err := check(req); err != nil {
		return nil, err
	}
	e, err := gather(ctx, env, req)
	if err != nil {
		return nil, err
	}
	if !answered(e) {
		return e.report(env.Now()), nil
	}
	var answer [][]string
	for _, r := range e.txt.Records {
		answer = append(answer, diag.TXTStrings(r))
	}
	if e.take(answer); absent(e) && e.node.Err() == nil && !e.node.NXDomain() && !e.wildcard.Exists() {
		if err := e.guess(ctx, env); err != nil {
			return nil, err
		}
	}
	return e.report(env.Now()), nil
}

// check refuses what cannot be a selector of the domain, and says what to enter instead.
func check(req LookupRequest) error {
	if req.Domain.IsZero() {
		return diag.Invalid("domain", "is missing")
	}
	if req.Selector.IsZero() {
		return diag.Invalid("selector", "is missing; it is what s= of a DKIM-Signature field says")
	}
	selector := req.Selector.String()
	if before, _, ok := strings.Cut("."+selector+".", "."+label+"."); ok {
		if before = strings.Trim(before, "."); before == "" {
			return diag.Invalid("selector", "%q has no selector before %s; it is what s= of a DKIM-Signature field says",
				selector, label)
		}
		return diag.Invalid("selector", "%q is a name of the DNS; enter the part before %s: %q", selector, label, before)
	}
	if name := selector + "." + label + "." + req.Domain.String(); len(name) > maxName {
		return diag.Invalid("selector", "is too long for this domain: %s has %d characters, and a name has at most %d",
			name, len(name), maxName)
	}
	return nil
}

// gather asks all there is to ask at once.
func gather(ctx context.Context, env *diag.Env, req LookupRequest) (*evidence, error) {
	e := &evidence{domain: req.Domain, selector: req.Selector, now: env.Now(), places: places(req)}
	bounded, cancel := diag.Within(ctx, timeout)
	defer cancel()
	node := req.Domain.Sub(label)
	var g diag.Group
	g.Go(func() { e.txt = diag.Lookup[*dns.TXT](bounded, env, req.Selector.String()+"."+node) })
	g.Go(func() { e.apex = diag.Lookup[*dns.SOA](bounded, env, req.Domain.FQDN()) })
	g.Go(func() { e.node = diag.Lookup[*dns.TXT](bounded, env, node) })
	g.Go(func() { e.wildcard = diag.Lookup[*dns.TXT](bounded, env, "*."+node) })
	for i := range e.places {
		g.Go(func() { e.places[i].answer = diag.Lookup[*dns.TXT](bounded, env, e.places[i].name) })
	}
	g.Wait()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("examining the DKIM key %s: %w", e.name(), err)
	}
	if e.txt.Silent() && e.apex.Silent() && e.node.Silent() && e.wildcard.Silent() {
		return nil, fmt.Errorf("examining the DKIM key %s: %w", e.name(), diag.Unavailable(diag.DefaultResolver, e.txt.Err()))
	}
	return e, nil
}

// places lists the names to which records get by mistake.
func places(req LookupRequest) []place {
	selector, domain := req.Selector.String(), req.Domain.String()
	zone, err := publicsuffix.EffectiveTLDPlusOne(domain)
	if err != nil {
		zone = domain
	}
	list := []place{
		{name: selector + "." + domain, what: "without " + label},
		{name: selector + ".domainkey." + domain, what: "without the underscore of " + label},
		{name: selector + "." + label + "." + domain + "." + domain, what: "with the domain twice"},
	}
	if zone != domain {
		list = append(list, place{name: selector + "." + label + "." + domain + "." + zone, what: "with " + zone + " twice"})
	}
	var fitting []place
	for _, p := range list {
		if len(p.name) <= maxName {
			p.name += "."
			fitting = append(fitting, p)
		}
	}
	return fitting
}

// report judges the evidence and writes it down.
func (e *evidence) report(ended time.Time) *LookupReport {
	v := rules.Judge(e, texts)
	r := &LookupReport{
		RecordLookup: diag.NewRecordLookup(e.domain.Name(), e.txt, e.found.Records, e.now, ended), Verdict: v,
		Selector: e.selector, KeyFields: e.fields(v), Partial: e.partial(),

		KnownSelectors: append([]string{}, e.others...),
	}
	if s := e.service(); s != nil {
		r.Service = s.Name
	}
	if e.node.Err() == nil {
		r.OtherSelectors = possibleSelectors
		if e.node.NXDomain() && len(e.node.Aliases) == 0 && absent(e) {
			r.OtherSelectors = noSelectors
		}
	}
	return r
}
