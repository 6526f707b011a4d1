package zonecheck

import (
	"net/netip"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/zonecheck/survey"
)

var diversityRules = diag.Rules[*evidence]{{
	Code: "zone.diversity.ipv4", Severity: diag.Error, Weight: 3, Ref: "Zonemaster DELEGATION01, RFC 3901 section 3",
	Title: "No name server with an IPv4 address", Requirement: "The zone can be reached over IPv4",
	Advice: "Give a name server an IPv4 address: resolvers without IPv6 cannot reach the zone.",
	When:   familyKnown(false),
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(len(e.family(false)) == 0, "None of the name servers of %s has an IPv4 address.", e.Domain)
	},
}, {
	Code: "zone.diversity.ipv6", Severity: diag.Warning, Weight: 2, Ref: "Zonemaster DELEGATION01, RFC 3901 section 3",
	Title: "No name server with an IPv6 address", Requirement: "The zone can be reached over IPv6",
	Advice: "Give the name servers IPv6 addresses, and add them to the glue.", When: familyKnown(true),
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(len(e.family(true)) == 0, "None of the name servers of %s has an IPv6 address.", e.Domain)
	},
}, {
	Code: "zone.diversity.prefix", Severity: diag.Warning, Weight: 2,
	Ref:         "Zonemaster CONNECTIVITY04, RFC 2182 section 3.1",
	Title:       "All name servers in one IPv4 network",
	Requirement: "The IPv4 addresses of the name servers are in different networks",
	Advice:      "Move a name server to another network: one routing failure makes all of them unreachable.",
	When:        func(e *evidence) bool { return len(e.Servers) > 1 && len(e.family(false)) > 1 },
	Fails:       func(e *evidence) diag.Failures { return onePrefix(e.family(false)) },
}, {
	Code: "zone.diversity.asn", Severity: diag.Warning, Weight: 2,
	Reads:       []diag.Source{parents, recordsNS, hosts, servers, origins},
	Ref:         "Zonemaster CONNECTIVITY03, RFC 2182 section 3.1",
	Title:       "All name servers in one autonomous system",
	Requirement: "The name servers are in different autonomous systems",
	Advice:      "Use a second provider for one of the name servers: a network operator can fail as a whole.",
	When:        func(e *evidence) bool { return len(e.Servers) > 1 && len(e.asns()) > 1 },
	Fails: func(e *evidence) diag.Failures {
		list := e.asns()
		return diag.FailIf(len(slices.Compact(slices.Clone(list))) == 1,
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

func onePrefix(list []netip.Addr) diag.Failures {
	first := prefixOf(list[0])
	for _, ip := range list {
		if prefixOf(ip) != first {
			return nil
		}
	}
	return diag.Fail("All name servers have addresses in %s.", first)
}

// asns lists who announces each address that was examined, sorted; it is empty unless that is known of all.
func (e *evidence) asns() []string {
	var list []string
	for _, ad := range e.Addresses {
		if ad.Origin.ASN == "" {
			return nil
		}
		list = append(list, ad.Origin.ASN)
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
	p, err := ip.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}
