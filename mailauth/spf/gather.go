package spf

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
	"github.com/miekg/dns"
)

// gather asks all there is to ask at once; only what the record leads to waits for it.
func (e *evidence) gather(ctx context.Context, env *diag.Env, sender, helo string) error {
	name := e.domain.String()
	bounded, cancel := diag.Within(ctx, eval.Timeout)
	defer cancel()
	l := eval.NewLookups(bounded, env)
	var g diag.Group
	g.Go(func() { e.tree = walk(l, name, "") })
	g.Go(func() { e.type99 = diag.Lookup[*dns.SPF](bounded, env, e.domain.FQDN()) })
	g.Go(func() { e.mail.MX = *eval.Ask[*dns.MX](l, name) }) // which the record may ask for, too
	g.Go(func() { e.mail.Addresses.V4 = *eval.Ask[*dns.A](l, name) })
	g.Go(func() { e.mail.Addresses.V6 = *eval.Ask[*dns.AAAA](l, name) })
	elsewhere := make([]diag.Answer[*dns.TXT], 1+len(misplaced))
	for i, label := range append([]string{"*"}, misplaced...) {
		g.Go(func() { elsewhere[i] = diag.Lookup[*dns.TXT](bounded, env, e.domain.Sub(label)) })
	}
	if e.ip.IsValid() {
		g.Go(func() {
			e.result = l.Check(eval.Request{IP: e.ip, Sender: cmp.Or(sender, name), HELO: cmp.Or(helo, name), Domain: name})
		})
	}
	g.Wait()
	e.published = published(l, name)
	err := ctx.Err() // before what is no longer needed is given up
	cancel()
	l.Wait()
	if err != nil {
		return fmt.Errorf("examining SPF of %s: %w", e.domain, err)
	}
	if e.silent(elsewhere) {
		return fmt.Errorf("examining SPF of %s: %w", e.domain, diag.Unavailable(diag.DefaultResolver, e.published.answer.Err()))
	}
	e.sort()
	e.locate(elsewhere)
	e.compute()
	return nil
}

// silent reports whether nothing at all was learned of the domain.
func (e *evidence) silent(elsewhere []diag.Answer[*dns.TXT]) bool {
	said := func(a diag.Answer[*dns.TXT]) bool { return a.Err() == nil }
	return !slices.ContainsFunc(elsewhere, said) && e.published.answer.Err() != nil && e.type99.Err() != nil &&
		e.mail.MX.Err() != nil && e.mail.Addresses.V4.Err() != nil && e.mail.Addresses.V6.Err() != nil
}

// outline makes evidence of a text alone.
func outline(record string, domain diag.Name, ip netip.Addr) *evidence {
	e := &evidence{domain: domain, offline: true, ip: ip, published: &publication{answer: new(diag.Answer[*dns.TXT])}}
	e.strings = diag.SplitTXT(record)
	text := strings.Join(e.strings, "")
	if eval.IsRecord(text) {
		e.records = []string{text}
	} else {
		e.strays = []string{text}
	}
	e.tree = walk(nil, domain.String(), text) // nothing is looked up
	root := e.tree.Root
	if len(e.strays) > 0 && !resembles(text) { // of which no words are terms
		root.Terms, root.Children, root.Parsed, root.Faults = nil, nil, &eval.Record{}, root.Faults[:1]
		root.Faults[0].Length, root.Faults[0].End = len(text), len(text)
		root.sum()
	}
	if ip.IsValid() && len(e.records) == 1 {
		e.result = root.Parsed.Decide(domain.String(), ip)
		if f := root.Faults; len(f) > 0 {
			e.result = &eval.Result{Outcome: eval.Permerror, Reason: f[0].Text}
		}
	}
	e.compute()
	return e
}
