package spf

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
)

// An Outcome is the result of an evaluation (RFC 7208 section 2.6).
type Outcome string

// The outcomes.
const (
	None      Outcome = "none"      // there is no record, or no domain to have one
	Neutral   Outcome = "neutral"   // the domain says nothing about the host
	Pass      Outcome = "pass"      // the host may send
	Fail      Outcome = "fail"      // it may not
	Softfail  Outcome = "softfail"  // it probably may not
	Temperror Outcome = "temperror" // a name server did not say
	Permerror Outcome = "permerror" // the records cannot be evaluated
	NeedsDNS  Outcome = "needs_dns" // the outcome of [Validate] where the record alone does not decide.
)

// Values lists the outcomes.
func (Outcome) Values() []string {
	return diag.Values(None, Neutral, Pass, Fail, Softfail, Temperror, Permerror, NeedsDNS)
}

// The limits of an evaluation (RFC 7208 section 4.6.4).
const (
	MaxLookups = 10 // terms that need the DNS
	MaxVoids   = 2  // terms for which the DNS has nothing
	MaxMX      = 10 // MX hosts behind one mx
	maxPTR     = 10 // host names of the client that are looked at
)

// Timeout is how long anything is waited for; what has not been answered then counts as not said. RFC 7208 section
// 4.6.4 wants evaluations to end, after 20 seconds at least, but callers usually have no more than 15 (CONTRACT 1.9).
const Timeout = 10 * time.Second

// maxAhead bounds the questions that an evaluation asks before it knows that it needs the answers.
const maxAhead = 60

// CheckRequest is what a receiver of mail knows about it.
type CheckRequest struct {
	IP     netip.Addr // of the client; IPv4 in the form of IPv6 is IPv4
	Sender string     // of MAIL FROM, without brackets; empty for bounces
	HELO   string     // the name that the client gave itself
	// Domain is whose record is evaluated. If empty, it is that of Sender, or HELO if that is empty
	// too (RFC 7208 section 2.4). For the identity HELO, leave Sender empty.
	Domain string
	// Receiver is the name of the host that checks, for the macro r of explanations; empty is "unknown".
	Receiver string
	// Lookups and Voids take the place of [MaxLookups] and [MaxVoids], up to [MaxTerms]; 0 means these. No
	// receiver does that: it shows what a record would mean if its limits did not matter.
	Lookups, Voids int
}

// A Result is what a receiver decides.
type Result struct {
	Outcome       Outcome
	Domain        string // whose record was evaluated
	MatchedTerm   string // the mechanism that decided, as it is written; empty if none did
	MatchedDomain string // whose record has it
	Explanation   string // of a fail, as the domain gives it (RFC 7208 section 6.2); empty if it gives none
	Reason        string // why there is no record, or it could not be evaluated; empty otherwise
	DNSLookups    int    // DNS lookups so far, as RFC 7208 section 4.6.4 counts them
	VoidLookups   int    // those without a result
}

// Check evaluates the record of the domain that a mail comes from: it is the function check_host of
// RFC 7208 section 4. At most ten terms need the DNS, however the records lead to each other. What the
// answers will be needed for is asked for ahead, so that waiting is short.
//
// An error is a *[diag.InputError] without an IP address, or that of the context if it ended; that name
// servers do not answer is [Temperror].
func Check(ctx context.Context, env *diag.Env, req CheckRequest) (*Result, error) {
	if !req.IP.IsValid() {
		return nil, diag.Invalid("ip", "is missing")
	}
	lookups, cancel := diag.Within(ctx, Timeout)
	defer cancel()
	d := newLookups(lookups, env, maxAhead)
	var ahead diag.Group
	e := newEvaluation(d, req, env.Now())
	e.ahead = &ahead
	result := e.run()
	err := ctx.Err() // before what is no longer needed is given up
	cancel()
	ahead.Wait()
	if err != nil {
		return nil, fmt.Errorf("checking SPF of %.255s: %w", e.domain, err)
	}
	return result, nil
}

// evaluation is one run of check_host.
type evaluation struct {
	dns        *lookups    // nil: there is no DNS
	ahead      *diag.Group // for questions ahead; nil: none are asked
	ip         netip.Addr
	local      string // of the sender
	sender     string // its domain
	asciiLocal bool   // whether local is ASCII
	helo       string
	domain     string // whose record is evaluated
	receiver   string
	now        time.Time

	counted, voids int
	maxLookups     int
	maxVoids       int
	explanation    string
	names          *[]string // validated host names of the client, once known
}

func newEvaluation(l *lookups, req CheckRequest, now time.Time) *evaluation {
	e := &evaluation{
		dns: l, ip: req.IP.Unmap().WithZone(""), helo: aLabels(req.HELO),
		receiver: req.Receiver, now: now,
		maxLookups: min(cmp.Or(req.Lookups, MaxLookups), MaxTerms), maxVoids: min(cmp.Or(req.Voids, MaxVoids), MaxTerms),
	}
	if e.receiver == "" {
		e.receiver = "unknown" // RFC 7208 section 7.3
	}
	e.local, e.sender = splitSender(req.Sender, e.helo)
	e.asciiLocal = isASCII(e.local)
	e.domain = aLabels(req.Domain)
	if e.domain == "" {
		e.domain = e.sender
	}
	return e
}

// splitSender returns local part and domain of a sender. Without a sender it is the postmaster of the
// HELO name, without a local part that of the domain (RFC 7208 sections 2.4 and 4.3).
func splitSender(sender, helo string) (local, domain string) {
	if sender == "" {
		return "postmaster", helo
	}
	i := strings.LastIndexByte(sender, '@')
	local, domain = sender[:max(i, 0)], aLabels(sender[i+1:])
	if local == "" {
		local = "postmaster"
	}
	return local, domain
}

// aLabels returns a name without its final dot and with A-labels for U-labels (RFC 8616 section 4). What
// is no such name stays as it is.
func aLabels(s string) string {
	if !isASCII(s) {
		if name, err := diag.ParseName(s); err == nil {
			return name.String()
		}
	}
	return strings.TrimSuffix(s, ".")
}

func isASCII(s string) bool { return strings.IndexFunc(s, func(r rune) bool { return r > 0x7f }) < 0 }

func (e *evaluation) run() *Result {
	v := e.checkHost(e.domain, false)
	r := &Result{
		Outcome: v.outcome, Domain: e.domain, MatchedTerm: v.term, MatchedDomain: v.domain, Reason: v.reason,
		DNSLookups: e.counted, VoidLookups: e.voids,
	}
	if v.outcome == Fail {
		r.Explanation = e.explanation
	}
	return r
}

// value returns what a macro stands for in the record of a domain (RFC 7208 section 7.2).
func (e *evaluation) value(letter byte, domain string) string {
	switch letter {
	case 's':
		return e.local + "@" + e.sender
	case 'l':
		return e.local
	case 'o':
		return e.sender
	case 'd':
		return domain
	case 'i':
		return dotted(e.ip)
	case 'p':
		return e.validatedName(domain)
	case 'v':
		if e.ip.Is4() {
			return "in-addr"
		}
		return "ip6"
	case 'h':
		return e.helo
	case 'c':
		return e.ip.String()
	case 'r':
		return e.receiver
	case 't':
		return fmt.Sprint(e.now.Unix())
	default:
		return ""
	}
}

// target returns the name that a term is about: the domain itself if it has no value.
func (e *evaluation) target(t *Term, domain string) string {
	if t.Value == "" {
		return domain
	}
	return fit(t.spec.expand(func(letter byte) string { return e.value(letter, domain) }))
}
