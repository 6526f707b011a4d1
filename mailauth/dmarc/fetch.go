package dmarc

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/reception"
	"github.com/diagkit/diagkit/mailauth/taglist"
	"github.com/miekg/dns"
)

// maxDestinations is how many domains to which reports go are looked at: receivers need to serve two addresses only
// (RFC 7489 section 6.2).
const maxDestinations = 10

// maxPlaces bounds the records at wrong names, of which a reader needs one.
const maxPlaces = 5

// gather asks all there is to ask in two round trips: first for the record, wherever it may be, then for the
// destinations that it names.
func gather(ctx context.Context, env *diag.Env, req LookupRequest) (*evidence, error) {
	e := &evidence{domain: req.Domain.Name(), now: env.Now()}
	bounded, cancel := diag.Within(ctx, policy.Timeout)
	defer cancel()
	names := misplaced(req.Domain)
	elsewhere := make([]diag.Answer[*dns.TXT], len(names))
	var failure error
	var g diag.Group
	g.Go(func() { e.discovery, failure = policy.Discover(ctx, env, e.domain) })
	g.Go(func() { e.mail.Addresses = diag.LookupAddresses(bounded, env, e.domain.FQDN()) })
	for i, name := range names {
		g.Go(func() { elsewhere[i] = diag.Lookup[*dns.TXT](bounded, env, name) })
	}
	g.Wait()
	if failure != nil {
		return nil, fmt.Errorf("examining DMARC of %s: %w", req.Domain, failure)
	}
	if err := e.discovery.Unavailable(); err != nil && e.mail.Addresses.V4.Silent() {
		return nil, err
	}
	e.mail.MX, e.own = e.discovery.MX, &e.discovery.Walk.Steps[0]
	everywhere := map[string]bool{} // what a wildcard answers for every name stands at none of them
	for _, r := range elsewhere[0].Records {
		everywhere[diag.TXT(r)] = true
	}
	e.wildcard = elsewhere[0].Err()
	for _, a := range elsewhere {
		if err := a.Err(); err != nil && e.unsearched == "" {
			e.unsearched = fmt.Sprintf("the TXT lookup of %s failed: %s", strings.TrimSuffix(a.Name, "."), diag.Reason(err))
		}
	}
	e.sort(everywhere)
	e.locate(names[1:], elsewhere[1:], everywhere)
	e.find()
	if req.CheckReporting == nil || *req.CheckReporting {
		e.follow(ctx, env)
	}
	return e, ctx.Err()
}

// misplaced lists the wildcard of the domain, and the names under which records are published by mistake: the domain
// itself, and those that come about where a control panel adds a domain to the name that was typed.
func misplaced(d diag.Domain) []string {
	list := []string{d.Sub("*"), d.FQDN(), d.Sub("dmarc"), d.Sub("_dmarc." + d.String()), d.Sub("_dmarc._dmarc")}
	return slices.DeleteFunc(list, func(name string) bool { return len(name) > 254 }) // RFC 1035 section 2.3.4
}

// sort tells the other TXT records beside the record by what they were meant for.
func (e *evidence) sort(everywhere map[string]bool) {
	stray := func(text string) bool {
		return slices.ContainsFunc(e.own.Found.Strays, func(s taglist.Stray) bool { return s.Text == text })
	}
	for _, r := range e.own.Answer.Records {
		switch text := diag.TXT(r); {
		case policy.Format.Is(text), stray(text):
		case everywhere[text]:
			e.beside.wildcard = text
		case strings.HasPrefix(strings.ToLower(text), "v=spf1"):
			e.beside.spf = append(e.beside.spf, text)
		case isFragment(text):
			e.beside.fragments = append(e.beside.fragments, text)
		default:
			e.beside.unrelated = append(e.beside.unrelated, text)
		}
	}
}

// isFragment reports whether a text begins with a tag of DMARC that no other record begins with.
func isFragment(text string) bool {
	name, value, ok := strings.Cut(text, "=")
	name, value = strings.ToLower(strings.TrimSpace(name)), strings.ToLower(strings.TrimSpace(value))
	switch name {
	case "p", "sp", "np":
		word, _, _ := strings.Cut(value, ";")
		return ok && slices.Contains(policy.None.Values(), strings.TrimSpace(word))
	case "rua", "ruf", "adkim", "aspf", "pct":
		return ok
	}
	return false
}

func (e *evidence) locate(names []string, answers []diag.Answer[*dns.TXT], everywhere map[string]bool) {
	for i, a := range answers {
		for _, r := range a.Records {
			text := diag.TXT(r)
			if policy.Format.Is(text) && !everywhere[text] && len(e.places) < maxPlaces {
				e.places = append(e.places, place{strings.TrimSuffix(names[i], "."), text})
			}
		}
	}
}

func (e *evidence) find() {
	e.found, e.location = e.own.Found, e.own.Domain
	if step := e.discovery.Tree.Policy; step != nil {
		e.location = step.Domain
		if len(e.own.Found.Records) == 0 {
			e.found = step.Found
		}
		e.found.List = step.Record.List
		e.judged(step.Record)
		return
	}
	e.suggested = e.correct()
}

func (e *evidence) follow(ctx context.Context, env *diag.Env) {
	if e.record == nil {
		return
	}
	for _, u := range slices.Concat(e.record.AggregateURIs, e.record.FailureURIs) {
		if !u.Valid() || u.Domain == "" {
			continue
		}
		i := slices.IndexFunc(e.destinations, func(d destination) bool { return d.domain == u.Domain })
		switch {
		case i >= 0:
			e.destinations[i].uris = append(e.destinations[i].uris, u)
		case len(e.destinations) < maxDestinations:
			e.destinations = append(e.destinations, destination{
				domain: u.Domain, uris: []policy.URI{u}, external: e.external(u),
			})
		default:
			e.unchecked++
		}
	}
	bounded, cancel := diag.Within(ctx, policy.Timeout)
	defer cancel()
	var g diag.Group
	for i := range e.destinations {
		d := &e.destinations[i]
		if d.external {
			g.Go(func() { d.consent = policy.LookupConsent(bounded, env, e.location, d.domain) })
		}
		if d.domain == e.domain.String() {
			d.mail = e.mail
			continue
		}
		g.Go(func() {
			if name, err := diag.ParseName(d.domain); err == nil {
				d.mail = reception.Lookup(bounded, env, name)
			}
		})
	}
	g.Wait()
}
