package zonecheck

import (
	"encoding/hex"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/internal/survey"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/miekg/dns"
)

var securityRules = rule.Rules[*evidence]{{
	Code: "zone.ns.recursion", Severity: diag.Error, Weight: 5, Reads: []rule.Source{recursion},
	Ref:   "Zonemaster NAMESERVER01, RFC 5358 section 4",
	Title: "Open recursion on a name server", Requirement: "No name server offers open recursion",
	Advice: "Disable recursion, or allow it to your own networks only: open resolvers amplify attacks.",
	When:   answered(survey.ProbeRecursion),
	Fails: atAddresses(func(_ *evidence, ad *survey.Address) string {
		if !recurses(ad) {
			return ""
		}
		name := ad.Replies[survey.ProbeRecursion].Msg.Question[0].Name
		return "resolved " + survey.BareName(name) + ", which it does not serve, for any client"
	}),
}, {
	Code: "zone.axfr.open", Severity: diag.Warning, Weight: 3, Reads: []rule.Source{transfer},
	Ref:   "Zonemaster NAMESERVER03, RFC 5936 section 5",
	Title: "Zone transfer open to anyone", Requirement: "Zone transfers are restricted",
	Advice: "Allow zone transfers to the secondaries only, unless the zone is meant to be public as a whole.",
	When:   anyServing(transferAnswered),
	Fails: atAddresses(func(e *evidence, ad *survey.Address) string {
		return view.TextIf(transfers(ad, e.Zone), "transfers the whole zone to anyone (AXFR)")
	}),
}, {
	Code: "zone.ns.cookies.wrong", Severity: diag.Error, Weight: 2, Ref: "RFC 7873 section 5.3",
	Title: "DNS cookie not returned as sent", Requirement: "DNS cookies are returned as they were sent",
	Advice: "Replace the server software: resolvers take its replies for forged ones and discard them.",
	When:   anyServing(func(ad *survey.Address) bool { return ad.Replies[survey.ProbeIdentity].EDNS() != nil }),
	Fails: atServing(func(_ *evidence, ad *survey.Address) string {
		cookie, ok := option[*dns.EDNS0_COOKIE](ad.Replies[survey.ProbeIdentity])
		return view.TextIf(ok && !strings.HasPrefix(strings.ToLower(cookie.Cookie), survey.ClientCookie),
			"answers with a cookie that is not the client's")
	}),
}}

// recurses reports whether a server resolved a name outside its own zones. The flag RA alone proves nothing, nor
// does an answer of a server that also serves the parent zone.
func recurses(ad *survey.Address) bool {
	r := ad.Replies[survey.ProbeRecursion]
	return r.Rcode() == dns.RcodeSuccess && r.Msg.RecursionAvailable && !r.Msg.Authoritative &&
		len(r.Msg.Question) == 1 &&
		slices.ContainsFunc(r.Msg.Answer, func(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeSOA })
}

// transfers reports whether a server began to transfer the zone (RFC 5936 section 2.2).
func transfers(ad *survey.Address, zone string) bool {
	r := ad.Replies[survey.ProbeTransfer]
	return r.Rcode() == dns.RcodeSuccess && len(survey.Set[*dns.SOA](r.Msg.Answer, zone)) > 0
}

func versionOf(r survey.Reply) string {
	if r.Rcode() != dns.RcodeSuccess {
		return ""
	}
	for _, rr := range r.Msg.Answer {
		if txt, ok := rr.(*dns.TXT); ok {
			return dnsmsg.TXT(txt)
		}
	}
	return ""
}

// option returns the first option of a kind in the OPT record of a reply.
func option[O dns.EDNS0](r survey.Reply) (o O, found bool) {
	if opt := r.EDNS(); opt != nil {
		for _, one := range opt.Option {
			if o, found = one.(O); found {
				return o, true
			}
		}
	}
	return o, false
}

// nsidOf returns the identifier of a server.
func nsidOf(r survey.Reply) string {
	id, ok := option[*dns.EDNS0_NSID](r)
	if !ok {
		return ""
	}
	b, err := hex.DecodeString(id.Nsid)
	if err != nil || slices.ContainsFunc(b, func(c byte) bool { return c < ' ' || c > '~' }) {
		return strings.ToLower(id.Nsid)
	}
	return string(b)
}

// aaaaKnown reports whether it is known how the servers take AAAA queries: one was answered, or A was.
func aaaaKnown(e *evidence) bool {
	return determined(survey.ProbeAAAA)(e) || determined(survey.ProbeA)(e) && asked(survey.ProbeAAAA)(e)
}

func (e *evidence) deniesAAAA(ad *survey.Address) bool {
	return e.answerTo(ad.Replies[survey.ProbeAAAA], dns.TypeAAAA) == "NXDOMAIN"
}

func (e *evidence) dropsAAAA(ad *survey.Address) bool {
	return ad.Replies[survey.ProbeAAAA].Result == survey.TimedOut && ad.Replies[survey.ProbeA].OK() &&
		!e.undecided(dns.TypeAAAA)
}

func (e *evidence) failsAAAA(ad *survey.Address) bool {
	rcode := ad.Replies[survey.ProbeAAAA].Rcode()
	return rcode > 0 && rcode != dns.RcodeNameError && ad.Replies[survey.ProbeA].Rcode() == dns.RcodeSuccess
}

var behaviourRules = rule.Rules[*evidence]{{
	Code: "zone.ns.aaaa.nxdomain", Severity: diag.Error, Weight: 5,
	Ref:   "Zonemaster NAMESERVER05, RFC 4074 section 4.2",
	Title: "NXDOMAIN for AAAA queries", Requirement: "No name server answers NXDOMAIN for AAAA queries",
	Advice: "Replace the server software: resolvers conclude that the whole domain does not exist.", When: aaaaKnown,
	Fails: atServing(func(e *evidence, ad *survey.Address) string {
		return view.TextIf(e.deniesAAAA(ad), "answers NXDOMAIN for the AAAA records of "+e.Domain.String()+", which exists")
	}),
}, {
	Code: "zone.ns.aaaa.dropped", Severity: diag.Error, Weight: 5, Ref: "Zonemaster NAMESERVER05, RFC 4074 section 4.1",
	Title: "AAAA queries are dropped", Requirement: "Every name server answers AAAA queries",
	Advice: "Replace the server software, or the firewall in front of it: clients run into timeouts.", When: aaaaKnown,
	Fails: atServing(func(e *evidence, ad *survey.Address) string {
		return view.TextIf(e.dropsAAAA(ad), "answers A queries and drops AAAA queries")
	}),
}, {
	Code: "zone.ns.aaaa.failing", Severity: diag.Error, Weight: 5, Ref: "Zonemaster NAMESERVER05, RFC 4074 section 4.3",
	Title: "Error reply for AAAA queries", Requirement: "No name server answers AAAA queries with an error",
	Advice: "Replace the server software: without AAAA records it must answer NOERROR.", When: aaaaKnown,
	Fails: atServing(func(e *evidence, ad *survey.Address) string {
		rcode := dnsmsg.RcodeName(ad.Replies[survey.ProbeAAAA].Rcode())
		return view.TextIf(e.failsAAAA(ad), "answers "+rcode+" for AAAA queries and NOERROR for A queries")
	}),
}, {
	Code: "zone.ns.case.sensitive", Severity: diag.Error, Weight: 3, Reads: []rule.Source{servers},
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
	Code: "zone.ns.case.changed", Severity: diag.Warning, Weight: 1, Reads: []rule.Source{servers},
	Ref:         "Zonemaster NAMESERVER08, RFC 1035 section 4.1.1, draft-vixie-dnsext-dns0x20",
	Title:       "Letter case of the query name is changed",
	Requirement: "The query name is returned as it was sent",
	Advice: "Replace the server software, or the load balancer in front of it: resolvers that mix upper and lower case " +
		"against forgery discard its replies.",
	When: answered(survey.ProbeCase),
	Fails: atServing(saying("changes the letter case of the query name in its reply",
		func(ad *survey.Address) bool { return ad.Replies[survey.ProbeCase].CaseChanged })),
}, {
	Code: "zone.names.within", Severity: diag.Error, Weight: 3, Reads: []rule.Source{within},
	Ref:   "RFC 8020 section 2, RFC 4592 section 2.2.2",
	Title: "NXDOMAIN for a name with names below it", Requirement: "Empty non-terminals are answered with NOERROR",
	Advice: "Replace the server software: resolvers that trust the NXDOMAIN lose all names below.",
	When: func(e *evidence) bool {
		return slices.ContainsFunc(slices.Collect(maps.Values(e.Within)), survey.Reply.Settled)
	},
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(slices.Sorted(maps.Keys(e.Within)), func(name string) rule.Failures {
			if e.Within[name].Rcode() != dns.RcodeNameError {
				return nil
			}
			return about(name, "is answered with NXDOMAIN, although names below it exist")
		})
	},
}}

var diversityRules = rule.Rules[*evidence]{{
	Code: "zone.diversity.ipv4", Severity: diag.Error, Weight: 3, Ref: "Zonemaster DELEGATION01, RFC 3901 section 3",
	Title: "No name server with an IPv4 address", Requirement: "The zone can be reached over IPv4",
	Advice: "Give a name server an IPv4 address: resolvers without IPv6 cannot reach the zone.",
	When:   familyKnown(false),
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(len(e.family(false)) == 0, "None of the name servers of %s has an IPv4 address.", e.Domain)
	},
}, {
	Code: "zone.diversity.ipv6", Severity: diag.Warning, Weight: 2, Ref: "Zonemaster DELEGATION01, RFC 3901 section 3",
	Title: "No name server with an IPv6 address", Requirement: "The zone can be reached over IPv6",
	Advice: "Give the name servers IPv6 addresses, and add them to the glue.", When: familyKnown(true),
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(len(e.family(true)) == 0, "None of the name servers of %s has an IPv6 address.", e.Domain)
	},
}, {
	Code: "zone.diversity.prefix", Severity: diag.Warning, Weight: 2,
	Ref:         "Zonemaster CONNECTIVITY04, RFC 2182 section 3.1",
	Title:       "All name servers in one IPv4 network",
	Requirement: "The IPv4 addresses of the name servers are in different networks",
	Advice:      "Move a name server to another network: one routing failure makes all of them unreachable.",
	When:        func(e *evidence) bool { return len(e.Servers) > 1 && len(e.family(false)) > 1 },
	Fails:       func(e *evidence) rule.Failures { return onePrefix(e.family(false)) },
}, {
	Code: "zone.diversity.asn", Severity: diag.Warning, Weight: 2,
	Reads:       []rule.Source{parents, recordsNS, hosts, servers, origins},
	Ref:         "Zonemaster CONNECTIVITY03, RFC 2182 section 3.1",
	Title:       "All name servers in one autonomous system",
	Requirement: "The name servers are in different autonomous systems",
	Advice:      "Use a second provider for one of the name servers: a network operator can fail as a whole.",
	When:        func(e *evidence) bool { return len(e.Servers) > 1 && len(e.asns()) > 1 },
	Fails: func(e *evidence) rule.Failures {
		list := e.asns()
		return rule.FailIf(len(slices.Compact(slices.Clone(list))) == 1,
			"All addresses of the name servers are announced by AS%s.", list[0])
	},
}}

func (e *evidence) family(ipv6 bool) []netip.Addr {
	var list []netip.Addr
	for _, ad := range e.Addresses {
		if ad.IP.Is6() == ipv6 {
			list = append(list, ad.IP)
		}
	}
	return list
}

// familyKnown is the condition that it is known whether a server has an address of a version of IP: there
// is one, or all lookups were answered.
func familyKnown(ipv6 bool) func(*evidence) bool {
	return func(e *evidence) bool {
		open := func(s *survey.Server) bool {
			a, ok := e.Hosts[s.Name]
			return ok && (ipv6 && a.V6.Err() != nil || !ipv6 && a.V4.Err() != nil)
		}
		return len(e.family(ipv6)) > 0 || addressed(e) && !slices.ContainsFunc(e.Servers, open)
	}
}

func onePrefix(list []netip.Addr) rule.Failures {
	first := prefixOf(list[0])
	other := slices.ContainsFunc(list, func(ip netip.Addr) bool { return prefixOf(ip) != first })
	return rule.FailIf(!other, "All name servers have addresses in %s.", first)
}

// asns lists the networks that announce the examined addresses, sorted; empty unless all are known.
func (e *evidence) asns() []string {
	list := kit.Map(e.Addresses, func(ad *survey.Address) string { return ad.Origin.ASN })
	if slices.Contains(list, "") {
		return nil
	}
	slices.Sort(list)
	return list
}

// prefixOf returns the network of an address that is announced as one at least: smaller ones are not
// accepted between providers.
func prefixOf(ip netip.Addr) netip.Prefix {
	bits := 24
	if ip.Is6() {
		bits = 48
	}
	p, _ := ip.Prefix(bits)
	return p
}
