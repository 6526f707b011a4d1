// Package live evaluates a message against the DNS of today: call [Gather] with what its header says.
//
// It repeats what receivers check when a message arrives: SPF for the delivering server, DKIM signatures, the ARC
// chain, DMARC for the From domain, reverse DNS and blocklists, all at once. It reports the answers and has no
// rules.
package live

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/arc"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/dnsbl"
	"github.com/diagkit/diagkit/mailauth/header/route"
	"github.com/diagkit/diagkit/mailauth/message"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

// timeout is how long the DNS is waited for; what has not been answered then is not known.
const timeout = 10 * time.Second

// Gather asks the DNS all that it can tell about a message, at once: names and their addresses, SPF records, keys, and
// DMARC records of all domains that may matter. It fails only when the context ends.
func Gather(ctx context.Context, env *diag.Env, in *Input) (*Evidence, error) {
	wait, cancel := diag.Within(ctx, timeout)
	defer cancel()
	e := &Evidence{Input: in, Now: env.Now(), servers: make([]server, len(in.Outside.Candidates))}
	e.At = in.received(e.Now)
	var g diag.Group
	for i := range e.servers {
		in.ask(wait, env, &g, in.Outside.Candidates[i].Hop, &e.servers[i])
	}
	var failure [3]error
	o := dkim.Options{HeaderOnly: in.HeaderOnly, At: e.At}
	g.Go(func() { e.DKIM, failure[0] = dkim.Verify(ctx, env, in.Text, o) })
	g.Go(func() { e.ARC, failure[1] = arc.Verify(ctx, env, in.Text, o) })
	if len(in.From) == 1 {
		g.Go(func() { e.Could, failure[2] = policy.Evaluate(ctx, env, in.could()) })
	}
	g.Wait()
	if err := cmp.Or(ctx.Err(), failure[0], failure[1], failure[2]); err != nil {
		return nil, err
	}
	e.Ended = env.Now()
	e.choose()
	e.DMARC = e.evaluate()
	return e, nil
}

// ask asks about a server that may have delivered the message from outside. What was cut off by the end of the time is
// left out.
func (in *Input) ask(ctx context.Context, env *diag.Env, g *diag.Group, h *route.Hop, s *server) {
	g.Go(func() { s.PTR = lookupPTR(ctx, env, h.IP) })
	g.Go(func() { // one round trip, and another one for the reasons; lists that do not answer say nothing of the message
		if listed, answered, err := dnsbl.Listings(ctx, env, diag.IP{Addr: h.IP.Unmap()}); err == nil && answered > 0 {
			s.Listed = append([]dnsbl.Result{}, listed...)
		}
	})
	check := func(sender, domain string) *eval.Result {
		result, err := eval.Check(ctx, env, eval.Request{
			IP: h.IP, Sender: sender, HELO: h.HELO, Domain: domain, Receiver: h.By,
		})
		if err != nil {
			return &eval.Result{Outcome: eval.Temperror, Domain: domain, Reason: "no response in time"}
		}
		return result
	}
	named := route.Organizational(h.HELO) != ""
	if in.Envelope != nil && (*in.Envelope != "" || named) {
		g.Go(func() { s.SPF = check(*in.Envelope, "") })
	}
	if named {
		g.Go(func() { s.HELO = check("", h.HELO) })
	}
}

// received is when the receiver's own side took the message, as far as the message tells, and not after now.
func (in *Input) received(now time.Time) time.Time {
	for _, c := range in.Outside.Candidates {
		if !c.Time.IsZero() && c.Time.Before(now) {
			return c.Time
		}
	}
	return now
}

func (in *Input) could() policy.Message {
	m := policy.Message{From: in.From[0], DKIM: slices.Clone(in.Signers)}
	author := route.Organizational(in.Author())
	slices.SortStableFunc(m.DKIM, func(a, b diag.Name) int { // strangers must not crowd out those that matter
		return cmp.Compare(foreign(a, author), foreign(b, author))
	})
	sender, helo := "", ""
	if in.Envelope != nil {
		sender = *in.Envelope
	}
	if n := len(in.Outside.Candidates); in.Envelope != nil && sender == "" && n > 0 {
		helo = in.Outside.Candidates[n-1].HELO // RFC 7208 section 2.4: bounces have no other identity
	}
	m.SPF = MailDomain(cmp.Or(sender[strings.LastIndexByte(sender, '@')+1:], helo))
	return m
}

// foreign is 0 for a domain of an organization, else 1.
func foreign(d diag.Name, author string) int {
	if route.Organizational(d.String()) == author {
		return 0
	}
	return 1
}

func (e *Evidence) choose() {
	find := func(ip netip.Addr) *server {
		return &e.servers[slices.IndexFunc(e.Outside.Candidates, func(c route.Candidate) bool { return c.IP == ip })]
	}
	e.Hop, e.Why = e.Outside.Confirm(func(ip netip.Addr) ([]string, error) {
		p := find(ip).PTR
		return p.Confirmed, p.Err
	})
	if e.Hop != nil {
		e.server = *find(e.Hop.IP)
	}
}

// SignerDomains lists the domains of the signatures that are verified.
func SignerDomains(m *message.Message) (domains []diag.Name) {
	fields := m.All(string(dkim.DKIMSignature))
	for _, f := range fields[:min(len(fields), dkim.MaxSignatures)] {
		if s := dkim.ParseSignature(dkim.DKIMSignature, string(f.RawValue())); !s.Domain.IsZero() {
			domains = append(domains, s.Domain.Name())
		}
	}
	return domains
}
