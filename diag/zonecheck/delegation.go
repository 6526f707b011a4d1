package zonecheck

import (
	"net/netip"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/zonecheck/survey"
)

// A reachability says whether any server of the domain can be reached.
type reachability int

const (
	reachable   reachability = 0
	unreachable reachability = 1 // none can, and it is their fault
	unmeasured  reachability = 2 // none did, and the fault may lie here
)

// reach tells whether any server can be reached, and else whether that is a fault of theirs: an address
// counts as dead where other servers answer from here over the same version of IP, or if it answered in a
// way that no resolver can use. Resolvers do not turn to TCP where UDP stays without an answer.
func (e *evidence) reach() reachability {
	if slices.ContainsFunc(e.Addresses, func(ad *survey.Address) bool {
		return ad.Replies[survey.ProbeSOA].OK() && ad.SOA().OK()
	}) {
		return reachable
	}
	result := unmeasured
	for _, ad := range e.Addresses {
		switch udp := ad.Replies[survey.ProbeSOA]; {
		case udp.Result == survey.NotAsked:
			return unmeasured
		case udp.Result == survey.Unroutable:
		case udp.Result != survey.TimedOut, e.responds[ad.IP.Is6()], ad.Source().IsValid():
			result = unreachable
		}
	}
	if len(e.Addresses) == 0 && !slices.ContainsFunc(e.Servers, e.addressUnknown) {
		return unreachable
	}
	return result
}

// addressUnknown reports whether it could not be learned where a server is.
func (e *evidence) addressUnknown(s *survey.Server) bool {
	a, ok := e.Hosts[s.Name]
	return ok && a.Err() != nil && len(e.cut.glue[s.Name]) == 0
}

// glueMismatch compares glue with the addresses in the zone, where those are known.
func (e *evidence) glueMismatch() diag.Failures {
	var list diag.Failures
	for _, host := range e.cut.inBailiwick() {
		addresses, glue := e.Hosts[host], e.cut.glue[host]
		if !e.glueComparable(host) {
			continue
		}
		name := survey.BareName(host)
		fail := func(ip netip.Addr, has, lacks string) {
			list = append(list, diag.Failure{
				Detail: "For " + name + ", " + has + " has the address " + ip.String() + " and " + lacks + " does not.",
				Target: name,
			})
		}
		for _, g := range glue {
			if !slices.Contains(addresses.All(), g.IP) && answeredFor(addresses, g.IP) {
				fail(g.IP, e.parentName(), "the zone itself")
			}
		}
		for _, ip := range addresses.All() {
			if !slices.ContainsFunc(glue, func(g survey.Glue) bool { return g.IP == ip }) {
				fail(ip, "the zone", e.parentName())
			}
		}
	}
	return list
}

// glueComparable reports whether there is glue for a host, and the zone says where the host is.
func (e *evidence) glueComparable(host string) bool {
	a, ok := e.Hosts[host]
	return ok && len(e.cut.glue[host]) > 0 && len(a.All()) > 0 && len(a.V4.Aliases) == 0
}

// answeredFor reports whether the lookup of the kind of an address was answered.
func answeredFor(a diag.Addresses, ip netip.Addr) bool {
	if ip.Is6() {
		return a.V6.Err() == nil
	}
	return a.V4.Err() == nil
}
