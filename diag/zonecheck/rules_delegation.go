package zonecheck

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnssec"
	"github.com/diagkit/diagkit/diag/internal/survey"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/miekg/dns"
)

// fewest is how many name servers a zone needs (RFC 1034 section 4.1).
const fewest = 2

// compared reports whether the servers that the zone names are known, and those that the parent zone names.
func compared(e *evidence) bool { return delegated(e) && len(e.own) > 0 }

var delegationRules = rule.Rules[*evidence]{{
	Code: "zone.delegation.cyclic", Severity: diag.Critical, Weight: 10, Reads: []rule.Source{hosts},
	HoldsWhenUnanswered: true,
	Ref:                 "Zonemaster BASIC02, RFC 4697 section 2.3",
	Title:               "Delegation depends on itself",
	Requirement:         "The name servers can be resolved without the domain itself",
	Advice: "Give at least one name server a name in the domain, with glue, or a name in a domain that does not " +
		"depend on this one.",
	When: func(e *evidence) bool { return addressed(e) || len(e.Cyclic) > 0 },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(len(e.Cyclic) > 0, "The delegations of these zones depend on each other: %s.",
			strings.Join(bareNames(e.Cyclic), ", "))
	},
}, {
	Code: "zone.delegation.lame", Severity: diag.Critical, Weight: 10,
	Reads:       []rule.Source{rule.FromRequest}, // one is enough
	Title:       "No name server serves the zone",
	Requirement: "At least one name server serves the zone",
	Ref:         "Zonemaster BASIC02, RFC 1912 section 2.8",
	Advice:      "Configure the zone on the delegated name servers, or delegate the domain to the servers that have it.",
	When:        reached,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(!served(e), "Name servers of %s answer, but none of them serves the zone.", e.Domain)
	},
}, {
	Code: "zone.delegation.unreachable", Severity: diag.Critical, Weight: 10,
	Reads:       []rule.Source{rule.FromRequest}, // one is enough
	Title:       "No name server can be reached",
	Requirement: "At least one name server can be reached",
	Ref:         "Zonemaster BASIC02, RFC 2182 section 5",
	Advice:      "Start the name servers and open port 53 for UDP and TCP: until then the domain cannot be resolved.",
	When:        func(e *evidence) bool { return named(e) && len(e.Cyclic) == 0 && e.reach() != unmeasured },
	Fails: func(e *evidence) rule.Failures {
		switch {
		case e.reach() == reachable:
			return nil
		case !addressed(e):
			return rule.Fail("None of the name servers of %s has an address.", e.Domain)
		default:
			return rule.Fail("None of the name servers of %s gives a usable answer: %s.", e.Domain, e.troubles())
		}
	},
}, {
	Code: "zone.delegation.silent", Severity: diag.Warning, StateIfFailed: diag.Unknown,
	Ref:   "Zonemaster BASIC02, RFC 2182 section 5",
	Title: "No name server answered", Requirement: "The name servers can be asked",
	Advice: "Repeat the audit from another network, and check that port 53 of the name servers is open.",
	When:   addressed,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.reach() == unmeasured,
			"None of the name servers of %s answered, but the cause may be on our side: %s.", e.Domain, e.troubles())
	},
}, {
	Code: "zone.delegation.few", Severity: diag.Error, Weight: 5, Reads: []rule.Source{parents},
	Ref:   "Zonemaster DELEGATION01, RFC 1034 section 4.1",
	Title: "Fewer than two name servers", Requirement: "There are at least two name servers",
	Advice: "Add a second name server in another network: with one, every outage takes the domain down.",
	When:   delegated,
	Fails: func(e *evidence) rule.Failures {
		n := len(e.cut.hosts)
		return rule.FailIf(n < fewest, "The delegation in %s has %s.", e.parentName(), phrase.Count(n, "name server"))
	},
}, {
	Code: "zone.delegation.missing_at_parent", Severity: diag.Warning, Weight: 3,
	Ref:   "Zonemaster CONSISTENCY04, RFC 1034 section 4.2.2",
	Title: "Name server missing from the delegation", Requirement: "The delegation has every name server of the zone",
	Advice: "Add the name server to the delegation at the registrar, or remove its NS record from the zone.",
	When:   compared,
	Fails: func(e *evidence) rule.Failures {
		return listed(slices.DeleteFunc(minus(e.own, e.cut.hosts), e.lacksDot),
			"has an NS record in the zone and none in "+e.parentName())
	},
}, {
	Code: "zone.delegation.missing_in_zone", Severity: diag.Warning, Weight: 3,
	Ref:   "Zonemaster DELEGATION07, RFC 1034 section 4.2.2",
	Title: "Name server missing from the zone", Requirement: "The zone has every name server of the delegation",
	Advice: "Add an NS record for the name server to the zone, or remove it from the delegation at the registrar.",
	When:   compared,
	Fails: func(e *evidence) rule.Failures {
		meant := kit.Map(e.undotted, func(u undotted) string { return dns.CanonicalName(u.meant) })
		return listed(minus(minus(e.cut.hosts, e.own), meant), "has an NS record in "+e.parentName()+" and none in the zone")
	},
}, {
	Code: "zone.delegation.truncated", Severity: diag.Warning, Weight: 2, Reads: []rule.Source{parents},
	Ref:   "Zonemaster DELEGATION03, RFC 1034 section 3.7",
	Title: "Referral exceeds 512 bytes", Requirement: "A referral with its glue fits into 512 bytes",
	Advice: "Use fewer name servers, or shorter names that share a domain.", When: delegated,
	Fails: func(e *evidence) rule.Failures {
		size := e.cut.referralSize()
		return rule.FailIf(size > dns.MinMsgSize, "For the longest possible name the referral of %s takes %d bytes.",
			e.parentName(), size)
	},
}}

func glued(e *evidence) bool { return len(e.cut.inBailiwick()) > 0 }

// allInBailiwick reports whether only glue leads to the servers.
func allInBailiwick(e *evidence) bool {
	return glued(e) && len(e.cut.inBailiwick()) == len(e.cut.hosts)
}

// glueless reports whether the parent zone names only servers in the domain, and has no glue for any: it is not
// ignorance that their addresses are not known then.
func (e *evidence) glueless() bool {
	glued := func(host string) bool { return len(e.cut.glue[host]) > 0 }
	return allInBailiwick(e) && !slices.ContainsFunc(e.cut.hosts, glued)
}

var glueRules = rule.Rules[*evidence]{{
	Code: "zone.glue.none", Severity: diag.Critical, Weight: 10, Reads: []rule.Source{parents},
	Ref:   "Zonemaster DELEGATION07, BASIC02, RFC 1034 section 4.2.1",
	Title: "Delegation without any usable glue", Requirement: "Glue leads resolvers to at least one name server",
	Advice: "Register the addresses of the name servers (host objects) at the registrar.",
	When:   allInBailiwick,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.glueless(),
			"All name servers have names in %s, and %s has glue for none of them.", e.Domain, e.parentName())
	},
}, {
	Code: "zone.glue.missing", Severity: diag.Error, Weight: 5, Reads: []rule.Source{parents},
	Ref:   "Zonemaster DELEGATION07, RFC 9471 section 3.1",
	Title: "Glue missing for a name server", Requirement: "Every in-domain name server has glue",
	Advice: "Register the addresses of the name server (a host object) at the registrar.", When: glued,
	Fails: func(e *evidence) rule.Failures {
		bare := slices.DeleteFunc(e.cut.inBailiwick(), func(h string) bool {
			return len(e.cut.glue[h]) > 0 || e.lacksDot(h) || e.literal(h).IsValid()
		})
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

func parentKnown(e *evidence) bool { return e.cut.known }

var existenceRules = rule.Rules[*evidence]{{
	Code: "zone.parent.unknown", Severity: diag.Warning, StateIfFailed: diag.Unknown,
	Ref:   "Zonemaster BASIC01, RFC 1034 section 4.2.2",
	Title: "Parent zone could not be queried", Requirement: "The parent zone can be asked for the delegation",
	Advice: "Repeat the audit in a few minutes, or use another resolver.",
	Fails: func(e *evidence) rule.Failures {
		switch {
		case e.cut.known:
			return nil
		case e.Parent.Err != nil:
			return rule.Fail("The parent zone of %s could not be found: %s.", e.Domain, lookupText(e.Parent.Err))
		default:
			return rule.Fail("None of the servers of %s answered for %s.", e.parentName(), e.Domain)
		}
	},
}, {
	Code: "zone.parent.nxdomain", Severity: diag.Error, StateIfFailed: diag.Missing, NoScore: true, Fact: reach.NoName,
	Ref:   "Zonemaster BASIC01, RFC 8020 section 2",
	Title: "Domain does not exist", Requirement: "The domain exists",
	Advice: "Check the spelling. Register or renew the domain, or ask the registrar why it is not delegated.",
	When:   parentKnown,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.cut.nxdomain, "The servers of %s answer NXDOMAIN for %s.", e.parentName(), e.Domain)
	},
}, {
	Code: "zone.parent.undelegated", Severity: diag.Info, StateIfFailed: diag.Missing, NoScore: true,
	Ref:   "Zonemaster BASIC01, RFC 1034 section 4.2.1",
	Title: "Name is not a zone of its own", Requirement: "The parent zone delegates the domain",
	Advice: "Audit the parent zone, which holds this name, or delegate the name to name servers of its own.",
	When:   func(e *evidence) bool { return e.cut.known && !e.cut.nxdomain },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.cut.undelegated, "%s belongs to %s, which has no NS records for it.", e.Domain, e.parentName())
	},
}}

var parentRules = rule.Rules[*evidence]{{
	Code: "zone.parent.inconsistent", Severity: diag.Warning, Weight: 2,
	Ref:         "Zonemaster BASIC01, RFC 1034 section 4.2.2",
	Title:       "Servers of the parent zone disagree",
	Requirement: "All servers of the parent zone have the same delegation",
	Advice:      "Wait until all servers of the parent zone have the change. If they do not get it, ask the registrar.",
	When:        parentKnown,
	Fails: func(e *evidence) rule.Failures {
		if len(e.cut.views) < 2 {
			return nil
		}
		return rule.FailEach(slices.Sorted(maps.Keys(e.cut.views)), func(view string) rule.Failures {
			text := "delegates " + e.Domain.String() + " to " + view
			switch view {
			case "":
				text = "has no NS records for " + e.Domain.String()
			case noSuchName:
				text = "answers NXDOMAIN for " + e.Domain.String()
			}
			return about(e.cut.views[view], text)
		})
	},
}}

// lookupText says why the parent zone was not found.
func lookupText(err error) string {
	var rcode survey.RcodeError
	switch {
	case errors.Is(err, survey.ErrNoParent):
		return "the resolver knows no parent zone of it"
	case errors.As(err, &rcode):
		return rcode.Error()
	default:
		return "the resolver did not answer"
	}
}

func hasChildDS(e *evidence) bool { return len(e.sec.cds)+len(e.sec.cdnskey) > 0 }

// deletion returns whether the zone requests the removal of its DS records, by algorithm 0, and the fault of the
// request: it must be the only record, and its other fields are fixed (RFC 8078 section 4).
func (e *evidence) deletion() (requested bool, fault string) {
	keys, odd := 0, false
	for _, ds := range e.sec.cds {
		if ds.Algorithm != 0 {
			keys++
			continue
		}
		requested = true
		odd = odd || ds.KeyTag != 0 || ds.DigestType != 0 || strings.Trim(ds.Digest, "0") != ""
	}
	for _, k := range e.sec.cdnskey {
		if k.Algorithm != 0 {
			keys++
			continue
		}
		requested = true
		odd = odd || k.Flags != 0 || k.Protocol != dnskeyProtocol || strings.Trim(k.PublicKey, "A=") != ""
	}
	switch {
	case requested && keys > 0:
		return true, "is beside " + phrase.Count(keys, "record") + " of keys"
	case requested && odd:
		return true, "has other fields that are not 0"
	}
	return requested, ""
}

// dnskeyProtocol is the only value of the field (RFC 4034 section 2.1.2).
const dnskeyProtocol = 3

// deletesDS reports whether the zone asks for its DS records to be removed.
func (e *evidence) deletesDS() bool {
	requested, _ := e.deletion()
	return requested
}

// childRules are about CDS and CDNSKEY, with which the zone asks for other DS records.
var childRules = rule.Rules[*evidence]{{
	Code: "zone.dnssec.cds.unsigned", Severity: diag.Warning, Weight: 1,
	Ref:   "Zonemaster DNSSEC16, DNSSEC17, RFC 7344 section 4.1",
	Title: "CDS or CDNSKEY records in an unsigned zone", Requirement: "CDS and CDNSKEY records are in a signed zone",
	Advice: "Remove the CDS and CDNSKEY records, or sign the zone.",
	When:   func(e *evidence) bool { return hasChildDS(e) && answeredByAtLeast(1, survey.ProbeKeys)(e) },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(!signed(e), "%s has CDS or CDNSKEY records and no DNSKEY record.", e.Domain)
	},
}, {
	Code: "zone.dnssec.cds.delete.malformed", Severity: diag.Warning, Weight: 1,
	DependsOn: []diag.Code{"zone.dnssec.cds.unsigned"}, Ref: "Zonemaster DNSSEC16, DNSSEC17, RFC 8078 section 4",
	Title: "Malformed request to remove the DS records", Requirement: "A request to remove the DS records is well-formed",
	Advice: "Publish CDS 0 0 0 00 and CDNSKEY 0 3 0 AA== alone if DNSSEC is to be switched off. Otherwise remove the " +
		"records with algorithm 0.",
	When: hasChildDS,
	Fails: func(e *evidence) rule.Failures {
		_, fault := e.deletion()
		return rule.FailIf(fault != "", "%s asks the parent zone to remove its DS records by a CDS or CDNSKEY record with "+
			"algorithm 0, but the request %s: parent zones ignore it.", e.Domain, fault)
	},
}, {
	Code: "zone.dnssec.cds.delete", Severity: diag.Info,
	DependsOn:   []diag.Code{"zone.dnssec.cds.unsigned", "zone.dnssec.cds.delete.malformed"},
	Ref:         "Zonemaster DNSSEC16, DNSSEC17, RFC 8078 section 4",
	Title:       "Zone asks for its DS records to be removed",
	Requirement: "The zone does not ask for its DS records to be removed",
	Advice:      "Remove these CDS and CDNSKEY records unless DNSSEC is to be switched off.", When: hasChildDS,
	Fails: func(e *evidence) rule.Failures {
		none := ""
		if e.cut.dsKnown && len(e.cut.ds) == 0 {
			none = ", which has none"
		}
		return rule.FailIf(e.deletesDS(), "%s has CDS or CDNSKEY records with algorithm 0, which ask for the removal of its "+
			"DS records from %s%s.", e.Domain, e.parentName(), none)
	},
}, {
	Code: "zone.dnssec.cds.differ", Severity: diag.Warning, Weight: 1, Ref: "Zonemaster DNSSEC15, RFC 7344 section 4",
	Title:       "CDS and CDNSKEY records contradict each other",
	Requirement: "CDS and CDNSKEY records are for the same keys",
	Advice:      "Publish CDS and CDNSKEY records for the same keys.",
	When:        func(e *evidence) bool { return len(e.sec.cds) > 0 && len(e.sec.cdnskey) > 0 && !e.deletesDS() },
	Fails: func(e *evidence) rule.Failures {
		for _, ds := range e.sec.cds {
			matches := func(k *dns.DNSKEY) bool { return dnssec.MatchesDS(ds, k) }
			if !slices.ContainsFunc(e.sec.cdnskey, matches) {
				return rule.Fail("There is a CDS record for key %d and no CDNSKEY record.", ds.KeyTag)
			}
		}
		for _, k := range e.sec.cdnskey {
			matches := func(ds *dns.DS) bool { return dnssec.MatchesDS(ds, k) }
			if !slices.ContainsFunc(e.sec.cds, matches) {
				return rule.Fail("There is a CDNSKEY record for key %d and no CDS record.", k.KeyTag())
			}
		}
		return nil
	},
}, {
	Code: "zone.dnssec.cds.mismatch", Severity: diag.Error, Weight: 3,
	Ref:         "Zonemaster DNSSEC16, DNSSEC17, RFC 7344 section 4.1",
	Title:       "CDS and CDNSKEY records match no key of the zone",
	Requirement: "A CDS or CDNSKEY record matches a key of the zone",
	Advice:      "Publish CDS and CDNSKEY records of the keys in use: following these breaks the domain.",
	When:        func(e *evidence) bool { return hasChildDS(e) && signed(e) && !e.deletesDS() },
	Fails: func(e *evidence) rule.Failures {
		for _, k := range e.sec.keys {
			same := func(c *dns.DNSKEY) bool { return dataOf(c) == dataOf(k) }
			if slices.ContainsFunc(e.sec.cds, func(ds *dns.DS) bool { return dnssec.MatchesDS(ds, k) }) ||
				slices.ContainsFunc(e.sec.cdnskey, same) {
				return nil
			}
		}
		return rule.Fail("None of the CDS and CDNSKEY records of %s matches one of its keys.", e.Domain)
	},
}, {
	Code: "zone.dnssec.cds.signature", Severity: diag.Error, Weight: 2,
	Ref:         "Zonemaster DNSSEC18, RFC 7344 section 4.1",
	Title:       "CDS or CDNSKEY records not signed by a trusted key",
	Requirement: "CDS and CDNSKEY records are signed by a key with a DS record",
	Advice:      "Sign the records with a key that has a DS record: otherwise the parent zone must ignore them.",
	When:        func(e *evidence) bool { return hasChildDS(e) && dsComparable(e) },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(!e.sec.cdsOK,
			"The CDS or CDNSKEY records of %s have no valid signature by a key with a DS record.", e.Domain)
	},
}, {
	Code: "zone.dnssec.cds.pending", Severity: diag.Info, Ref: "Zonemaster DNSSEC16, RFC 7344 section 6",
	Title:       "DS records differ from the CDS records",
	Requirement: "The DS records are those that the CDS records ask for",
	Advice:      "Wait if the parent zone processes CDS records; otherwise update the DS records at the registrar.",
	When:        func(e *evidence) bool { return len(e.sec.cds) > 0 && !e.deletesDS() && e.cut.dsKnown },
	Fails: func(e *evidence) rule.Failures {
		wanted, present := dsTexts(e.sec.cds), dsTexts(e.cut.ds)
		return rule.FailIf(!slices.Equal(wanted, present), "The CDS records of %s ask for other DS records than %s has.",
			e.Domain, e.parentName())
	},
}}

func dsTexts(list []*dns.DS) []string {
	texts := kit.Map(list, func(ds *dns.DS) string {
		return fmt.Sprint(ds.KeyTag, ds.Algorithm, ds.DigestType, strings.ToLower(ds.Digest))
	})
	slices.Sort(texts)
	return texts
}
