package zonecheck

import (
	"net/netip"
	"slices"

	"github.com/diagkit/diagkit/diag"
)

// diversityRules are about how the servers are spread.
var diversityRules = diag.Rules[*evidence]{
	{
		Code: "zone.diversity.ipv4", Severity: diag.Error, Weight: 3, Category: categoryNameserver,
		Requirement: "The zone can be reached over IPv4",
		Ref:         "Zonemaster DELEGATION01, RFC 3901 section 3",
		Advice:      "Give one server an IPv4 address: resolvers without IPv6 cannot reach the zone.",
		When:        addressed,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(len(e.family(false)) == 0, "No server has an IPv4 address.")
		},
	},
	{
		Code: "zone.diversity.ipv6", Severity: diag.Warning, Weight: 2, Category: categoryNameserver,
		Requirement: "The zone can be reached over IPv6",
		Ref:         "Zonemaster DELEGATION01, RFC 3901 section 3",
		Advice:      "Give the servers IPv6 addresses, and add these to the glue.",
		When:        addressed,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(len(e.family(true)) == 0, "No server has an IPv6 address.")
		},
	},
	{
		Code: "zone.diversity.ipv6_only", Severity: diag.Info, Category: categoryNameserver,
		Requirement: "No server has IPv6 addresses alone",
		Ref:         "RFC 3901 section 3",
		Advice:      "Nothing needs to be done as long as other servers have IPv4 addresses.",
		When:        addressed,
		Fails: func(e *evidence) diag.Failures {
			return e.eachHost(func(s *server) string {
				if len(s.ips) > 0 && !slices.ContainsFunc(s.ips, netip.Addr.Is4) {
					return "It has no IPv4 address."
				}
				return ""
			})
		},
	},
	{
		Code: "zone.diversity.prefix", Severity: diag.Warning, Weight: 2, Category: categoryNameserver,
		Requirement: "The IPv4 addresses of the servers are in different networks",
		Ref:         "Zonemaster CONNECTIVITY04, RFC 2182 section 3.1",
		Advice:      "Move a server to another network: one fault of routing makes them all unreachable.",
		When:        func(e *evidence) bool { return len(e.servers) > 1 && len(e.family(false)) > 1 },
		Fails:       func(e *evidence) diag.Failures { return onePrefix(e.family(false)) },
	},
	{
		Code: "zone.diversity.prefix_ipv6", Severity: diag.Info, Category: categoryNameserver,
		Requirement: "The IPv6 addresses of the servers are in different networks",
		Ref:         "Zonemaster CONNECTIVITY04, RFC 2182 section 3.1",
		Advice:      "Move a server to another network if IPv4 has the same fault.",
		When:        func(e *evidence) bool { return len(e.servers) > 1 && len(e.family(true)) > 1 },
		Fails:       func(e *evidence) diag.Failures { return onePrefix(e.family(true)) },
	},
	{
		Code: "zone.diversity.asn", Severity: diag.Warning, Weight: 2, Category: categoryNameserver,
		Requirement: "The servers are announced by different operators",
		Ref:         "Zonemaster CONNECTIVITY03, RFC 2182 section 3.1",
		Advice:      "Use a second provider for one of the servers: an autonomous system fails as a whole.",
		When:        func(e *evidence) bool { return len(e.servers) > 1 && len(e.asns()) > 1 },
		Fails: func(e *evidence) diag.Failures {
			list := e.asns()
			return diag.FailIf(len(slices.Compact(slices.Clone(list))) == 1, "All are in AS%s.", list[0])
		},
	},
}

// family lists the addresses of one kind.
func (e *evidence) family(ipv6 bool) []netip.Addr {
	var list []netip.Addr
	for _, ad := range e.addresses {
		if ad.ip.Is6() == ipv6 {
			list = append(list, ad.ip)
		}
	}
	return list
}

func onePrefix(list []netip.Addr) diag.Failures {
	first := prefixOf(list[0])
	for _, ip := range list {
		if prefixOf(ip) != first {
			return nil
		}
	}
	return diag.Fail("All are in %s.", first)
}

// asns lists who announces each address, sorted; it is empty unless that is known of all.
func (e *evidence) asns() []string {
	var list []string
	for _, ad := range e.addresses {
		if ad.origin.asn == "" {
			return nil
		}
		list = append(list, ad.origin.asn)
	}
	slices.Sort(list)
	return list
}
