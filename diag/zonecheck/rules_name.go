package zonecheck

import (
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/ground"
	"github.com/diagkit/diagkit/diag/zonecheck/survey"
)

// lookedUp reports whether the addresses of at least one server could be looked up.
func lookedUp(e *evidence) bool {
	return slices.ContainsFunc(e.Servers, func(s *survey.Server) bool {
		a, ok := e.Hosts[s.Name]
		return ok && (a.Err() == nil || len(a.V4.Aliases)+len(a.V6.Aliases) > 0)
	})
}

var nameRules = diag.Rules[*evidence]{{
	Code: "zone.ns.literal", Severity: diag.Error, Weight: 5, Ref: "Zonemaster SYNTAX04, RFC 1035 section 3.3.11",
	Title: "NS record with an IP address instead of a name", Requirement: "NS records have names and not IP addresses",
	Advice: "Give the name server a host name with an address record, and use that name in the NS record.", When: named,
	Fails: atHosts(func(_ *evidence, s *survey.Server) string {
		if survey.Literal(s.Name).IsValid() {
			return "is an IP address, and resolvers take it for a name"
		}
		return ""
	}),
}, {
	Code: "zone.ns.name", Severity: diag.Error, Weight: 3, Ref: "Zonemaster SYNTAX04, RFC 1123 section 2.1",
	Title: "NS record with an invalid host name", Requirement: "The names of the name servers are valid host names",
	Advice: "Rename the name server: use letters, digits and hyphens only.", When: named,
	Fails: atHosts(func(_ *evidence, s *survey.Server) string {
		if survey.Literal(s.Name).IsValid() || hostName(s.Name) {
			return ""
		}
		return "is not a valid host name"
	}),
}, {
	Code: "zone.ns.alias", Severity: diag.Error, Weight: 5, Ref: "Zonemaster DELEGATION05, RFC 2181 section 10.3",
	Title: "NS record points to a CNAME", Requirement: "No name server name is an alias",
	Advice: "Replace the CNAME with address records, or use the name that it points to in the NS record.",
	When:   lookedUp, Fails: atHosts(func(e *evidence, s *survey.Server) string { return aliasText(e.Hosts[s.Name]) }),
}, {
	Code: "zone.ns.address", Severity: diag.Error, Weight: 5, Fact: ground.NoAddress,
	Ref:   "Zonemaster NAMESERVER06, RFC 1912 section 2.8",
	Title: "Name server without an address", Requirement: "Every name server has an address",
	Advice: "Add an address record for the name server, or remove its NS records from the zone and its parent zone.",
	When:   lookedUp,
	Fails: atHosts(func(e *evidence, s *survey.Server) string {
		a, ok := e.Hosts[s.Name]
		switch {
		case !ok || len(a.All()) > 0 || a.Err() != nil:
			return ""
		case a.V4.NXDomain() || a.V6.NXDomain():
			return "does not exist"
		default:
			return "has neither an A nor an AAAA record"
		}
	}),
}, {
	Code: "zone.ns.address.unknown", Severity: diag.Warning, StateIfFailed: diag.Unknown,
	Ref:         "Zonemaster NAMESERVER06",
	Title:       "Address of a name server could not be looked up",
	Requirement: "The addresses of all name servers can be looked up",
	Advice:      "Fix the domain of the name server: resolvers skip a name server whose address they cannot look up.",
	When:        named,
	Fails: atHosts(func(e *evidence, s *survey.Server) string {
		if !e.addressUnknown(s) {
			return ""
		}
		return "has no known address: the lookup " + lookupFault(e.Hosts[s.Name])
	}),
}, {
	Code: "zone.ns.address.special", Severity: diag.Error, Weight: 5, Fact: ground.NotPublic,
	Differs: "resolvers turn to the other addresses of the name servers", Ref: "Zonemaster ADDRESS01, RFC 6890",
	Title:       "Name server with an address that is not public",
	Requirement: "The addresses of the name servers are public",
	Advice:      "Replace the address with a public one, or remove it.", When: addressed,
	Fails: atAddresses(func(e *evidence, ad *survey.Address) string {
		if e.Public(ad.IP) {
			return ""
		}
		return "cannot be reached over the Internet: the address is reserved for private or special use"
	}),
}, {
	Code: "zone.ns.address.shared", Severity: diag.Warning, Weight: 3,
	Ref:   "Zonemaster DELEGATION02, RFC 2182 section 5",
	Title: "Name servers share an address", Requirement: "All name servers have addresses of their own",
	Advice: "Move one of the name servers to another machine: two names for one machine fail together.",
	When:   addressed,
	Fails: func(e *evidence) diag.Failures {
		return diag.FailEach(e.Addresses, func(ad *survey.Address) diag.Failures {
			hosts := e.hostsOn(ad.IP)
			return diag.FailIf(len(hosts) > 1, "%s have the same address, %s.", joined(hosts), ad.IP).
				About(e.target(ad))
		})
	},
}}
