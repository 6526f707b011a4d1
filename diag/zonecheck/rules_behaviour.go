package zonecheck

import (
	"fmt"
	"maps"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/diagkit/diagkit/diag/zonecheck/survey"
	"github.com/miekg/dns"
)

// aaaaKnown reports whether it is known how the servers take AAAA queries: one was answered, or A was.
func aaaaKnown(e *evidence) bool {
	return determined(survey.ProbeAAAA)(e) || determined(survey.ProbeA)(e) && asked(survey.ProbeAAAA)(e)
}

// behaviourRules are about how the servers of the zone answer.
var behaviourRules = diag.Rules[*evidence]{
	{
		Code: "zone.ns.aaaa.nxdomain", Severity: diag.Error, Weight: 5, Category: categoryNameserver,
		Title:       "NXDOMAIN for AAAA queries",
		Requirement: "No name server answers NXDOMAIN for AAAA queries",
		Ref:         "Zonemaster NAMESERVER05, RFC 4074 section 4.2",
		Advice:      "Replace the server software: resolvers conclude that the whole domain does not exist.",
		When:        aaaaKnown,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.serving, func(ad *survey.Address) string {
				if ad.Replies[survey.ProbeAAAA].Rcode() == dns.RcodeNameError {
					return "answers NXDOMAIN for the AAAA records of " + e.Domain.String() + ", which exists"
				}
				return ""
			})
		},
	},
	{
		Code: "zone.ns.aaaa.dropped", Severity: diag.Error, Weight: 5, Category: categoryNameserver,
		Title:       "AAAA queries are dropped",
		Requirement: "Every name server answers AAAA queries",
		Ref:         "Zonemaster NAMESERVER05, RFC 4074 section 4.1",
		Advice:      "Replace the server software, or the firewall in front of it: clients run into timeouts.",
		When:        aaaaKnown,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.serving, func(ad *survey.Address) string {
				if ad.Replies[survey.ProbeAAAA].Result == survey.TimedOut && ad.Replies[survey.ProbeA].OK() {
					return "answers A queries and drops AAAA queries"
				}
				return ""
			})
		},
	},
	{
		Code: "zone.ns.aaaa.failing", Severity: diag.Error, Weight: 5, Category: categoryNameserver,
		Title:       "Error reply for AAAA queries",
		Requirement: "No name server answers AAAA queries with an error",
		Ref:         "Zonemaster NAMESERVER05, RFC 4074 section 4.3",
		Advice:      "Replace the server software: without AAAA records it must answer NOERROR.",
		When:        aaaaKnown,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.serving, func(ad *survey.Address) string {
				rcode := ad.Replies[survey.ProbeAAAA].Rcode()
				if rcode > 0 && rcode != dns.RcodeNameError && ad.Replies[survey.ProbeA].Rcode() == dns.RcodeSuccess {
					return "answers " + diag.RcodeName(rcode) + " for AAAA queries and NOERROR for A queries"
				}
				return ""
			})
		},
	},
	{
		Code: "zone.ns.case.changed", Severity: diag.Info, Category: categoryNameserver,
		Title:       "Letter case of the query name not preserved",
		Requirement: "The name servers preserve the letter case of the query name",
		Ref:         "Zonemaster NAMESERVER08, RFC 4343 section 3",
		Advice:      "Replace the server software: resolvers that use 0x20 encoding against forgery have to ask twice.",
		When:        answered(survey.ProbeCase),
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.serving, func(ad *survey.Address) string {
				if ad.Replies[survey.ProbeCase].CaseChanged {
					return "changes the letter case of the query name in its reply"
				}
				return ""
			})
		},
	},
	{
		Code: "zone.ns.case.sensitive", Severity: diag.Error, Weight: 3, Category: categoryNameserver,
		Title:       "Names are matched by letter case",
		Requirement: "The letter case of the query name does not matter",
		Ref:         "Zonemaster NAMESERVER09, RFC 4343 section 3",
		Advice:      "Replace the server software: resolvers mix letter case on purpose.",
		When:        asked(survey.ProbeCase),
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.serving, func(ad *survey.Address) string {
				mixed, plain := ad.Replies[survey.ProbeCase], ad.Replies[survey.ProbeSOA].Standing(e.Zone)
				if !ad.Asked(survey.ProbeCase) || plain != survey.Authoritative ||
					mixed.Standing(e.Zone) == survey.Authoritative && len(mixed.Msg.Answer) > 0 ||
					len(ad.Replies[survey.ProbeSOA].Msg.Answer) == 0 {
					return ""
				}
				return fmt.Sprintf("answers for %s, and not for %s", e.Domain, survey.MixedCase(e.Domain.String()))
			})
		},
	},
	{
		Code: "zone.ns.subnet", Severity: diag.Info, Category: categoryNameserver,
		Title:       "Answers depend on the network of the client",
		Requirement: "The answers do not depend on the network of the client",
		Ref:         "RFC 7871 section 7.2.1",
		Advice:      "Expect other answers in other places: the name servers direct clients to machines nearby.",
		When:        told(1, survey.ProbeSubnet),
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.serving, func(ad *survey.Address) string {
				if bits := scopeOf(ad.Replies[survey.ProbeSubnet]); bits > 0 {
					return fmt.Sprintf("answered for clients of one /%d network (EDNS Client Subnet)", bits)
				}
				return ""
			})
		},
	},
	{
		Code: "zone.ns.unrelated", Severity: diag.Info, Category: categoryNameserver,
		Title:       "Out-of-bailiwick records in replies",
		Requirement: "Replies have no records of other domains",
		Ref:         "RFC 5452 section 6, RFC 2181 section 5.4.1",
		Advice:      "Remove records of other domains from the name server: resolvers discard them.",
		When:        served,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.serving, func(ad *survey.Address) string {
				for _, r := range ad.Replies[:survey.ProbeRecursion] {
					if name := e.unrelated(r); name != "" {
						return "adds records of " + diag.Quote(survey.BareName(name)) + " to its replies"
					}
				}
				return ""
			})
		},
	},
	{
		Code: "zone.names.within", Severity: diag.Error, Weight: 3, Category: categoryNameserver,
		Title:       "NXDOMAIN for a name that has names below it",
		Requirement: "Empty non-terminals are answered with NOERROR",
		Ref:         "RFC 8020 section 2, RFC 4592 section 2.2.2",
		Advice:      "Replace the server software: resolvers that trust the NXDOMAIN lose all names below.",
		When: func(e *evidence) bool {
			for _, r := range e.Within {
				if settled(r) {
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
	},
}

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

// unrelated returns the owner of a record that is not of the zone and that nothing in the answer calls
// for. Addresses of servers and mail servers in other zones are called for, unless they are wrong.
func (e *evidence) unrelated(r survey.Reply) string {
	if !r.OK() {
		return ""
	}
	aliased := map[string]bool{}
	for _, rr := range r.Msg.Answer {
		if alias, ok := rr.(*dns.CNAME); ok {
			aliased[dns.CanonicalName(alias.Target)] = true
		}
	}
	for _, rr := range slices.Concat(r.Msg.Answer, r.Msg.Ns, r.Msg.Extra) {
		owner := dns.CanonicalName(rr.Header().Name)
		if rr.Header().Rrtype == dns.TypeOPT || dns.IsSubDomain(e.Zone, owner) || aliased[owner] || len(aliased) > 0 &&
			rr.Header().Rrtype == dns.TypeSOA {
			continue
		}
		ip := resolver.AddressIn(rr)
		if a, known := e.Hosts[owner]; known && ip.IsValid() && (len(a.All()) == 0 || slices.Contains(a.All(), ip)) {
			continue
		}
		return owner
	}
	return ""
}
