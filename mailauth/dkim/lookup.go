package dkim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/miekg/dns"
	"golang.org/x/net/publicsuffix"
)

// maxName bounds a name in the DNS, in characters without the final dot (RFC 1035 section 2.3.4).
const maxName = 253

// OtherSelectors says whether a domain may have keys at other selectors: none or possible.
type OtherSelectors string

// The result for the name _domainkey: if it does not exist, nothing below it does (RFC 8020 section 2).
const (
	NoSelectors       OtherSelectors = "none"
	PossibleSelectors OtherSelectors = "possible"
)

// Values lists the possible values.
func (OtherSelectors) Values() []string { return kit.Values(NoSelectors, PossibleSelectors) }

func check(req LookupRequest) error {
	if req.Domain.IsZero() {
		return input.Invalid("domain", "is missing")
	}
	if req.Selector.IsZero() {
		return input.Invalid("selector", "is missing; it is what s= of a DKIM-Signature field says")
	}
	selector := req.Selector.String()
	if before, _, ok := strings.Cut("."+selector+".", "."+label+"."); ok {
		if before = strings.Trim(before, "."); before == "" {
			return input.Invalid("selector", "%q has no selector before %s; it is what s= of a DKIM-Signature field says",
				selector, label)
		}
		return input.Invalid("selector", "%q is a name of the DNS; enter the part before %s: %q", selector, label, before)
	}
	if name := selector + "." + label + "." + req.Domain.String(); len(name) > maxName {
		return input.Invalid("selector", "is too long for this domain: %s has %d characters, and a name has at most %d",
			name, len(name), maxName)
	}
	return nil
}

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
		g.Go(func() { e.places[i].answer = diag.Lookup[*dns.TXT](bounded, env, e.places[i].name+".") })
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
	return slices.DeleteFunc(list, func(p place) bool { return len(p.name) > maxName })
}

// common are selectors that services and mail servers give to their keys, for callers that do not know the right one.
// Many services use a selector per customer, which cannot be guessed. All are queried concurrently, so their number
// stays below what a resolver accepts.
var common = []string{
	"default", "dkim", "email", "mail", "smtp", "mta", // mail servers and control panels
	"google",                 // Google Workspace
	"selector1", "selector2", // Microsoft 365
	"k1", "k2", "k3", // Mailchimp, Mailgun
	"s1", "s2", // SendGrid and others
	"sig1",              // iCloud Mail
	"fm1", "fm2", "fm3", // Fastmail
	"protonmail", "protonmail2", "protonmail3", // Proton Mail
	"zoho", "zmail", // Zoho Mail
	"mandrill",         // Mandrill
	"mailjet",          // Mailjet
	"resend",           // Resend
	"pm",               // Postmark
	"brevo1", "brevo2", // Brevo
	"hs1", "hs2", // HubSpot
	"ctct1", "ctct2", // Constant Contact
	"cm",                   // Campaign Monitor
	"kl",                   // Klaviyo
	"litesrv",              // MailerLite
	"zendesk1", "zendesk2", // Zendesk
	"mxvault", // MxVault
	"key1",    // Migadu
}

// CommonSelectors returns 40 selectors that services and mail servers give to their keys. The caller owns the list.
func CommonSelectors() []diag.Selector {
	return kit.Map(common, diag.MustSelector)
}

// A Search is the result of looking up several selectors of a domain.
type Search struct {
	Found  []diag.Selector // at which there is a TXT record or an alias of its own, in the order of the request
	Usable []diag.Selector // those of them at which there is a key that is not revoked
	Failed []diag.Selector // at which the servers did not answer
	// None reports whether the name _domainkey does not exist, so that no selector should have a key (RFC 8020). Some
	// name servers answer so although there are names below it.
	None bool
	// Wildcard reports whether a wildcard answers for every selector. It is not in Found.
	Wildcard bool
	// WildcardRevoked reports whether the key of the wildcard is empty: verifiers treat every other selector as
	// revoked.
	WildcardRevoked bool
	// Open reports whether it is unknown if the name _domainkey exists, or if a wildcard is below it.
	Open bool

	Err error // why the servers did not answer, for the first of Failed
}

// Find looks for keys at selectors, in one round trip; [Lookup] examines them. The error is that of the context if it
// ended, or wraps [diag.ErrUnavailable] if nothing could be determined.
func Find(ctx context.Context, env *diag.Env, domain diag.Domain, selectors []diag.Selector) (*Search, error) {
	bounded, cancel := diag.Within(ctx, timeout)
	defer cancel()
	node := domain.Sub(label)
	answers := make([]diag.Answer[*dns.TXT], len(selectors))
	var above, wildcard diag.Answer[*dns.TXT]
	var g diag.Group
	g.Go(func() { above = diag.Lookup[*dns.TXT](bounded, env, node) })
	g.Go(func() { wildcard = diag.Lookup[*dns.TXT](bounded, env, "*."+node) })
	for i, s := range selectors {
		g.Go(func() { answers[i] = diag.Lookup[*dns.TXT](bounded, env, s.String()+"."+node) })
	}
	g.Wait()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("looking for the selectors of %s: %w", domain, err)
	}
	heard := func(a diag.Answer[*dns.TXT]) bool { return !a.Silent() }
	if !heard(above) && !heard(wildcard) && !slices.ContainsFunc(answers, heard) {
		return nil, fmt.Errorf("looking for the selectors of %s: %w", domain,
			diag.Unavailable(diag.DefaultResolver, above.Err()))
	}
	r := &Search{
		None: above.NXDomain() && len(above.Aliases) == 0, Wildcard: wildcard.Exists() || len(wildcard.Aliases) > 0,
		Open: above.Err() != nil || wildcard.Err() != nil,
	}
	inUse := func(text string) bool { return format.Is(text) && !ParseKey(text).Revoked }
	everywhere := textsOf(wildcard)
	empty := func(text string) bool { return format.Is(text) && ParseKey(text).Revoked }
	r.WildcardRevoked = len(everywhere) == 1 && empty(everywhere[0])
	for i, a := range answers {
		texts := textsOf(a)
		switch {
		case a.Err() != nil && len(a.Aliases) == 0:
			r.Failed = append(r.Failed, selectors[i])
			if r.Err == nil {
				r.Err = a.Err()
			}
		case r.Wildcard && slices.Equal(texts, everywhere) && slices.Equal(a.Aliases, wildcard.Aliases):
		case len(texts) > 0 || len(a.Aliases) > 0:
			r.Found = append(r.Found, selectors[i])
			if slices.ContainsFunc(texts, inUse) {
				r.Usable = append(r.Usable, selectors[i])
			}
		}
	}
	r.None = r.None && len(r.Found) == 0
	if wildcard.Err() != nil && len(selectors) > 1 && len(r.Found) == len(selectors) {
		r.Found, r.Usable = nil, nil // no domain has a key at every selector: this is a wildcard
	}
	return r, nil
}

func (e *evidence) guess(ctx context.Context, env *diag.Env) error {
	found, err := Find(ctx, env, e.domain, CommonSelectors())
	if errors.Is(err, diag.ErrUnavailable) {
		return nil // the requested selector was answered
	}
	if err != nil {
		return err
	}
	e.others = kit.Map(found.Usable, diag.Selector.String)
	return nil
}
