package zonecheck

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/internal/survey"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/miekg/dns"
)

var recordRules = rule.Rules[*evidence]{{
	Code: "zone.records.unknown", Severity: diag.Warning, StateIfFailed: diag.Unknown,
	Ref:   "RFC 1034 section 4.3.1, RFC 2181 section 9",
	Title: "Records could not be retrieved", Requirement: "All basic record types can be retrieved",
	Advice: "Fix the name servers: they must answer for every record type, over TCP where UDP is too small.",
	When:   served, Fails: (*evidence).unknownRecords,
}, {
	Code: "zone.apex.alias", Severity: diag.Error, Weight: 5,
	Reads: []rule.Source{servers, recordsNS, recordsA, recordsAAAA, recordsMX, recordsTXT},
	Ref:   "RFC 1034 section 3.6.2, RFC 2181 section 10.1",
	Title: "CNAME at the zone apex", Requirement: "The zone apex has no CNAME",
	Advice: "Replace the CNAME record with address records, or with an HTTPS record in alias mode.", When: served,
	Fails: atServing(func(e *evidence, ad *survey.Address) string {
		for _, r := range ad.Replies[:survey.ProbeAbsent] {
			if !r.OK() {
				continue
			}
			if list := survey.Set[*dns.CNAME](r.Msg.Answer, e.Zone); len(list) > 0 {
				return fmt.Sprintf("has a CNAME from %s to %s", e.Domain, phrase.Quote(survey.BareName(list[0].Target)))
			}
		}
		return ""
	}),
}, {
	Code: "zone.records.address.differ", Severity: diag.Info, Ref: "RFC 1034 section 4.3.5",
	Title: "Name servers have different address records", Requirement: "All name servers have the same address records",
	Advice: "Check that all name servers have the same zone, unless they direct clients to machines nearby.",
	When:   answeredByAtLeast(2, survey.ProbeA),
	Fails: func(e *evidence) rule.Failures {
		return slices.Concat(e.differing(survey.ProbeA, dns.TypeA), e.differing(survey.ProbeAAAA, dns.TypeAAAA),
			e.comparing("A records of www", e.wwwRecords))
	},
}, {
	Code: "zone.records.private", Severity: diag.Warning, Weight: 1, Ref: "RFC 1918 section 5, RFC 6890",
	Title: "Private address in a public zone", Requirement: "The addresses of the domain are public",
	Advice: "Remove private addresses from the public zone: elsewhere they lead to other machines.",
	When:   func(e *evidence) bool { return len(e.addressesOf(e.Zone))+len(e.addressesOf("www."+e.Zone)) > 0 },
	Fails: func(e *evidence) rule.Failures {
		var list rule.Failures
		for _, name := range []string{e.Zone, "www." + e.Zone} {
			for _, ip := range e.addressesOf(name) {
				if internal(ip) && !e.Public(ip) {
					list = append(list, about(name, "has the private address "+ip.String())...)
				}
			}
		}
		return list
	},
}, {
	Code: "zone.wildcard", Severity: diag.Info, Reads: []rule.Source{absent}, Ref: "RFC 4592 section 2.1",
	Title: "Wildcard answers for any name", Requirement: "Names without records do not exist",
	Advice: "Check that the wildcard is intended: it answers for every misspelled name.",
	When:   determined(survey.ProbeAbsent),
	Fails: atServing(func(e *evidence, ad *survey.Address) string {
		r := ad.Replies[survey.ProbeAbsent]
		return view.TextIf(r.Rcode() == dns.RcodeSuccess && len(r.Msg.Answer) > 0,
			fmt.Sprintf("has a wildcard: %s.%s, a made-up name, has records", survey.AbsentLabel, e.Domain))
	}),
}, {
	Code: "zone.zonemd", Severity: diag.Warning, Weight: 1, Reads: []rule.Source{content}, Ref: "RFC 8976 section 4",
	Title:       "ZONEMD record of an older zone version",
	Requirement: "The ZONEMD record belongs to the present zone version",
	Advice:      "Have the signer update the ZONEMD record with each change of the zone.",
	When:        func(e *evidence) bool { return hasSOA(e) && hasType(dns.TypeZONEMD)(e) },
	Fails: func(e *evidence) rule.Failures {
		digests := survey.Set[*dns.ZONEMD](e.at(e.Zone, dns.TypeZONEMD).Msg.Answer, e.Zone)
		return rule.FailEach(digests, func(md *dns.ZONEMD) rule.Failures {
			return rule.FailIf(!e.hasSerial(md.Serial), "The ZONEMD record is for serial number %d, and the zone has %d.",
				md.Serial, e.soa().Serial)
		})
	},
}}

// carriers is the network between providers and their customers (RFC 6598).
var carriers = netip.MustParsePrefix("100.64.0.0/10")

// internal reports whether an address leads somewhere else in each network.
func internal(ip netip.Addr) bool {
	return ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsUnspecified() || carriers.Contains(ip)
}

func (e *evidence) addressesOf(name string) []netip.Addr {
	replies := []survey.Reply{e.at(name, dns.TypeAAAA)}
	for _, ad := range e.serving {
		if name == e.Zone {
			replies = append(replies, ad.Replies[survey.ProbeA], ad.Replies[survey.ProbeAAAA])
		} else {
			replies = append(replies, ad.Replies[survey.ProbeWWW])
		}
	}
	seen := map[netip.Addr]bool{}
	for _, r := range replies {
		if r.OK() {
			for _, rr := range r.Msg.Answer {
				if ip := resolver.AddressIn(rr); ip.IsValid() {
					seen[ip] = true
				}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(seen), netip.Addr.Compare)
}

// wwwRecords returns the aliases and addresses that a server gave for www; nil if it did not say.
func (e *evidence) wwwRecords(ad *survey.Address) []dns.RR {
	r := ad.Replies[survey.ProbeWWW]
	if !r.Settled() {
		return nil
	}
	name := "www." + e.Zone
	return append(survey.RRSet(r.Msg.Answer, name, dns.TypeCNAME), survey.RRSet(r.Msg.Answer, name, dns.TypeA)...)
}

// longChain is the number of aliases that some resolvers reject.
const longChain = 7

// followed reports whether any chain of aliases was followed to its end, or to where no end is in sight.
func followed(e *evidence) bool {
	return slices.ContainsFunc(e.Chains, func(c survey.Chain) bool {
		return c.Err == nil || errors.Is(c.Err, survey.ErrLong)
	})
}

var aliasRules = rule.Rules[*evidence]{{
	Code: "zone.alias.loop", Severity: diag.Error, Weight: 3, Ref: "RFC 1034 section 3.6.2",
	Title: "CNAME loop", Requirement: "No CNAME leads back to itself",
	Advice: "Point the CNAME to a name with addresses.", When: followed,
	Fails: eachChain(func(c survey.Chain) string {
		return view.TextIf(c.Loop, "is an alias that leads back to "+survey.BareName(c.End()))
	}),
}, {
	Code: "zone.alias.long", Severity: diag.Warning, Weight: 1, Ref: "RFC 1034 section 5.2.2",
	Title: "Long CNAME chain", Requirement: "No CNAME chain is longer than resolvers follow",
	Advice: "Point the first CNAME to the last name of the chain: some resolvers give up after eight.", When: followed,
	Fails: eachChain(func(c survey.Chain) string {
		return view.TextIf(!c.Loop && len(c.Targets) > longChain,
			"is the start of a chain of at least "+phrase.Count(len(c.Targets), "CNAME"))
	}),
}, {
	Code: "zone.alias.literal", Severity: diag.Error, Weight: 3, Ref: "RFC 1035 section 3.3.1",
	Title: "CNAME record with an address or a URL", Requirement: "CNAME records have the names of hosts",
	Advice: "Write an address in an A or AAAA record, and the name of the host alone in a CNAME record. A redirect to " +
		"a URL is made by a web server.",
	When: followed, Fails: literalAliases,
}, {
	Code: "zone.alias.dangling", Severity: diag.Warning, Weight: 2, Ref: "RFC 1912 section 2.4",
	Title: "Dangling CNAME", Requirement: "No CNAME leads to a name that does not exist",
	Advice: "Remove the CNAME: anyone who registers its target can answer for yours.", When: followed,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.Chains, func(c survey.Chain) rule.Failures {
			if !c.NXDomain || len(c.Targets) == 0 || e.misreadAlias(c) != "" || e.lacksDot(c.End()) {
				return nil
			}
			f := about(c.Name, "is an alias of "+phrase.Quote(survey.BareName(c.End()))+", which does not exist")
			f[0].Advice = e.danglingAdvice(c.End())
			return f
		})
	},
}}

func eachChain(wrong func(survey.Chain) string) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		return rule.FailEach(e.Chains, func(c survey.Chain) rule.Failures { return about(c.Name, wrong(c)) })
	}
}
