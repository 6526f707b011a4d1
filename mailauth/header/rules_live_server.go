package header

import (
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/arc"
)

// ptrKnown reports whether the names of the sending server are known, or known to be missing.
func ptrKnown(a *analysis) bool { return checked(a) && a.live.ptr != nil && a.live.ptr.err == nil }

var liveServerRules = diag.Rules[*analysis]{
	{
		Code: "header.live.hop", Severity: diag.Info, Category: liveHost,
		Title:       "The server that delivered from outside is not known",
		Requirement: "The server that delivered from outside is known",
		Ref:         "RFC 5321 section 4.4",
		Advice: "Name the receiver's own servers and mail filters in trusted_authserv_ids, and submit all Received " +
			"fields.",
		When: checked,
		Fails: func(a *analysis) diag.Failures {
			return diag.FailIf(a.live.hop == nil, "SPF and PTR were not checked. %s", a.live.why)
		},
	},
	{
		Code: "header.live.ptr.missing", Severity: diag.Warning, Weight: 10, Category: liveHost,
		Title:       "The sending address has no name (PTR record)",
		Requirement: "The sending address has a name (PTR record)",
		Ref:         "RFC 1912 section 2.1",
		Advice: "Have the operator of the server publish a PTR record for its address that names a host with this address: " +
			"Google, Microsoft and " +
			"Yahoo refuse or defer mail from addresses without one.",
		When: ptrKnown,
		Fails: func(a *analysis) diag.Failures {
			return diag.FailIf(len(a.live.ptr.Hostnames) == 0,
				"The address %s, from which the message came, has no PTR record: there is no reverse "+
					"DNS.", a.live.ptr.IP).About(a.live.ptr.IP)
		},
	},
	{
		Code: "header.live.ptr.unconfirmed", Severity: diag.Warning, Weight: 10, Category: liveHost,
		Title:       "The name of the sending address does not lead back to it",
		Requirement: "The name of the sending address leads back to it",
		Ref:         "RFC 1912 section 2.1", DependsOn: []diag.Code{"header.live.ptr.missing"},
		Advice: "Have the operator of the server publish an address record for the name in the PTR record: anybody can " +
			"write any name into a " +
			"PTR record, and large receivers ask for one that leads back.",
		When: ptrKnown,
		Fails: func(a *analysis) diag.Failures {
			p := a.live.ptr
			return diag.FailIf(!p.ForwardConfirmed, "The PTR record of %s names %s, which does not have this address.", p.IP,
				strings.Join(p.Hostnames, ", ")).About(p.IP)
		},
	},
	{
		Code: "header.live.ptr.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, Category: liveHost,
		Title:       "The name of the sending address could not be looked up",
		Requirement: "The name of the sending address could be looked up",
		Ref:         "RFC 1912 section 2.1",
		Advice:      "Repeat the check later.",
		When:        func(a *analysis) bool { return checked(a) && a.live.ptr != nil },
		Fails: func(a *analysis) diag.Failures {
			return diag.FailIf(a.live.ptr.err != nil, "The PTR record of %s, or what it names, could not be looked up: %s.",
				a.live.ptr.IP, a.live.ptr.Error).About(a.live.ptr.IP)
		},
	},
	{
		Code: "header.live.gateway", Severity: diag.Info, Category: liveHost,
		Title:       "The message came through a mail filter",
		Requirement: "No mail filter of others stands between",
		Ref:         "RFC 7208 section 2.5",
		Advice: "If the filter is the receiver's, name its domain in trusted_authserv_ids: SPF has to be checked for the " +
			"server that delivered to " +
			"the filter.",
		When: func(a *analysis) bool { return ptrKnown(a) && !passes(a) },
		Fails: func(a *analysis) diag.Failures {
			return diag.FailIf(a.gateway() != "", "The server that delivered the message, %s, is a mail filter, whose "+
				"customer may be the "+
				"sender or the receiver.", a.gateway())
		},
	},
	{
		Code: "header.live.arc.failed", Severity: diag.Info, Category: liveHost,
		Title:       "The ARC chain is not valid",
		Requirement: "The ARC chain is valid",
		Ref:         "RFC 8617 section 5.2",
		Advice: "Give no weight to what the chain says of earlier results. Whoever changed the message after the last " +
			"seal, or sealed it wrongly, " +
			"has to fix that.",
		When: func(a *analysis) bool {
			return checked(a) && (a.live.arc.Result == arc.Pass || a.live.arc.Result == arc.Fail)
		},
		Fails: func(a *analysis) diag.Failures {
			return diag.FailIf(a.live.arc.Result == arc.Fail, "The ARC chain of %s fails. %s",
				diag.Count(len(a.live.arc.Sets), "set"), a.live.arc.Reason)
		},
	},
}
