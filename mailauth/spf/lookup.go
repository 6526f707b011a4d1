package spf

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// maxSender bounds a sender, in bytes: a path of SMTP has 256 at most (RFC 5321 section 4.5.3.1.3).
const maxSender = 320

// LookupRequest asks for the examination of one domain.
type LookupRequest struct {
	Domain diag.Domain `json:"domain" doc:"domain that sends mail" example:"example.com"`
	IP     diag.IP     `json:"ip,omitempty" doc:"address of a host; if given, what a receiver decides about it"`
	Sender string      `json:"sender,omitempty" maxlen:"320" doc:"address or domain of MAIL FROM, for macros and ip only; if absent, postmaster of the domain"`
	HELO   diag.Domain `json:"helo,omitempty" doc:"name by which the host greets, for macros and ip only; if absent, the domain"`
}

// Lookup examines the record of a domain and all that it leads to. The error is a *[diag.InputError],
// that of the context if it ended, or wraps [diag.ErrUnavailable] if nothing could be learned.
func Lookup(ctx context.Context, env *diag.Env, req LookupRequest) (*LookupReport, error) {
	if req.Domain.IsZero() {
		return nil, diag.Invalid("domain", "is missing")
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

// evidence is all that the rules look at; only gather, outline and sort fill it.
type evidence struct {
	domain  diag.Domain // zero in a validation without one
	now     time.Time
	offline bool // nothing but the text of the record is known

	published publication
	records   []string // those of SPF
	strays    []string // those that receivers discard, although they were probably meant
	senderIDs []string // those of Sender ID
	opaque    int      // TXT records that are no text
	type99    diag.Answer[*dns.SPF]
	elsewhere []place
	strings   []string // character-strings of the record, if there is exactly one

	tree   *Tree
	ip     netip.Addr
	result *Result // for ip; nil without one

	// What is computed of the tree, once.
	nodes      []*Node
	last       *Node // whose all decides: the root, or where it hands over to; nil if that is broken
	authorized Set
}

// A place is a name at which a record was found, and at which no receiver looks.
type place struct {
	name   string
	record string
}

// misplaced are labels under which records are published by mistake.
var misplaced = []string{"spf", "_spf"}

// gather asks all there is to ask at once; only what the record leads to waits for it.
func gather(ctx context.Context, env *diag.Env, req LookupRequest) (*evidence, error) {
	e := &evidence{domain: req.Domain, now: env.Now(), ip: req.IP.Addr}
	name := req.Domain.String()
	lookups, cancel := diag.Within(ctx, Timeout)
	defer cancel()
	d := newDesk(lookups, env, MaxQuestions)
	var g, ahead diag.Group
	g.Go(func() { e.tree = walk(d, name, "") })
	g.Go(func() { e.type99 = diag.Lookup[*dns.SPF](lookups, env, req.Domain.FQDN()) })
	places := make([]diag.Answer[*dns.TXT], len(misplaced))
	for i, label := range misplaced {
		g.Go(func() { places[i] = diag.Lookup[*dns.TXT](lookups, env, req.Domain.Sub(label)) })
	}
	if !req.IP.IsZero() {
		g.Go(func() { e.evaluate(d, &ahead, req) })
	}
	g.Wait()
	e.published = d.published(name)
	err := ctx.Err() // before what is no longer needed is given up
	cancel()
	ahead.Wait()
	if err != nil {
		return nil, fmt.Errorf("examining SPF of %s: %w", req.Domain, err)
	}
	silent := e.published.answer.Silent() && e.type99.Silent()
	for i, answer := range places {
		silent = silent && answer.Silent()
		for _, r := range answer.Records {
			if text := diag.TXT(r); isRecord(text) {
				e.elsewhere = append(e.elsewhere, place{misplaced[i] + "." + name, text})
			}
		}
	}
	if silent {
		return nil, fmt.Errorf("examining SPF of %s: %w", req.Domain,
			diag.Unavailable(diag.DefaultResolver, e.published.answer.Err()))
	}
	e.sort()
	e.compute()
	return e, nil
}

// evaluate finds out what a receiver decides.
func (e *evidence) evaluate(d *desk, ahead *diag.Group, req LookupRequest) {
	helo := req.HELO
	if helo.IsZero() {
		helo = req.Domain
	}
	sender := req.Sender
	if sender == "" {
		sender = req.Domain.String()
	}
	run := newEvaluation(d, CheckRequest{
		IP: req.IP.Addr, Sender: sender, HELO: helo.String(), Domain: req.Domain.String(),
	}, e.now)
	run.ahead = ahead
	e.result = run.run()
}

// sort tells the TXT records of the domain by what they were meant for.
func (e *evidence) sort() {
	for i, text := range e.published.texts {
		switch {
		case isRecord(text):
			e.records = append(e.records, text)
			e.strings = e.published.strings(i)
		case strings.HasPrefix(strings.ToLower(text), "spf2.0/"): // RFC 4406 section 3.1
			e.senderIDs = append(e.senderIDs, text)
		case resembles(text):
			e.strays = append(e.strays, text)
		case strings.ToValidUTF8(text, "") != text:
			e.opaque++
		}
	}
}

// strings returns the character-strings of the TXT record with the index.
func (p *publication) strings(i int) []string {
	var list []string
	for _, s := range p.answer.Records[i].Txt {
		list = append(list, unescape(s))
	}
	return list
}

// compute draws from the tree what several rules need.
func (e *evidence) compute() {
	e.nodes = e.tree.Nodes()
	e.authorized = e.tree.Authorized()
	e.last = e.tree.Root
	for e.last != nil && e.last.State == NodeFound {
		next := e.last.handsOver()
		if next == nil {
			return
		}
		e.last = next
	}
	e.last = nil
}

// handsOver returns the node to which a record redirects, or nil.
func (n *Node) handsOver() *Node {
	for _, c := range n.Children {
		if c.Via == ViaRedirect {
			return c
		}
	}
	return nil
}
