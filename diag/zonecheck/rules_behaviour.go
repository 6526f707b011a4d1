package zonecheck

import (
	"fmt"
	"maps"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/zonecheck/survey"
	"github.com/miekg/dns"
)

// aaaaKnown reports whether it is known how the servers take AAAA queries: one was answered, or A was.
func aaaaKnown(e *evidence) bool {
	return determined(survey.ProbeAAAA)(e) || determined(survey.ProbeA)(e) && asked(survey.ProbeAAAA)(e)
}

// typeFails reports whether a failing AAAA query is the fault of the server that was asked: others answered it, or the
// one for another name failed too. Else nobody knows the records of this one name.
func (e *evidence) typeFails() bool {
	return determined(survey.ProbeAAAA)(e) || !e.at("www."+e.Zone, dns.TypeAAAA).Settled()
}

// behaviourRules are about how the servers of the zone answer.
var behaviourRules = diag.Rules[*evidence]{{
	Code: "zone.ns.aaaa.nxdomain", Severity: diag.Error, Weight: 5,
	Ref:   "Zonemaster NAMESERVER05, RFC 4074 section 4.2",
	Title: "NXDOMAIN for AAAA queries", Requirement: "No name server answers NXDOMAIN for AAAA queries",
	Advice: "Replace the server software: resolvers conclude that the whole domain does not exist.", When: aaaaKnown,
	Fails: atServing(func(e *evidence, ad *survey.Address) string {
		if ad.Replies[survey.ProbeAAAA].Rcode() == dns.RcodeNameError {
			return "answers NXDOMAIN for the AAAA records of " + e.Domain.String() + ", which exists"
		}
		return ""
	}),
}, {
	Code: "zone.ns.aaaa.dropped", Severity: diag.Error, Weight: 5, Ref: "Zonemaster NAMESERVER05, RFC 4074 section 4.1",
	Title: "AAAA queries are dropped", Requirement: "Every name server answers AAAA queries",
	Advice: "Replace the server software, or the firewall in front of it: clients run into timeouts.", When: aaaaKnown,
	Fails: atServing(func(e *evidence, ad *survey.Address) string {
		dropped := ad.Replies[survey.ProbeAAAA].Result == survey.TimedOut
		if dropped && ad.Replies[survey.ProbeA].OK() && e.typeFails() {
			return "answers A queries and drops AAAA queries"
		}
		return ""
	}),
}, {
	Code: "zone.ns.aaaa.failing", Severity: diag.Error, Weight: 5, Ref: "Zonemaster NAMESERVER05, RFC 4074 section 4.3",
	Title: "Error reply for AAAA queries", Requirement: "No name server answers AAAA queries with an error",
	Advice: "Replace the server software: without AAAA records it must answer NOERROR.", When: aaaaKnown,
	Fails: atServing(func(e *evidence, ad *survey.Address) string {
		rcode := ad.Replies[survey.ProbeAAAA].Rcode()
		if rcode > 0 && rcode != dns.RcodeNameError && ad.Replies[survey.ProbeA].Rcode() == dns.RcodeSuccess &&
			e.typeFails() {
			return "answers " + diag.RcodeName(rcode) + " for AAAA queries and NOERROR for A queries"
		}
		return ""
	}),
}, {
	Code: "zone.ns.case.sensitive", Severity: diag.Error, Weight: 3, Reads: []diag.Source{servers},
	Ref:   "Zonemaster NAMESERVER09, RFC 4343 section 3",
	Title: "Names are matched case-sensitively", Requirement: "The letter case of the query name does not matter",
	Advice: "Replace the server software: resolvers mix the case of letters on purpose.", When: asked(survey.ProbeCase),
	Fails: atServing(func(e *evidence, ad *survey.Address) string {
		mixed, plain := ad.Replies[survey.ProbeCase], ad.Replies[survey.ProbeSOA].Standing(e.Zone)
		if !ad.Asked(survey.ProbeCase) || plain != survey.Authoritative ||
			mixed.Standing(e.Zone) == survey.Authoritative && len(mixed.Msg.Answer) > 0 ||
			len(ad.Replies[survey.ProbeSOA].Msg.Answer) == 0 {
			return ""
		}
		return fmt.Sprintf("answers for %s, and not for %s", e.Domain, survey.MixedCase(e.Domain.String()))
	}),
}, {
	Code: "zone.names.within", Severity: diag.Error, Weight: 3, Reads: []diag.Source{within},
	Ref:   "RFC 8020 section 2, RFC 4592 section 2.2.2",
	Title: "NXDOMAIN for a name with names below it", Requirement: "Empty non-terminals are answered with NOERROR",
	Advice: "Replace the server software: resolvers that trust the NXDOMAIN lose all names below.",
	When: func(e *evidence) bool {
		for _, r := range e.Within {
			if r.Settled() {
				return true
			}
		}
		return false
	},
	Fails: func(e *evidence) diag.Failures {
		return diag.FailEach(slices.Sorted(maps.Keys(e.Within)), func(name string) diag.Failures {
			if e.Within[name].Rcode() != dns.RcodeNameError {
				return nil
			}
			return about(name, "is answered with NXDOMAIN, although names below it exist")
		})
	},
}}

// scopeOf returns the length of the prefix that an answer holds for.
func scopeOf(r survey.Reply) uint8 {
	if opt := r.EDNS(); opt != nil {
		for _, o := range opt.Option {
			if subnet, ok := o.(*dns.EDNS0_SUBNET); ok {
				return subnet.SourceScope
			}
		}
	}
	return 0
}
