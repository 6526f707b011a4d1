package zonecheck

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

var categoryNameserver = diag.Category{Code: string(CategoryNameserver), Label: "Name servers"}

// nameRules are about the names and addresses of the servers.
var nameRules = diag.Rules[*evidence]{
	{
		Code: "zone.ns.literal", Severity: diag.Error, Weight: 5, Category: categoryNameserver,
		Requirement: "NS records hold names and not addresses",
		Ref:         "Zonemaster SYNTAX04, RFC 1035 section 3.3.11",
		Advice:      "Give the server a name with an address record, and use the name.",
		When:        met,
		Fails: func(e *evidence) diag.Failures {
			return e.eachHost(func(s *server) string {
				if ip := literal(s.name); ip.IsValid() {
					return fmt.Sprintf("The name of the server is the address %s.", ip)
				}
				return ""
			})
		},
	},
	{
		Code: "zone.ns.name", Severity: diag.Error, Weight: 3, Category: categoryNameserver,
		Requirement: "The names of the servers are host names",
		Ref:         "Zonemaster SYNTAX04, RFC 1123 section 2.1",
		Advice:      "Rename the server: letters, digits and hyphens are safe.",
		When:        met,
		Fails: func(e *evidence) diag.Failures {
			return e.eachHost(func(s *server) string {
				if literal(s.name).IsValid() || hostName(s.name) {
					return ""
				}
				return "It is no host name."
			})
		},
	},
	{
		Code: "zone.ns.alias", Severity: diag.Error, Weight: 5, Category: categoryNameserver,
		Requirement: "The name of no server is an alias",
		Ref:         "Zonemaster DELEGATION05, RFC 2181 section 10.3",
		Advice:      "Give the server address records instead of a CNAME record, or use the name that the alias leads to.",
		When:        met,
		Fails: func(e *evidence) diag.Failures {
			return e.eachHost(func(s *server) string { return aliasText(e.hosts[s.name]) })
		},
	},
	{
		Code: "zone.ns.address.missing", Severity: diag.Error, Weight: 5, Category: categoryNameserver,
		Requirement: "Every server has an address",
		Ref:         "Zonemaster NAMESERVER06, RFC 1912 section 2.8",
		Advice:      "Give the server an address record, or remove its NS records here and in the zone above.",
		When:        met,
		Fails: func(e *evidence) diag.Failures {
			return e.eachHost(func(s *server) string {
				a, ok := e.hosts[s.name]
				if !ok || len(a.All()) > 0 || a.Err() != nil {
					return ""
				}
				if a.V4.NXDomain() || a.V6.NXDomain() {
					return "There is no such name."
				}
				return "It has neither an A nor an AAAA record."
			})
		},
	},
	{
		Code: "zone.ns.address.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown, Category: categoryNameserver,
		Requirement: "The addresses of all servers can be looked up",
		Ref:         "Zonemaster NAMESERVER06",
		Advice:      "Mend the domain in which the server has its name: resolvers without its address pass it over.",
		When:        met,
		Fails: func(e *evidence) diag.Failures {
			return e.eachHost(func(s *server) string {
				if a, ok := e.hosts[s.name]; ok && a.Err() != nil && len(e.cut.glue[s.name]) == 0 {
					return clip(fmt.Sprintf("%v.", a.Err()))
				}
				return ""
			})
		},
	},
	{
		Code: "zone.ns.address.special", Severity: diag.Error, Weight: 5, Category: categoryNameserver,
		Requirement: "The addresses of the servers are public",
		Ref:         "Zonemaster ADDRESS01, RFC 6890",
		Advice:      "Replace the address: it is for private networks, documentation or other special uses.",
		When:        addressed,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.addresses, func(ad *address) string {
				if e.public(ad.ip) {
					return ""
				}
				return "It cannot be reached over the Internet, and was not asked."
			})
		},
	},
	{
		Code: "zone.ns.address.shared", Severity: diag.Warning, Weight: 3, Category: categoryNameserver,
		Requirement: "No two servers have the same address",
		Ref:         "Zonemaster DELEGATION02, RFC 2182 section 5",
		Advice:      "Use servers on different machines: two names for one fail together.",
		When:        addressed,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.addresses, func(ad *address) string {
				if hosts := e.hostsOn(ad.ip); len(hosts) > 1 {
					return "It is the address of " + strings.Join(hosts, " and ") + "."
				}
				return ""
			})
		},
	},
	{
		Code: "zone.ns.reverse.missing", Severity: diag.Info, Category: categoryNameserver,
		Requirement: "The addresses of the servers have host names",
		Ref:         "Zonemaster ADDRESS02, RFC 1912 section 2.1",
		Advice:      "Ask the provider to set PTR records; nothing depends on them.",
		When:        addressed,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.addresses, func(ad *address) string {
				if !ad.deep || ad.origin.name.Name == "" || ad.origin.name.Err() != nil || ad.origin.name.Exists() {
					return ""
				}
				return "There is no PTR record."
			})
		},
	},
	{
		Code: "zone.ns.reverse.mismatch", Severity: diag.Info, Category: categoryNameserver,
		Requirement: "The host names of the addresses are those of the servers",
		Ref:         "Zonemaster ADDRESS03, RFC 1912 section 2.1",
		Advice:      "Let the PTR record name the server; nothing depends on it.",
		When:        addressed,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.addresses, func(ad *address) string {
				var names []string
				for _, ptr := range ad.origin.name.Records {
					names = append(names, bareName(ptr.Ptr))
				}
				if len(names) == 0 || len(minus(names, e.hostsOn(ad.ip))) < len(names) {
					return ""
				}
				return clip("Its host name is " + strings.Join(names, ", ") + ".")
			})
		},
	},
}

// hostName reports whether a name may be that of a host.
func hostName(name string) bool {
	_, err := diag.ParseDomain(bareName(name))
	return err == nil
}

// aliasText says where an alias leads.
func aliasText(a diag.Addresses) string {
	for _, aliases := range [][]string{a.V4.Aliases, a.V6.Aliases} {
		if len(aliases) > 0 {
			return "It is an alias of " + bareName(aliases[0]) + "."
		}
	}
	return ""
}

// serverRules are about what the servers are to the zone.
var serverRules = diag.Rules[*evidence]{
	{
		Code: "zone.ns.unreachable", Severity: diag.Error, StateIfFailed: diag.Unknown, Category: categoryNameserver,
		Requirement: "Every server answers",
		Ref:         "Zonemaster CONNECTIVITY01, RFC 2182 section 5",
		Advice:      "Check that the server runs, and that no firewall drops queries; resolvers lose time with each try.",
		When:        func(e *evidence) bool { return len(e.heard) > 0 && addressed(e) },
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.addresses, func(ad *address) string {
				switch ad.soa().outcome {
				case silent, broken:
					if e.heard[ad.ip.Is6()] && !sourceOf(ad).IsValid() {
						return "It does not answer."
					}
				}
				return ""
			})
		},
	},
	{
		Code: "zone.ns.closed", Severity: diag.Error, Weight: 5, Category: categoryNameserver,
		Requirement: "A name server runs at every address",
		Ref:         "Zonemaster CONNECTIVITY01, RFC 1912 section 2.8",
		Advice:      "Start the server, let it listen at this address, or remove the address.",
		When:        addressed,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.addresses, func(ad *address) string {
				if ad.replies[probeSOA].outcome == closed && !ad.replies[probeTCP].ok() {
					return "The host is there and refuses connections to port 53."
				}
				return ""
			})
		},
	},
	{
		Code: "zone.ns.malformed", Severity: diag.Error, Weight: 5, Category: categoryNameserver,
		Requirement: "The replies of every server can be read",
		Ref:         "RFC 1035 section 4.1",
		Advice:      "Replace the software of the server, or what rewrites its replies on the way.",
		When:        addressed,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.addresses, func(ad *address) string {
				for _, r := range ad.replies {
					if r.outcome == malformed {
						return "A reply is no message of the DNS."
					}
				}
				return ""
			})
		},
	},
	{
		Code: "zone.ns.lame", Severity: diag.Error, Weight: 5, Category: categoryNameserver,
		Requirement: "Every server that answers serves the zone",
		Ref:         "Zonemaster DELEGATION04, RFC 1912 section 2.8",
		Advice:      "Set the zone up on the server, or remove its NS records here and in the zone above.",
		When:        reached, Fails: those(lame),
	},
	{
		Code: "zone.ns.unauthoritative", Severity: diag.Error, Weight: 5, Category: categoryNameserver,
		Requirement: "Every server that knows the zone is authoritative for it",
		Ref:         "Zonemaster DELEGATION04, RFC 1034 section 4.2.2",
		Advice:      "Let the server hold the zone itself: it repeats what it has heard, or its copy has expired.",
		When:        reached, Fails: those(modest),
	},
	{
		Code: "zone.ns.upward", Severity: diag.Error, Weight: 5, Category: categoryNameserver,
		Requirement: "No server refers back to the zones above",
		Ref:         "Zonemaster NAMESERVER07, RFC 1912 section 2.8",
		Advice:      "Set the zone up on the server, and let it answer REFUSED for zones that it does not have.",
		When:        reached, Fails: those(upward),
	},
	{
		Code: "zone.ns.slow", Severity: diag.Info, Category: categoryNameserver,
		Requirement: "Every server answers within half a second",
		Ref:         "RFC 2182 section 3.1",
		Advice:      "Look for the reason on the server: no distance on earth explains it.",
		When:        reached,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.addresses, func(ad *address) string {
				if fastest, known := latency(ad); known && fastest >= slowAfter {
					return fmt.Sprintf("Its fastest answer took %d ms.", fastest.Milliseconds())
				}
				return ""
			})
		},
	},
	{
		Code: "zone.ns.source", Severity: diag.Error, Weight: 5, Category: categoryNameserver,
		Requirement: "Replies come from the address that was asked",
		Ref:         "Zonemaster NAMESERVER04, RFC 2181 section 4.1",
		Advice:      "Let the server answer from the address at which it was asked: resolvers discard other replies.",
		When:        addressed,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.addresses, func(ad *address) string {
				if from := sourceOf(ad); from.IsValid() {
					return fmt.Sprintf("A reply came from %s.", from)
				}
				return ""
			})
		},
	},
	{
		Code: "zone.ns.forged", Severity: diag.Info, Category: categoryNameserver,
		Requirement: "No reply is preceded by one that is forged",
		Ref:         "RFC 5452 section 4",
		Advice:      "Find out who sends the other replies; resolvers that compare less carefully would believe them.",
		When:        addressed,
		Fails: func(e *evidence) diag.Failures {
			return e.each(e.addresses, func(ad *address) string {
				count := 0
				for _, r := range ad.replies {
					count += r.forged
				}
				if count == 0 {
					return ""
				}
				return fmt.Sprintf("%d datagrams belonged to other questions, and were passed over.", count)
			})
		},
	},
	{
		Code: "zone.ns.surplus", Severity: diag.Info, Category: categoryNameserver,
		Requirement: "All servers and addresses were examined",
		Ref:         "RFC 1912 section 2.8",
		Advice:      "Use fewer servers: resolvers try only a few.",
		When:        met,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.surplus > 0, "%d were left out.", e.surplus)
		},
	},
}

// sourceOf returns the address that replies of another came from, if any did.
func sourceOf(ad *address) netip.Addr {
	for _, r := range ad.replies {
		if r.from.IsValid() {
			return r.from.Addr().Unmap()
		}
	}
	return netip.Addr{}
}

// those reports the addresses that are of one standing.
func those(s standing) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures {
		return e.each(e.addresses, func(ad *address) string {
			if r := ad.soa(); standingOf(r, e.zone) == s {
				text := e.trouble(ad)
				return strings.ToUpper(text[:1]) + text[1:] + "."
			}
			return ""
		})
	}
}
