package spf

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// maxSender bounds a sender, in bytes: a path of SMTP has 256 at most (RFC 5321 section 4.5.3.1.3).
const maxSender = 320

// LookupRequest asks for the examination of one domain.
type LookupRequest struct {
	Domain diag.Name   `json:"domain" doc:"domain, or name of an included record; no wildcard" example:"example.com"`
	IP     diag.IP     `json:"ip,omitempty" doc:"address of a host; if given, what a receiver decides about it"`
	Sender string      `json:"sender,omitempty" maxlen:"320" doc:"MAIL FROM, for ip and macros; by default postmaster"`
	HELO   diag.Domain `json:"helo,omitempty" doc:"HELO name, for ip and macros; by default the domain"`
}

// Lookup examines the record of a domain and all that it leads to. The error is a *[diag.InputError],
// that of the context if it ended, or wraps [diag.ErrUnavailable] if nothing could be learned.
func Lookup(ctx context.Context, env *diag.Env, req LookupRequest) (*LookupReport, error) {
	if req.Domain.IsZero() {
		return nil, diag.Invalid("domain", "is missing")
	}
	if err := checkName(req.Domain); err != nil {
		return nil, err
	}
	if err := checkSender(req.Sender); err != nil {
		return nil, err
	}
	e, err := gather(ctx, env, req)
	if err != nil {
		return nil, err
	}
	return e.lookupReport(env.Now()), nil
}

// checkName refuses names at which no receiver looks for a record.
func checkName(n diag.Name) error {
	switch {
	case n.String() == ".":
		return diag.Invalid("domain", "is the root, which has no SPF record")
	case strings.HasPrefix(n.String(), "*"):
		return diag.Invalid("domain", "is a wildcard; ask for a name that it covers")
	default:
		return nil
	}
}

func checkSender(s string) error {
	if len(s) > maxSender {
		return diag.Invalid("sender", "is longer than %d bytes", maxSender)
	}
	if i := strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }); i >= 0 {
		return diag.Invalid("sender", "has a control character at byte %d", i)
	}
	if strings.HasSuffix(s, "@") {
		return diag.Invalid("sender", "has no domain")
	}
	return nil
}

// misplaced are labels under which records are published by mistake.
var misplaced = []string{"spf", "_spf"}

// gather asks all there is to ask at once; only what the record leads to waits for it.
func gather(ctx context.Context, env *diag.Env, req LookupRequest) (*evidence, error) {
	e := &evidence{domain: req.Domain, now: env.Now(), ip: req.IP.Addr}
	name := req.Domain.String()
	bounded, cancel := diag.Within(ctx, Timeout)
	defer cancel()
	l := newLookups(bounded, env, MaxQuestions)
	var g, ahead diag.Group
	g.Go(func() { e.tree = walk(l, name, "") })
	g.Go(func() { e.type99 = diag.Lookup[*dns.SPF](bounded, env, req.Domain.FQDN()) })
	g.Go(func() { e.mail.MX = ask[*dns.MX](l, name, dns.TypeMX) }) // which the record may ask for, too
	g.Go(func() { e.mail.Addresses.V4 = ask[*dns.A](l, name, dns.TypeA) })
	g.Go(func() { e.mail.Addresses.V6 = ask[*dns.AAAA](l, name, dns.TypeAAAA) })
	elsewhere := make([]diag.Answer[*dns.TXT], 1+len(misplaced))
	for i, label := range append([]string{"*"}, misplaced...) {
		g.Go(func() { elsewhere[i] = diag.Lookup[*dns.TXT](bounded, env, req.Domain.Sub(label)) })
	}
	if !req.IP.IsZero() {
		g.Go(func() { e.evaluate(l, &ahead, req) })
	}
	g.Wait()
	e.published = l.published(name)
	err := ctx.Err() // before what is no longer needed is given up
	cancel()
	ahead.Wait()
	if err != nil {
		return nil, fmt.Errorf("examining SPF of %s: %w", req.Domain, err)
	}
	if e.silent(elsewhere) {
		return nil, fmt.Errorf("examining SPF of %s: %w", req.Domain,
			diag.Unavailable(diag.DefaultResolver, e.published.answer.Err()))
	}
	e.sort()
	e.locate(elsewhere)
	e.compute()
	if open := e.Unanswered(); len(open) == 0 || slices.Equal(open, []diag.Source{fromType99}) {
		e.suggested = e.suggest()
	}
	return e, nil
}

// silent reports whether nothing at all was learned of the domain.
func (e *evidence) silent(elsewhere []diag.Answer[*dns.TXT]) bool {
	said := func(a diag.Answer[*dns.TXT]) bool { return a.Err() == nil }
	return !slices.ContainsFunc(elsewhere, said) && e.published.answer.Err() != nil && e.type99.Err() != nil &&
		e.mail.MX.Err() != nil && e.mail.Addresses.V4.Err() != nil && e.mail.Addresses.V6.Err() != nil
}

// evaluate finds out what a receiver decides.
func (e *evidence) evaluate(l *lookups, ahead *diag.Group, req LookupRequest) {
	helo := req.HELO.String()
	if helo == "" {
		helo = req.Domain.String()
	}
	sender := req.Sender
	if sender == "" {
		sender = req.Domain.String()
	}
	run := newEvaluation(l, CheckRequest{
		IP: req.IP.Addr, Sender: sender, HELO: helo, Domain: req.Domain.String(),
	}, e.now)
	run.ahead = ahead
	e.result = run.run()
}
