package mtasts

import (
	"fmt"
	"slices"

	"github.com/diagkit/diagkit/diag"
)

// exchangers reports whether the mail exchangers are known and there are any.
func exchangers(e *evidence) bool { return announced(e) && e.mx.Err() == nil && len(e.hosts) > 0 }

// compared reports whether they can be held against the policy.
func compared(e *evidence) bool { return exchangers(e) && active(e) }

// enforced reports whether senders hold the mail exchangers against the policy.
func (e *evidence) enforced() bool {
	return e.validRecord() && e.validPolicy() && e.policy.policy.Mode == Enforce
}

func uncovered(e *evidence) []host {
	var list []host
	for _, h := range e.hosts {
		if !h.covered {
			list = append(list, h)
		}
	}
	return list
}

// mxRules are about the mail exchangers.
var mxRules = diag.Rules[*evidence]{
	{
		Code: "mtasts.mx.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown,
		Requirement: "The name servers say who the mail exchangers are",
		Ref:         "RFC 5321 section 5.1",
		Advice:      "Mend the zone: mail waits while the mail exchangers or their addresses cannot be learned.",
		When:        announced,
		Fails: func(e *evidence) diag.Failures {
			if err := e.mx.Err(); err != nil {
				return diag.Fail("%v.", err)
			}
			var list diag.Failures
			for _, h := range e.hosts {
				if h.err != nil {
					list = append(list, diag.Failure{Detail: fmt.Sprintf("%v.", h.err), Target: h.name})
				}
			}
			return list
		},
	},
	{
		Code: "mtasts.mx.uncovered", Severity: diag.Error, Weight: 15, Category: factorMX,
		Requirement: "The policy lists every mail exchanger",
		Ref:         "RFC 8461 section 4.1",
		Advice:      "Add the missing hosts to the policy, then change the id of the record.",
		When:        compared,
		Fails: func(e *evidence) diag.Failures {
			consequence := "in the mode enforce senders would not deliver to it"
			if e.enforced() {
				consequence = "senders do not deliver to it"
			}
			var list diag.Failures
			for _, h := range uncovered(e) {
				list = append(list, diag.Failure{
					Detail: fmt.Sprintf("%s is not listed: %s.", h.name, consequence),
					Target: h.name, Suggested: e.newPolicy(),
				})
			}
			return list
		},
		Partly: func(e *evidence) float64 {
			return 0.5 * float64(len(e.hosts)-len(uncovered(e))) / float64(len(e.hosts))
		},
	},
	{
		Code: "mtasts.mx.undeliverable", Severity: diag.Critical, Weight: 5, Category: factorMX,
		Requirement: "Senders that heed the policy can deliver",
		Ref:         "RFC 8461 section 5",
		Advice:      "List the mail exchangers in the policy now, and change the id of the record: mail is being refused.",
		When:        func(e *evidence) bool { return compared(e) && e.enforced() },
		Fails: func(e *evidence) diag.Failures {
			if len(uncovered(e)) < len(e.hosts) {
				return nil
			}
			return diag.Failures{{
				Detail:    "The policy is enforced and lists none of the mail exchangers.",
				Suggested: e.newPolicy(),
			}}
		},
	},
	{
		Code: "mtasts.mx.unused", Severity: diag.Info,
		Requirement: "Every pattern of the policy matches a mail exchanger",
		Ref:         "RFC 8461 section 4.1",
		Advice:      "Remove the pattern, unless a change of mail exchangers is under way.",
		When:        compared,
		Fails: func(e *evidence) diag.Failures {
			var list diag.Failures
			for _, pattern := range e.policy.policy.MX {
				used := func(h host) bool { return matches(pattern, h.name) }
				if !slices.ContainsFunc(e.hosts, used) {
					list = append(list, diag.Failure{Detail: pattern + " matches no mail exchanger.", Target: pattern})
				}
			}
			return list[:min(len(list), maxListed)]
		},
	},
	{
		Code: "mtasts.mx.null", Severity: diag.Warning,
		Requirement: "The domain receives mail",
		Ref:         "RFC 7505 section 3",
		Advice:      "Take record and policy down, or remove the null MX: a domain without mail needs no policy.",
		When:        func(e *evidence) bool { return announced(e) && e.mx.Err() == nil },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.nullMX, "Its null MX says that it does not.")
		},
	},
	{
		Code: "mtasts.mx.missing", Severity: diag.Warning,
		Requirement: "The domain names its mail exchangers",
		Ref:         "RFC 5321 section 5.1",
		Advice:      "Publish MX records: without one senders turn to the address of the domain itself, if it has one.",
		When:        func(e *evidence) bool { return announced(e) && e.mx.Err() == nil },
		Fails: func(e *evidence) diag.Failures {
			switch {
			case e.mx.Exists():
				return nil
			case len(e.hosts) == 0:
				return diag.Fail("It has neither MX records nor an address.")
			default:
				return diag.Fail("It has no MX record; senders turn to the domain itself.")
			}
		},
	},
	{
		Code: "mtasts.mx.address.missing", Severity: diag.Warning,
		Requirement: "Every mail exchanger has an address",
		Ref:         "RFC 5321 section 5.1",
		Advice:      "Give the host an address, or remove its MX record.",
		When:        exchangers,
		Fails: func(e *evidence) diag.Failures {
			var list diag.Failures
			for _, h := range e.hosts {
				if len(h.addresses) == 0 && h.err == nil {
					list = append(list, diag.Failure{Detail: h.name + " has no address.", Target: h.name})
				}
			}
			return list
		},
	},
	{
		Code: "mtasts.mx.many", Severity: diag.Info,
		Requirement: "All mail exchangers were looked at",
		Advice:      "Remove mail exchangers: senders try only a few.",
		When:        exchangers,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.surplus > 0, "There are %d more than the %d that were looked at.",
				e.surplus, MaxMXHosts)
		},
	},
}
