package zonecheck

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// fewest is how many name servers a zone needs (RFC 1034 section 4.1).
const fewest = 2

// compared reports whether the servers that the zone names are known, and those that the parent zone names.
func compared(e *evidence) bool { return delegated(e) && len(e.own) > 0 }

// delegationRules are about the delegation as a whole.
var delegationRules = diag.Rules[*evidence]{{
	Code: "zone.delegation.cyclic", Severity: diag.Critical, Weight: 10, Reads: []diag.Source{hosts}, Stands: true,
	Ref:   "Zonemaster BASIC02, RFC 4697 section 2.3",
	Title: "Delegation depends on itself", Requirement: "The name servers can be resolved without the domain itself",
	Advice: "Give at least one name server a name in the domain, with glue, or a name in a domain that does not " +
		"depend on this one.",
	When: func(e *evidence) bool { return addressed(e) || len(e.Cyclic) > 0 },
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(len(e.Cyclic) > 0, "The delegations of these zones depend on each other: %s.",
			strings.Join(bareNames(e.Cyclic), ", "))
	},
}, {
	Code: "zone.delegation.lame", Severity: diag.Critical, Weight: 10,
	Reads:       []diag.Source{diag.FromRequest}, // one is enough
	Title:       "No name server serves the zone",
	Requirement: "At least one name server serves the zone",
	Ref:         "Zonemaster BASIC02, RFC 1912 section 2.8",
	Advice:      "Configure the zone on the delegated name servers, or delegate the domain to the servers that have it.",
	When:        reached,
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(!served(e), "Name servers of %s answer, but none of them serves the zone.", e.Domain)
	},
}, {
	Code: "zone.delegation.unreachable", Severity: diag.Critical, Weight: 10,
	Reads:       []diag.Source{diag.FromRequest}, // one is enough
	Title:       "No name server can be reached",
	Requirement: "At least one name server can be reached",
	Ref:         "Zonemaster BASIC02, RFC 2182 section 5",
	Advice:      "Start the name servers and open port 53 for UDP and TCP: until then the domain cannot be resolved.",
	When:        func(e *evidence) bool { return named(e) && len(e.Cyclic) == 0 && e.reach() != unmeasured },
	Fails: func(e *evidence) diag.Failures {
		switch {
		case e.reach() == reachable:
			return nil
		case !addressed(e):
			return diag.Fail("None of the name servers of %s has an address.", e.Domain)
		default:
			return diag.Fail("None of the name servers of %s gives a usable answer: %s.", e.Domain, e.troubles())
		}
	},
}, {
	Code: "zone.delegation.silent", Severity: diag.Warning, StateIfFailed: diag.Unknown,
	Ref:   "Zonemaster BASIC02, RFC 2182 section 5",
	Title: "No name server answered", Requirement: "The name servers can be asked",
	Advice: "Repeat the audit from another network, and check that port 53 of the name servers is open.",
	When:   addressed,
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.reach() == unmeasured,
			"None of the name servers of %s answered, but the cause may be on our side: %s.", e.Domain, e.troubles())
	},
}, {
	Code: "zone.delegation.few", Severity: diag.Error, Weight: 5, Reads: []diag.Source{parents},
	Ref:   "Zonemaster DELEGATION01, RFC 1034 section 4.1",
	Title: "Fewer than two name servers", Requirement: "There are at least two name servers",
	Advice: "Add a second name server in another network: with one, every outage takes the domain down.",
	When:   delegated,
	Fails: func(e *evidence) diag.Failures {
		n := len(e.cut.hosts)
		return diag.FailIf(n < fewest, "The delegation in %s has %s.", e.parentName(), diag.Count(n, "name server"))
	},
}, {
	Code: "zone.delegation.missing_at_parent", Severity: diag.Warning, Weight: 3,
	Ref:   "Zonemaster CONSISTENCY04, RFC 1034 section 4.2.2",
	Title: "Name server missing from the delegation", Requirement: "The delegation has every name server of the zone",
	Advice: "Add the name server to the delegation at the registrar, or remove its NS record from the zone.",
	When:   compared,
	Fails: func(e *evidence) diag.Failures {
		return listed(minus(e.own, e.cut.hosts), "has an NS record in the zone and none in "+e.parentName())
	},
}, {
	Code: "zone.delegation.missing_in_zone", Severity: diag.Warning, Weight: 3,
	Ref:   "Zonemaster DELEGATION07, RFC 1034 section 4.2.2",
	Title: "Name server missing from the zone", Requirement: "The zone has every name server of the delegation",
	Advice: "Add an NS record for the name server to the zone, or remove it from the delegation at the registrar.",
	When:   compared,
	Fails: func(e *evidence) diag.Failures {
		return listed(minus(e.cut.hosts, e.own), "has an NS record in "+e.parentName()+" and none in the zone")
	},
}, {
	Code: "zone.delegation.truncated", Severity: diag.Warning, Weight: 2, Reads: []diag.Source{parents},
	Ref:   "Zonemaster DELEGATION03, RFC 1034 section 3.7",
	Title: "Referral exceeds 512 bytes", Requirement: "A referral with its glue fits into 512 bytes",
	Advice: "Use fewer name servers, or shorter names that share a domain.", When: delegated,
	Fails: func(e *evidence) diag.Failures {
		size := e.cut.referralSize()
		return diag.FailIf(size > dns.MinMsgSize, "For the longest possible name the referral of %s takes %d bytes.",
			e.parentName(), size)
	},
}}

// glued reports whether there are servers that need glue.
func glued(e *evidence) bool { return len(e.cut.inBailiwick()) > 0 }

// glueRules are about the addresses beside the delegation.
var glueRules = diag.Rules[*evidence]{{
	Code: "zone.glue.none", Severity: diag.Critical, Weight: 10,
	Ref:   "Zonemaster DELEGATION07, BASIC02, RFC 1034 section 4.2.1",
	Title: "Delegation without any usable glue", Requirement: "Glue leads resolvers to at least one name server",
	Advice: "Register the addresses of the name servers (host objects) at the registrar.",
	When:   func(e *evidence) bool { return glued(e) && len(e.cut.inBailiwick()) == len(e.cut.hosts) },
	Fails: func(e *evidence) diag.Failures {
		glued := func(host string) bool { return len(e.cut.glue[host]) > 0 }
		return diag.FailIf(!slices.ContainsFunc(e.cut.hosts, glued),
			"All name servers have names in %s, and %s has glue for none of them.", e.Domain, e.parentName())
	},
}, {
	Code: "zone.glue.missing", Severity: diag.Error, Weight: 5, Ref: "Zonemaster DELEGATION07, RFC 9471 section 2.1",
	Title: "Glue missing for a name server", Requirement: "Every in-bailiwick name server has glue",
	Advice: "Register the addresses of the name server (a host object) at the registrar.", When: glued,
	Fails: func(e *evidence) diag.Failures {
		bare := slices.DeleteFunc(e.cut.inBailiwick(), func(h string) bool { return len(e.cut.glue[h]) > 0 })
		return listed(bare, "has no glue in "+e.parentName())
	},
}, {
	Code: "zone.glue.mismatch", Severity: diag.Error, Weight: 5,
	Ref:   "Zonemaster CONSISTENCY05, RFC 1034 section 4.2.2",
	Title: "Glue differs from the addresses in the zone", Requirement: "The glue equals the addresses in the zone",
	Advice: "Update the addresses of the name server at the registrar, or correct them in the zone.",
	When:   func(e *evidence) bool { return slices.ContainsFunc(e.cut.inBailiwick(), e.glueComparable) },
	Fails:  (*evidence).glueMismatch,
}}
