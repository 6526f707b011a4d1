package resolve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/miekg/dns"
)

// The bounds of a walk from the root servers.
const (
	// walkTimeout leaves the caller, whose time usually is 15 seconds (CONTRACT 1.9), with a report on
	// how far the walk had got. Callers with less time have a tenth of it left for that.
	walkTimeout    = 10 * time.Second
	maxSteps       = 200 // that a trace lists; a walk has four as a rule, and may take a hundred questions
	maxStepRecords = 50  // that a step lists of each kind
)

// A Step is one query to one server between the root servers and the answer.
type Step struct {
	Zone       string      `json:"zone" doc:"the zone for which the server was asked"`
	Name       string      `json:"qname" doc:"the name in the question: that of the request, an alias that it has, or a name server whose address is needed"`
	Type       Type        `json:"qtype" doc:"the type in the question"`
	Server     StepServer  `json:"server" doc:"who was asked"`
	Rcode      string      `json:"rcode,omitempty" doc:"reply code, if a reply came"`
	Answers    []DNSRecord `json:"answers" doc:"records of the answer; at most 50"`
	ReferralNS []string    `json:"referral_ns" doc:"the servers of the zone below, to which the server refers"`
	Glue       []DNSRecord `json:"glue" doc:"addresses of those servers that came along and that the server may know; at most 50"`
	LatencyMS  int64       `json:"latency_ms" min:"0" doc:"time from question to reply"`
	Error      string      `json:"error,omitempty" doc:"why the reply was of no use, or why none came"`
}

// A StepServer is a name server that was asked.
type StepServer struct {
	Name    string `json:"name" doc:"its name"`
	Address string `json:"address" doc:"the address that was asked"`
}

// walkDown goes from the root servers to the answer.
func (e *evidence) walkDown(ctx context.Context, env *diag.Env) {
	ctx, cancel := diag.Within(ctx, walkTimeout)
	defer cancel()
	it := env.Iterator()
	it.TCP, it.NoIPv4, it.NoIPv6 = e.request.Transport == resolver.TCP, e.request.IPVersion == 6, e.request.IPVersion == 4
	e.walk = it.Find(ctx, e.request.Name.FQDN(), uint16(e.request.Type), e.request.DNSSEC)
}

// askAuthority takes the answer from the servers that are responsible. It is an error only if no server on the way
// answered, such as without a connection to the Internet.
func (e *evidence) askAuthority(ctx context.Context, env *diag.Env) error {
	e.walkDown(ctx, env)
	if err := ctx.Err(); err != nil {
		return err
	}
	if !slices.ContainsFunc(e.walk.Hops, func(h resolver.Hop) bool { return h.Reply != nil }) {
		err := fmt.Errorf("walking to %s %s: %w", e.request.Type, e.request.Name, e.walk.Err)
		return unanswered(ctx, "the name servers from the root down to "+e.request.Name.String(), err)
	}
	e.reply = e.walk.Reply
	last := e.walk.Last
	e.who = Resolver{ID: Authoritative, Name: "Authoritative servers"}
	if last.Reply != nil {
		e.who.Name += " of " + zoneText(last.Zone)
		e.who.Address, e.who.Transport = last.Addr.Addr().String(), last.Transport
		e.truncated = last.Truncated
	}
	return nil
}

func zoneText(zone string) string {
	if zone == "." {
		return "the root"
	}
	return nameText(zone)
}

func steps(walk *resolver.Walk, now time.Time) []Step {
	list := []Step{}
	if walk == nil {
		return list
	}
	for _, h := range walk.Hops[:min(len(walk.Hops), maxSteps)] {
		s := Step{
			Zone: nameText(h.Zone), Name: nameText(h.Question.Name), Type: Type(h.Question.Qtype),
			Server: StepServer{nameText(h.Server), h.Addr.Addr().String()}, Answers: []DNSRecord{},
			ReferralNS: kit.Map(h.NS, nameText), Glue: NewDNSRecords(h.Glue, maxStepRecords, now),
			LatencyMS: max(0, h.Latency.Milliseconds()),
		}
		if h.Reply != nil {
			s.Rcode = dnsmsg.RcodeName(h.Reply.Rcode)
			s.Answers = NewDNSRecords(h.Reply.Answer, maxStepRecords, now)
		}
		if h.Err != nil {
			s.Error = diag.Reason(h.Err)
		}
		list = append(list, s)
	}
	return list
}

func walked(e *evidence) bool { return e.walk != nil }

// unreached reports whether the reply was synthesized because no responsible server replied.
func unreached(e *evidence) bool {
	return e.request.Resolver == Authoritative && walked(e) && e.walk.Last.Reply == nil
}

// compared reports whether there are two answers to compare: that of a resolver, and that of the
// servers that are responsible.
func compared(e *evidence) bool {
	return walked(e) && e.request.Resolver != Authoritative && e.walk.Err == nil && known(e) && resolved(e)
}

var walkRules = rule.Rules[*evidence]{{
	Code: "resolve.walk.unreachable", Severity: diag.Warning, StateIfFailed: diag.Unknown,
	Ref:   "RFC 1034 section 5.3.3, RFC 8914 section 4.23",
	Title: "No authoritative server answered", Requirement: "An authoritative server answered",
	Advice: "Check that the name servers run, and that the NS records and glue in the parent zone are right.",
	When:   walked,
	Fails: func(e *evidence) rule.Failures {
		if e.walk.Err == nil {
			return nil
		}
		return rule.Fail("Iterating from the root ended without an answer: %s.", diag.Reason(e.walk.Err))
	},
}, {
	Code: "resolve.walk.lame", Severity: diag.Warning, Ref: "RFC 1912 section 2.8, RFC 9499 section 7",
	Title: "Lame delegation", Requirement: "The servers that were asked are authoritative for their zones",
	Advice: "Load the zone on the server, or remove its NS record from the zone and from the parent zone.",
	When:   walked, Fails: faulty(lame, "is not authoritative for"),
}, {
	Code: "resolve.walk.silent", Severity: diag.Warning, StateIfFailed: diag.Unknown, Ref: "RFC 2182 section 3.1",
	Title: "Name server did not respond", Requirement: "The servers that were asked responded",
	Advice: "Check that the server runs and that firewalls allow DNS over UDP and TCP.", When: walked,
	Fails: faulty(func(h resolver.Hop) bool { return !lame(h) && !blocked(h) }, "did not respond for"),
}, {
	Code: "resolve.walk.private", Severity: diag.Warning, Ref: "RFC 1918 section 5, RFC 6890 section 2.2.2",
	Title: "Name server has an address that is not public", Requirement: "The name servers have public addresses",
	Advice: "Give the name server an address that can be reached from the Internet.", When: walked,
	Fails: faulty(blocked, "was not asked for"),
}, {
	Code: "resolve.walk.glue", Severity: diag.Warning, Ref: "RFC 9471 section 3.1",
	Title: "Glue missing", Requirement: "In-domain name servers have glue",
	Advice: "Register the address of the name server in the parent zone (glue).", When: walked, Fails: withoutGlue,
}, {
	Code: "resolve.walk.differs", Severity: diag.Info, Ref: "RFC 1034 section 3.6",
	Title:       "Resolver and authoritative servers differ",
	Requirement: "The resolver answers what the authoritative servers answer",
	Advice:      "After a change, wait until the TTL has passed. Some zones answer differently by location on purpose.",
	When:        compared,
	Fails: func(e *evidence) rule.Failures {
		if e.reply.Rcode != e.walk.Reply.Rcode {
			return rule.Fail("The resolver answers %s, the authoritative servers answer %s.",
				dnsmsg.RcodeName(e.reply.Rcode), dnsmsg.RcodeName(e.walk.Reply.Rcode))
		}
		_, theirs := dnsmsg.FollowAliases(e.walk.Reply, e.request.Name.FQDN(), uint16(e.request.Type))
		return rule.FailIf(
			!slices.Equal(dataSet(e.records), dataSet(theirs)),
			"The resolver and the authoritative servers answer with different records.",
		)
	},
}}

func blocked(h resolver.Hop) bool {
	_, is := errors.AsType[*diag.BlockedError](h.Err)
	return is
}

// lame reports whether a server does not serve its zone. The cause of SERVFAIL is unknown.
func lame(h resolver.Hop) bool {
	return errors.Is(h.Err, resolver.ErrLame) && (h.Reply == nil || h.Reply.Rcode != dns.RcodeServerFailure)
}

// faulty lists the servers that were of no use for a reason, each once for each zone.
func faulty(is func(resolver.Hop) bool, what string) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		return distinct(rule.FailEach(e.walk.Hops, func(h resolver.Hop) rule.Failures {
			if h.Err == nil || !is(h) {
				return nil
			}
			return rule.Fail("%s (%s) %s %s: %s.", nameText(h.Server), h.Addr.Addr(), what, zoneText(h.Zone),
				diag.Reason(h.Err)).About(nameText(h.Server))
		}))
	}
}

// distinct makes one of failures, each detail once.
func distinct(list rule.Failures) rule.Failures {
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(f rule.Failure) bool {
		again := seen[f.Detail]
		seen[f.Detail] = true
		return again
	}).Joined()
}

func withoutGlue(e *evidence) rule.Failures {
	return distinct(rule.FailEach(e.walk.Hops, func(h resolver.Hop) rule.Failures {
		return rule.FailEach(h.NS, func(name string) rule.Failures {
			named := func(rr dns.RR) bool { return dns.CanonicalName(rr.Header().Name) == name }
			missing := dns.IsSubDomain(h.Child, name) && !slices.ContainsFunc(h.Glue, named)
			return rule.FailIf(missing, "The referral of the servers of %s names %s without an address.",
				zoneText(h.Zone), nameText(name)).About(nameText(name))
		})
	}))
}

// dataSet is the data of records, in an order that does not depend on theirs.
func dataSet(rrs []dns.RR) []string {
	set := kit.Map(rrs, dataText)
	slices.Sort(set)
	return slices.Compact(set)
}
