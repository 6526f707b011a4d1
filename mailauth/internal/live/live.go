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
	"github.com/diagkit/diagkit/mailauth/internal/route"
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

// Input is what the checks need to know of a message.
type Input struct {
	Text       []byte // as sent: the message, or its header alone
	HeaderOnly bool
	Outside    route.Outside
	From       []diag.Name // domains of the addresses in all From fields
	Envelope   *string     // envelope sender without brackets, empty for bounces; nil if the message does not tell
	Signers    []diag.Name // domains of its DKIM signatures, as far as they are verified
}

// Evidence is what the DNS said about a message.
type Evidence struct {
	*Input
	Hop   *route.Hop // the outside hop; nil if it is not known
	Why   string     // says why it is the one, or why none is known
	At    time.Time  // when the message was received; now if it does not tell
	Now   time.Time  // when the DNS was asked
	Ended time.Time

	server // what was said about the outside hop
	DKIM   *dkim.Verification
	ARC    *arc.Result
	// Could is DMARC as if everything had passed that may: it tells what is aligned. It is nil without a single author.
	Could *policy.Evaluation
	DMARC DMARC

	servers []server // all candidates for the outside hop
}

type server struct {
	PTR    *PTR           // its names; nil if it is not known
	Listed []dnsbl.Result // blocklists that have it; nil if no list answered
	SPF    *eval.Result   // for the envelope sender; nil without server or envelope
	HELO   *eval.Result   // for the name that the server gave itself; nil without either
}

// DMARC is DMARC of the message, as far as it can be told.
type DMARC struct {
	Result policy.Result // empty if it cannot be told, for the reason in Open
	Open   Open
	By     []policy.Mechanism // that make it pass, SPF first
	Reason string             // why it is not known, from the DNS
}

// Open is why DMARC cannot be told although the DNS has answered.
type Open int

// The reasons.
const (
	Decided    Open = iota
	NoAuthor        // not exactly one domain in From
	NoHop           // the address that SPF is about is not known
	NoEnvelope      // the envelope sender is not known
	NoBody          // an aligned signature covers a body that is not there
)

// Author is the domain of the From field; empty if there is none, or several.
func (in *Input) Author() string {
	if len(in.From) != 1 {
		return ""
	}
	return in.From[0].String()
}

// MailDomain returns a domain that can stand in an address; zero for what cannot.
func MailDomain(s string) diag.Name {
	if d, err := diag.ParseDomain(s); err == nil {
		return d.Name()
	}
	name, err := diag.ParseName(s)
	if err != nil || name.String() == "." || strings.HasPrefix(name.String(), "*") || route.Organizational(s) == "" {
		return diag.Name{}
	}
	return name
}

// spfDomain is the domain that SPF was checked for, as alignment names it.
func (e *Evidence) spfDomain() string {
	if e.SPF == nil {
		return ""
	}
	return MailDomain(e.SPF.Domain).String()
}

// SPFGave reports whether SPF of the envelope had one of the outcomes.
func (e *Evidence) SPFGave(outcomes ...eval.Outcome) bool {
	return e.SPF != nil && slices.Contains(outcomes, e.SPF.Outcome)
}

// AnyoneMaySend reports whether SPF passes since the record authorizes everybody: that shows nothing about the server.
func (e *Evidence) AnyoneMaySend() bool {
	return e.SPFGave(eval.Pass) && strings.EqualFold(strings.TrimPrefix(e.SPF.MatchedTerm, "+"), "all")
}

// Aligned reports whether a domain is aligned with that of the author; without a policy, by the public suffix list.
func (e *Evidence) Aligned(m policy.Mechanism, domain string) bool {
	if e.Could == nil || domain == "" {
		return false
	}
	for i := range e.Could.Identifiers {
		if id := &e.Could.Identifiers[i]; id.Mechanism == m && id.Domain.String() == domain {
			return id.Aligned
		}
	}
	if len(e.Could.Identifiers) > 0 {
		return false
	}
	org := route.Organizational(domain)
	return domain == e.Author() || org != "" && org == route.Organizational(e.Author())
}

// SPFAligned reports whether the domain that SPF was checked for is aligned.
func (e *Evidence) SPFAligned() bool { return e.Aligned(policy.SPF, e.spfDomain()) }

// Signatures lists the signatures for which a condition holds.
func (e *Evidence) Signatures(holds func(*dkim.Result) bool) (list []*dkim.Result) {
	for i := range e.DKIM.Signatures {
		if s := &e.DKIM.Signatures[i]; holds(s) {
			list = append(list, s)
		}
	}
	return list
}

// Signed returns the first aligned signature with one of the results; nil if there is none.
func (e *Evidence) Signed(results ...dkim.AuthResult) *dkim.Result {
	return e.signature(func(s *dkim.Result) bool {
		return slices.Contains(results, s.Result) && e.Aligned(policy.DKIM, s.Domain)
	})
}

// AnySigned returns a signature that passes, whoever made it.
func (e *Evidence) AnySigned() *dkim.Result {
	return e.signature(func(s *dkim.Result) bool { return s.Result == dkim.Pass })
}

func (e *Evidence) signature(holds func(*dkim.Result) bool) *dkim.Result {
	if list := e.Signatures(holds); len(list) > 0 {
		return list[0]
	}
	return nil
}

// Changed returns an aligned signature that does not verify although the author's domain made it: the header is as it
// was signed, or is so without what mailing lists change, such as a tag before the subject.
func (e *Evidence) Changed() *dkim.Result {
	return e.signature(func(s *dkim.Result) bool {
		header := s.SignatureOK != nil && *s.SignatureOK || slices.ContainsFunc(s.Causes, func(c dkim.Cause) bool {
			return c == dkim.SubjectTagged || c == dkim.FieldAdded
		})
		return header && s.Result == dkim.Fail && e.Aligned(policy.DKIM, s.Domain)
	})
}

// Misaligned returns a domain of the author's organization that SPF or DKIM authenticates, though the policy demands
// that the domains be the same (adkim=s, aspf=s); empty if there is none. On public suffixes, where strangers share
// an organization, there is none either.
func (e *Evidence) Misaligned() string {
	org := route.Organizational(e.Author())
	same := func(domain string) bool { return org != "" && route.Organizational(domain) == org }
	if s := e.spfDomain(); e.SPFGave(eval.Pass) && !e.AnyoneMaySend() && same(s) {
		return s
	}
	if s := e.signature(func(s *dkim.Result) bool { return s.Result == dkim.Pass && same(s.Domain) }); s != nil {
		return s.Domain
	}
	return ""
}

// Vouched reports whether the chain of ARC is valid and says that DMARC passed for the author before.
func (e *Evidence) Vouched() bool {
	if e.ARC.Result != arc.Pass || len(e.From) != 1 || e.ARC.Sets[0].Authentication == nil {
		return false
	}
	for _, r := range e.ARC.Sets[0].Authentication.Results {
		if r.Method == "dmarc" && r.Value == "pass" && r.Domain() == e.Author() {
			return true
		}
	}
	return false
}

// Nonexistent reports whether it is known that the author's domain does not exist.
func (e *Evidence) Nonexistent() bool {
	if e.Could == nil {
		return false
	}
	exists, err := e.Could.Discovery.Exists()
	return err == nil && !exists
}
