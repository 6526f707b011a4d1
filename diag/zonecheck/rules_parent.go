package zonecheck

import (
	"cmp"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

var categoryParent = diag.Category{Code: string(CategoryParent), Label: "Parent zone"}

// parentRules are about the zone above.
var parentRules = diag.Rules[*evidence]{
	{
		Code: "zone.parent.unknown", Severity: diag.Critical, StateIfFailed: diag.Unknown, Category: categoryParent,
		Requirement: "The zone above says who serves the domain",
		Ref:         "Zonemaster BASIC01, RFC 1034 section 4.2.2",
		Advice:      "Try again: the servers of the zone above did not answer, or a resolver on the way failed.",
		Fails: func(e *evidence) diag.Failures {
			switch {
			case e.cut.known:
				return nil
			case e.parent.err != nil:
				return diag.Fail("%v.", e.parent.err)
			default:
				return diag.Fail("None of the servers of %s answered.", cmp.Or(bareName(e.parent.zone), "the zone above"))
			}
		},
	},
	{
		Code: "zone.parent.missing", Severity: diag.Critical, StateIfFailed: diag.Missing, Weight: 10, Category: categoryParent,
		Requirement: "The domain exists in the zone above",
		Ref:         "Zonemaster BASIC01, RFC 8020 section 2",
		Advice:      "Register the domain, or renew it; if it is registered, ask the registrar why it is not in the zone.",
		When:        func(e *evidence) bool { return e.cut.known },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.cut.missing, "The servers of %s say that there is no such name.", bareName(e.parent.zone))
		},
	},
	{
		Code: "zone.parent.undelegated", Severity: diag.Critical, StateIfFailed: diag.Missing, Weight: 10, Category: categoryParent,
		Requirement: "The zone above delegates the domain",
		Ref:         "Zonemaster BASIC01, RFC 1034 section 4.2.1",
		Advice:      "Check the domain above instead: this name is not a zone of its own. Or let the zone above delegate it.",
		When:        func(e *evidence) bool { return e.cut.known && !e.cut.missing },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.cut.plain, "The servers of %s name no servers for it.", bareName(e.parent.zone))
		},
	},
	{
		Code: "zone.parent.inconsistent", Severity: diag.Warning, Weight: 2, Category: categoryParent,
		Requirement: "All servers of the zone above say the same",
		Ref:         "Zonemaster BASIC01, RFC 1034 section 4.2.2",
		Advice:      "Wait until the change has reached all servers of the zone above; if it does not, ask the registrar.",
		When:        func(e *evidence) bool { return e.cut.known },
		Fails:       func(e *evidence) diag.Failures { return failing(e.cut.differ) },
	},
	{
		Code: "zone.parent.silent", Severity: diag.Info, Category: categoryParent,
		Requirement: "All servers of the zone above answer",
		Ref:         "Zonemaster BASIC01",
		Advice:      "Nothing can be done by the domain: resolvers turn to the other servers of the zone above.",
		When:        func(e *evidence) bool { return e.cut.known },
		Fails: func(e *evidence) diag.Failures {
			var list diag.Failures
			for _, v := range e.parent.views {
				if rcode := v.ns.rcode(); rcode != dns.RcodeSuccess && rcode != dns.RcodeNameError && e.heard[v.ip.Is6()] {
					list = append(list, diag.Failure{
						Detail: "It did not say who serves the domain.", Target: bareName(v.host) + " " + v.ip.String(),
					})
				}
			}
			return list
		},
	},
	{
		Code: "zone.name.hyphens", Severity: diag.Info, Category: categoryParent,
		Requirement: "No label of the domain has hyphens in the third and fourth place",
		Ref:         "Zonemaster SYNTAX03, RFC 5891 section 4.2.3.1",
		Advice:      "Choose another name if you can: such labels are reserved, and some programs refuse them.",
		Fails: func(e *evidence) diag.Failures {
			var list diag.Failures
			for label := range strings.SplitSeq(e.domain.String(), ".") {
				if len(label) > 3 && label[2:4] == "--" && !strings.HasPrefix(label, "xn--") {
					list = append(list, diag.Failure{Detail: "The label " + label + " has.", Target: label})
				}
			}
			return list
		},
	},
}
