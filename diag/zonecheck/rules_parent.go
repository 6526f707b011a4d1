package zonecheck

import (
	"errors"
	"maps"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/ground"
	"github.com/diagkit/diagkit/diag/zonecheck/survey"
)

// parentKnown reports whether the parent zone said anything about the domain.
func parentKnown(e *evidence) bool { return e.cut.known }

// existenceRules tell whether there is a zone at all.
var existenceRules = diag.Rules[*evidence]{{
	Code: "zone.parent.unknown", Severity: diag.Warning, StateIfFailed: diag.Unknown,
	Ref:   "Zonemaster BASIC01, RFC 1034 section 4.2.2",
	Title: "Parent zone could not be queried", Requirement: "The parent zone can be asked for the delegation",
	Advice: "Repeat the audit in a few minutes, or use another resolver.",
	Fails: func(e *evidence) diag.Failures {
		switch {
		case e.cut.known:
			return nil
		case e.Parent.Err != nil:
			return diag.Fail("The parent zone of %s could not be found: %s.", e.Domain, lookupText(e.Parent.Err))
		default:
			return diag.Fail("None of the servers of %s answered for %s.", e.parentName(), e.Domain)
		}
	},
}, {
	Code: "zone.parent.nxdomain", Severity: diag.Error, StateIfFailed: diag.Missing, NoScore: true, Fact: ground.NoName,
	Ref:   "Zonemaster BASIC01, RFC 8020 section 2",
	Title: "Domain does not exist", Requirement: "The domain exists",
	Advice: "Check the spelling. Register or renew the domain, or ask the registrar why it is not delegated.",
	When:   parentKnown,
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.cut.nxdomain, "The servers of %s answer NXDOMAIN for %s.", e.parentName(), e.Domain)
	},
}, {
	Code: "zone.parent.undelegated", Severity: diag.Info, StateIfFailed: diag.Missing, NoScore: true,
	Ref:   "Zonemaster BASIC01, RFC 1034 section 4.2.1",
	Title: "Name is not a zone of its own", Requirement: "The parent zone delegates the domain",
	Advice: "Audit the parent zone, which holds this name, or delegate the name to name servers of its own.",
	When:   func(e *evidence) bool { return e.cut.known && !e.cut.nxdomain },
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.cut.undelegated, "%s belongs to %s, which has no NS records for it.", e.Domain, e.parentName())
	},
}}

// parentRules are about the parent zone.
var parentRules = diag.Rules[*evidence]{{
	Code: "zone.parent.inconsistent", Severity: diag.Warning, Weight: 2,
	Ref:         "Zonemaster BASIC01, RFC 1034 section 4.2.2",
	Title:       "Servers of the parent zone disagree",
	Requirement: "All servers of the parent zone have the same delegation",
	Advice:      "Wait until all servers of the parent zone have the change. If they do not get it, ask the registrar.",
	When:        parentKnown,
	Fails: func(e *evidence) diag.Failures {
		if len(e.cut.views) < 2 {
			return nil
		}
		return diag.FailEach(slices.Sorted(maps.Keys(e.cut.views)), func(view string) diag.Failures {
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
