package zonecheck

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

var (
	categoryDelegation = diag.Category{Code: string(CategoryDelegation), Label: "Delegation"}
	categoryGlue       = diag.Category{Code: string(CategoryGlue), Label: "Glue"}
)

// fewest is how many name servers a zone needs (RFC 1034 section 4.1).
const fewest = 2

// compared reports whether the servers that the zone names are known, and those that the zone above
// names.
func compared(e *evidence) bool { return delegated(e) && len(e.own) > 0 }

// delegationRules are about the delegation as a whole.
var delegationRules = diag.Rules[*evidence]{
	{
		Code: "zone.delegation.cyclic", Severity: diag.Critical, Weight: 10, Category: categoryDelegation,
		Requirement: "The names of the servers can be resolved without the domain itself",
		Ref:         "Zonemaster BASIC02, RFC 4697 section 2.3",
		Advice:      "Give at least one server a name in the domain, with glue, or move it to a domain that works by itself.",
		When:        met,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(len(e.cyclic) > 0, "These domains wait for each other: %s.",
				strings.Join(bareNames(e.cyclic), ", "))
		},
	},
	{
		Code: "zone.delegation.lame", Severity: diag.Critical, Weight: 10, Category: categoryDelegation,
		Requirement: "At least one server serves the zone",
		Ref:         "Zonemaster BASIC02, RFC 1912 section 2.8",
		Advice:      "Set the zone up on the servers that the zone above names, or let the registrar name those that have it.",
		When:        reached,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(!served(e), "Servers answer, but none of them serves the zone.")
		},
	},
	{
		Code: "zone.delegation.silent", Severity: diag.Critical, StateIfFailed: diag.Unknown, Category: categoryDelegation,
		Requirement: "At least one server answers",
		Ref:         "Zonemaster BASIC02, RFC 2182 section 5",
		Advice:      "Check that the servers run, and that port 53 is open for UDP and TCP; then try again.",
		When:        addressed,
		Fails: func(e *evidence) diag.Failures {
			known := func(ad *address) bool { return e.heard[ad.ip.Is6()] }
			if len(e.heard) > 0 && !slices.ContainsFunc(e.addresses, known) {
				return nil // that they cannot be reached from here says nothing
			}
			return diag.FailIf(!reached(e), "None of the %d addresses of the servers answers.", len(e.addresses))
		},
	},
	{
		Code: "zone.delegation.functional", Severity: diag.Info, Category: categoryDelegation,
		Requirement: "A zone that nobody serves is not resolved by accident",
		Ref:         "Zonemaster BASIC03, RFC 1912 section 2.8",
		Advice:      "Do not rely on it: caches forget, and then the domain is gone.",
		When:        func(e *evidence) bool { return met(e) && !served(e) && chased(e) },
		Fails: func(e *evidence) diag.Failures {
			var list diag.Failures
			for _, c := range e.chases {
				if len(c.addrs) > 0 {
					list = append(list, diag.Failure{
						Detail: "The resolver still has an address for it.", Target: bareName(c.name)})
				}
			}
			return list
		},
	},
	{
		Code: "zone.delegation.few", Severity: diag.Error, Weight: 5, Category: categoryDelegation,
		Requirement: "There are at least two name servers",
		Ref:         "Zonemaster DELEGATION01, RFC 1034 section 4.1",
		Advice:      "Add a second name server, in another network: with one, every failure takes the domain down.",
		When:        delegated,
		Fails: func(e *evidence) diag.Failures {
			if n := len(e.cut.hosts); n < fewest {
				return diag.Fail("The zone above names %d.", n)
			}
			return diag.FailIf(len(e.own) > 0 && len(e.own) < fewest, "The zone names %d.", len(e.own))
		},
	},
	{
		Code: "zone.delegation.missing_at_parent", Severity: diag.Warning, Weight: 3, Category: categoryDelegation,
		Requirement: "The zone above names every server that the zone names",
		Ref:         "Zonemaster CONSISTENCY04, RFC 1034 section 4.2.2",
		Advice:      "Let the registrar add the server, or remove its NS record from the zone.",
		When:        compared,
		Fails: func(e *evidence) diag.Failures {
			return named(minus(e.own, e.cut.hosts), "It has an NS record in the zone alone.")
		},
	},
	{
		Code: "zone.delegation.missing_in_zone", Severity: diag.Warning, Weight: 3, Category: categoryDelegation,
		Requirement: "The zone names every server that the zone above names",
		Ref:         "Zonemaster DELEGATION07, RFC 1034 section 4.2.2",
		Advice:      "Add an NS record for the server to the zone, or let the registrar remove it.",
		When:        compared,
		Fails: func(e *evidence) diag.Failures {
			return named(minus(e.cut.hosts, e.own), "It has an NS record in the zone above alone.")
		},
	},
	{
		Code: "zone.delegation.truncated", Severity: diag.Warning, Weight: 2, Category: categoryDelegation,
		Requirement: "A referral with the glue that is needed fits into 512 octets",
		Ref:         "Zonemaster DELEGATION03, RFC 1034 section 3.7",
		Advice:      "Use fewer name servers, or shorter names that share a domain.",
		When:        delegated,
		Fails: func(e *evidence) diag.Failures {
			size := e.referralSize()
			return diag.FailIf(size > dns.MinMsgSize, "For the longest names it has %d octets.", size)
		},
	},
	{
		Code: "zone.delegation.ttl.short", Severity: diag.Info, Category: categoryDelegation,
		Requirement: "The delegation may be remembered for an hour at least",
		Ref:         "RFC 1912 section 2.2",
		Advice:      "Raise the time to live of the NS records: resolvers keep coming back for them.",
		When:        func(e *evidence) bool { return len(e.own) > 0 },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.ownTTL < shortTTL, "The time to live of the NS records is %d seconds.", e.ownTTL)
		},
	},
}

// shortTTL is below what is usual for NS records, in seconds.
const shortTTL = 3600

func named(hosts []string, detail string) diag.Failures {
	var list diag.Failures
	for _, h := range hosts[:min(len(hosts), maxListed)] {
		list = append(list, diag.Failure{Detail: detail, Target: bareName(h)})
	}
	return list
}

// referralSize is the size of the reply with which the zone above refers to the servers, for a question
// of the longest name: each server, and of those in the domain one address of each kind that has glue.
func (e *evidence) referralSize() int {
	longest := e.zone
	for room := 254 - len(longest); room > 1; room = 254 - len(longest) {
		longest = strings.Repeat("x", min(63, room-1)) + "." + longest
	}
	m := plain(longest, dns.TypeAAAA)
	m.Compress = true
	for _, host := range e.cut.hosts {
		header := dns.RR_Header{Name: e.zone, Rrtype: dns.TypeNS, Class: dns.ClassINET}
		m.Ns = append(m.Ns, &dns.NS{Hdr: header, Ns: host})
		if !inside(e.zone, host) {
			continue
		}
		seen := map[bool]bool{}
		for _, g := range e.cut.glue[host] {
			if seen[g.ip.Is6()] {
				continue
			}
			seen[g.ip.Is6()] = true
			header := dns.RR_Header{Name: host, Rrtype: dns.TypeA, Class: dns.ClassINET}
			if g.ip.Is6() {
				header.Rrtype = dns.TypeAAAA
				m.Extra = append(m.Extra, &dns.AAAA{Hdr: header, AAAA: g.ip.AsSlice()})
			} else {
				m.Extra = append(m.Extra, &dns.A{Hdr: header, A: g.ip.AsSlice()})
			}
		}
	}
	return m.Len()
}

// dependent lists the servers that the zone above names and whose names lie in the domain.
func (e *evidence) dependent() []string {
	return slices.DeleteFunc(slices.Clone(e.cut.hosts), func(h string) bool {
		return !inside(e.zone, h) || literal(h).IsValid()
	})
}

// glued reports whether there are servers that need glue.
func glued(e *evidence) bool { return len(e.dependent()) > 0 }

// glueRules are about the addresses beside the delegation.
var glueRules = diag.Rules[*evidence]{
	{
		Code: "zone.glue.none", Severity: diag.Critical, Weight: 10, Category: categoryGlue,
		Requirement: "Resolvers that know nothing of the domain find one of its servers",
		Ref:         "Zonemaster DELEGATION07, BASIC02, RFC 1034 section 4.2.1",
		Advice:      "Let the registrar enter addresses (host objects) for the servers whose names lie in the domain.",
		When:        glued,
		Fails: func(e *evidence) diag.Failures {
			if len(e.dependent()) < len(e.cut.hosts) { // others may be found by their own domains
				return nil
			}
			for _, host := range e.dependent() {
				if len(e.cut.glue[host]) > 0 {
					return nil
				}
			}
			return diag.Fail("All servers have names in the domain, and none has glue in the zone above.")
		},
	},
	{
		Code: "zone.glue.missing", Severity: diag.Error, Weight: 5, Category: categoryGlue,
		Requirement: "Every server whose name lies in the domain has glue",
		Ref:         "Zonemaster DELEGATION07, RFC 9471 section 2.1",
		Advice:      "Let the registrar enter the addresses of the server (a host object).",
		When:        glued,
		Fails: func(e *evidence) diag.Failures {
			bare := slices.DeleteFunc(e.dependent(), func(h string) bool { return len(e.cut.glue[h]) > 0 })
			return named(bare, "The zone above has no address for it.")
		},
	},
	{
		Code: "zone.glue.mismatch", Severity: diag.Error, Weight: 5, Category: categoryGlue,
		Requirement: "The glue is what the zone says about the addresses of its servers",
		Ref:         "Zonemaster CONSISTENCY05, RFC 1034 section 4.2.2",
		Advice:      "Let the registrar enter the addresses that the server has in the zone, or correct the zone.",
		When:        glued,
		Fails:       (*evidence).glueMismatch,
	},
	{
		Code: "zone.glue.ttl", Severity: diag.Info, Category: categoryGlue,
		Requirement: "Glue lives as long as the delegation",
		Ref:         "RFC 2181 section 5.4.1",
		Advice:      "Ask the operator of the zone above: the delegation outlives the addresses that it needs.",
		When:        glued,
		Fails: func(e *evidence) diag.Failures {
			var list diag.Failures
			for _, host := range e.dependent() {
				for _, g := range e.cut.glue[host] {
					if g.ttl < e.cut.ttl {
						list = append(list, diag.Failure{Detail: fmt.Sprintf(
							"The time to live of %s is %d seconds, that of the delegation %d.", g.ip, g.ttl, e.cut.ttl),
							Target: bareName(host)})
					}
				}
			}
			return list[:min(len(list), maxListed)]
		},
	},
}

// glueMismatch compares glue with the addresses in the zone, where those are known.
func (e *evidence) glueMismatch() diag.Failures {
	var list diag.Failures
	for _, host := range e.dependent() {
		addresses, ok := e.hosts[host]
		glue := e.cut.glue[host]
		if !ok || len(glue) == 0 || len(addresses.All()) == 0 || len(addresses.V4.Aliases) > 0 {
			continue
		}
		for _, g := range glue {
			if !slices.Contains(addresses.All(), g.ip) && answeredFor(addresses, g.ip) {
				list = append(list, diag.Failure{Detail: fmt.Sprintf(
					"The zone above gives %s, the zone does not.", g.ip), Target: bareName(host)})
			}
		}
		for _, ip := range addresses.All() {
			if !slices.ContainsFunc(glue, func(g glueAddr) bool { return g.ip == ip }) {
				list = append(list, diag.Failure{Detail: fmt.Sprintf(
					"The zone gives %s, the zone above does not.", ip), Target: bareName(host)})
			}
		}
	}
	return list[:min(len(list), maxListed)]
}

// answeredFor reports whether the look-up of the kind of an address was answered.
func answeredFor(a diag.Addresses, ip netip.Addr) bool {
	if ip.Is6() {
		return a.V6.Err() == nil
	}
	return a.V4.Err() == nil
}
