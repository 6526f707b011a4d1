// Package live evaluates a message against the current DNS: call [Gather] with the contents of its header.
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

// timeout bounds the wait for the DNS; results without an answer by then are unknown.
const timeout = 10 * time.Second

// Gather runs all DNS queries about a message concurrently: names and their addresses, SPF records, keys, and DMARC
// records of all domains that may matter. It fails only when the context ends.
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
		g.Go(func() { e.BestCase, failure[2] = policy.Evaluate(ctx, env, in.bestCase()) })
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

// ask looks up a server that may have delivered the message from outside. Results cut off by the timeout are left
// out.
func (in *Input) ask(ctx context.Context, env *diag.Env, g *diag.Group, h *route.Hop, s *server) {
	g.Go(func() { s.PTR = lookupPTR(ctx, env, h.IP) })
	g.Go(func() { // one round trip, and another one for the reasons; silent lists say nothing about the message
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

// received returns when the receiver's own side accepted the message, according to the message, and at most now.
func (in *Input) received(now time.Time) time.Time {
	for _, c := range in.Outside.Candidates {
		if !c.Time.IsZero() && c.Time.Before(now) {
			return c.Time
		}
	}
	return now
}

func (in *Input) bestCase() policy.Message {
	m := policy.Message{From: in.From[0], DKIM: slices.Clone(in.Signers)}
	author := route.Organizational(in.Author())
	slices.SortStableFunc(m.DKIM, func(a, b diag.Name) int { // unrelated domains must not crowd out those that matter
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

// foreign returns 0 for a domain of the author's organization, else 1.
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

// Input is the message data that the checks need.
type Input struct {
	Text       []byte // as sent: the message, or its header alone
	HeaderOnly bool
	Outside    route.Outside
	From       []diag.Name // domains of the addresses in all From fields
	Envelope   *string     // envelope sender without brackets, empty for bounces; nil if the message does not contain it
	Signers    []diag.Name // domains of its DKIM signatures, those that are verified
}

// Evidence holds the DNS results about a message.
type Evidence struct {
	*Input
	Hop   *route.Hop // the outside hop; nil if unknown
	Why   string     // says why this hop was chosen, or why none is known
	At    time.Time  // when the message was received; now if unknown
	Now   time.Time  // when the DNS was queried
	Ended time.Time

	server // the results for the outside hop
	DKIM   *dkim.Verification
	ARC    *arc.Result
	// Could is the DMARC result if every possible mechanism passed: it shows what is aligned. It is nil without
	// exactly one author.
	BestCase *policy.Evaluation
	DMARC    DMARC

	servers []server // all candidates for the outside hop
}

type server struct {
	PTR    *PTR           // its names; nil if unknown
	Listed []dnsbl.Result // blocklists that have it; nil if no list answered
	SPF    *eval.Result   // for the envelope sender; nil without server or envelope
	HELO   *eval.Result   // for the name that the server gave itself; nil without either
}

// DMARC is the DMARC result of the message, as far as it can be determined.
type DMARC struct {
	Result policy.Result // empty if it cannot be determined, for the reason in Open
	Open   Open
	By     []policy.Mechanism // that make it pass, SPF first
	Reason string             // the DNS error for which it is unknown
}

// Open is the reason why DMARC cannot be determined although the DNS has answered.
type Open int

// The reasons.
const (
	Decided    Open = iota
	NoAuthor        // not exactly one domain in From
	NoHop           // the address that SPF evaluates is unknown
	NoEnvelope      // the envelope sender is unknown
	NoBody          // an aligned signature covers a body that is missing
)

// Author returns the domain of the From field; empty without exactly one domain.
func (in *Input) Author() string {
	if len(in.From) != 1 {
		return ""
	}
	return in.From[0].String()
}

// MailDomain returns s as a domain that is valid in an address; zero if it is not.
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

// spfDomain returns the domain that SPF was checked for, in the form used for alignment.
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

// AnyoneMaySend reports whether SPF passes only because the record authorizes every host, which proves nothing about
// the server.
func (e *Evidence) AnyoneMaySend() bool {
	return e.SPFGave(eval.Pass) && strings.EqualFold(strings.TrimPrefix(e.SPF.MatchedTerm, "+"), "all")
}

// Aligned reports whether a domain is aligned with that of the author; without a policy, by the public suffix list.
func (e *Evidence) Aligned(m policy.Mechanism, domain string) bool {
	if e.BestCase == nil || domain == "" {
		return false
	}
	for i := range e.BestCase.Identifiers {
		if id := &e.BestCase.Identifiers[i]; id.Mechanism == m && id.Domain.String() == domain {
			return id.Aligned
		}
	}
	if len(e.BestCase.Identifiers) > 0 {
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

// Signed returns the first aligned signature with one of the results, or nil.
func (e *Evidence) Signed(results ...dkim.AuthResult) *dkim.Result {
	return e.signature(func(s *dkim.Result) bool {
		return slices.Contains(results, s.Result) && e.Aligned(policy.DKIM, s.Domain)
	})
}

// AnySigned returns a passing signature of any domain, or nil.
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
// was signed, or is so after undoing changes of mailing lists, such as a tag before the subject.
func (e *Evidence) Changed() *dkim.Result {
	return e.signature(func(s *dkim.Result) bool {
		header := s.SignatureOK != nil && *s.SignatureOK || slices.ContainsFunc(s.Causes, func(c dkim.Cause) bool {
			return c == dkim.SubjectTagged || c == dkim.FieldAdded
		})
		return header && s.Result == dkim.Fail && e.Aligned(policy.DKIM, s.Domain)
	})
}

// Misaligned returns a domain of the author's organization that SPF or DKIM authenticates, though the policy demands
// that the domains be the same (adkim=s, aspf=s); empty without one. It is also empty on public suffixes, where
// unrelated parties share an organization.
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

// Vouched reports whether the ARC chain is valid and states that DMARC passed for the author before.
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
	if e.BestCase == nil {
		return false
	}
	exists, err := e.BestCase.Discovery.Exists()
	return err == nil && !exists
}
