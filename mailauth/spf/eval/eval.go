// Package eval evaluates SPF as a mail receiver does: whether a host may send mail for a domain (RFC 7208). Call
// [Check] with the known properties of a message, and act on the [Outcome] that it returns.
//
//	result, err := eval.Check(ctx, env, eval.Request{IP: client, Sender: "joe@example.com", HELO: "mail.example.com"})
//
// # How SPF works
//
// A domain publishes one TXT record. It begins with v=spf1 and is a list of terms, which the receiver reads from left
// to right with the address of the sending host:
//
//	example.com. TXT "v=spf1 ip4:192.0.2.0/24 mx include:_spf.example.net -all"
//
// A mechanism names hosts: by address (ip4, ip6), by DNS lookup (a, mx, ptr, exists), by the record of another domain
// (include), or all of them. The first match decides, by its qualifier: + or no qualifier is pass, - fail, ~
// softfail, ? neutral. A modifier has no qualifier: redirect= continues with another record if nothing matched, exp=
// explains a fail. Names may contain macros, such as %{i} for the client address.
//
// Receivers limit their work. Terms that need a DNS lookup are counted over all records that the first one leads to,
// and the eleventh ends the evaluation in permerror, as do the third void lookup, a syntax error in a record, and an
// included domain without a record. If a name server does not answer, the result is temperror, and the mail is
// deferred.
//
// # How to use the package
//
// A mail server calls [Check] once it has MAIL FROM, refuses mail on [Fail] if its policy says so, and records the
// outcome in Authentication-Results (RFC 8601). With an empty Sender, as in bounces, the HELO name is checked;
// [Lookups.Check] checks both identities without repeating queries. The environment chooses the resolver: nil means
// the name servers of the system, and any implementation that exchanges DNS messages works.
//
// Lookups are sequential while answers are immediate, as from a local cache. Once it has to wait, an evaluation sends
// all queries that it will probably need, so a tree d levels deep takes d round trips, plus one or two for host
// addresses.
package eval

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/input"
)

// Timeout bounds each wait; whatever has not answered by then counts as unanswered. RFC 7208 section
// 4.6.4 wants evaluations to end, after 20 seconds at least, but callers usually have no more than 15 (CONTRACT 1.9).
const Timeout = 10 * time.Second

// A Request holds the properties of a message that a receiver knows.
type Request struct {
	IP     netip.Addr // of the client; IPv4 in the form of IPv6 is IPv4
	Sender string     // of MAIL FROM, without brackets; empty for bounces
	HELO   string     // the client's HELO name
	// Domain is the domain whose record is evaluated. If empty, it is that of Sender, or HELO if that is empty too
	// (RFC 7208 section 2.4). For the identity HELO, leave Sender empty.
	Domain string
	// Receiver is the name of the host that checks, for the macro r of explanations; "unknown" if empty.
	Receiver string
	// Lookups and Voids take the place of [MaxLookups] and [MaxVoids], up to [MaxTerms]; 0 means these defaults. No
	// receiver does that: it shows what a record would mean without the limits.
	Lookups, Voids int
}

// A Result is the decision of a receiver.
type Result struct {
	Outcome       Outcome
	Domain        string // the domain whose record was evaluated
	MatchedTerm   string // the deciding mechanism, as written; empty without one
	MatchedDomain string // the domain whose record has it
	Explanation   string // of a fail, by the domain (RFC 7208 section 6.2); may be empty
	Reason        string // why there is no record, or it could not be evaluated; empty otherwise
	DNSLookups    int    // DNS lookups so far, as RFC 7208 section 4.6.4 counts them
	VoidLookups   int    // those without a result
}

// Check evaluates the record of the domain that a message comes from: it is the function check_host of RFC 7208
// section 4.
//
// An error is a *[diag.InputError] without an IP address, or that of the context if it ended; if name servers do not
// answer, the outcome is [Temperror].
func Check(ctx context.Context, env *diag.Env, req Request) (*Result, error) {
	if !req.IP.IsValid() {
		return nil, input.Invalid("ip", "is missing")
	}
	bounded, cancel := diag.Within(ctx, Timeout)
	defer cancel()
	l := NewLookups(bounded, env)
	result := l.Check(req)
	err := ctx.Err() // before unneeded queries are aborted
	cancel()
	l.Wait()
	if err != nil {
		return nil, fmt.Errorf("checking SPF of %.255s: %w", result.Domain, err)
	}
	return result, nil
}

// Check is [Check] with lookups that other evaluations may have used. The request has an address; if the context of the
// lookups ends, the outcome is [Temperror].
func (l *Lookups) Check(req Request) *Result {
	e := newEvaluation(l, req)
	domain := cmp.Or(ALabels(req.Domain), e.sender)
	v := e.checkHost(domain, false)
	r := &Result{
		Outcome: v.outcome, Domain: domain, MatchedTerm: v.term, MatchedDomain: v.domain, Reason: v.reason,
		DNSLookups: e.counted, VoidLookups: e.voids,
	}
	if v.outcome == Fail {
		r.Explanation = e.explanation
	}
	return r
}

func newEvaluation(l *Lookups, req Request) *evaluation {
	e := &evaluation{
		mail: mail{
			Lookups: l, ip: req.IP.Unmap().WithZone(""), helo: ALabels(req.HELO),
			receiver: cmp.Or(req.Receiver, "unknown"), // RFC 7208 section 7.3
		},
		maxLookups: min(cmp.Or(req.Lookups, MaxLookups), MaxTerms), maxVoids: min(cmp.Or(req.Voids, MaxVoids), MaxTerms),
	}
	e.setSender(req.Sender)
	e.prefetch.mail = &e.mail
	e.prefetch.terms.Store(int32(e.maxLookups))
	e.prefetch.questions.Store(maxAhead)
	return e
}

// Decide evaluates the record of a domain for an address without the DNS: the outcome is [NeedsDNS] where the record
// alone does not decide. The record has no errors.
func (r *Record) Decide(domain string, ip netip.Addr) *Result {
	result := &Result{Outcome: Neutral, Domain: domain}
	open := r.Find(Redirect)
	for i := range r.Terms {
		t := &r.Terms[i]
		if t.Name == All || t.Network.IsValid() && t.Network.Contains(ip.Unmap()) {
			result.Outcome, result.MatchedTerm, result.MatchedDomain = t.Qualifier.Outcome(), t.Raw, domain
			return result
		}
		if t.Kind == Mechanism && t.Name.Counted() {
			open = t
			break
		}
	}
	if open != nil {
		result.Outcome, result.Reason = NeedsDNS, open.Raw+" depends on the DNS"
	}
	return result
}
