package registry

import (
	"github.com/diagkit/diagkit/diag"
)

func held(e *ipEvidence) bool     { return e.purpose == nil && e.outcome == found }
func asked(e *ipEvidence) bool    { return e.purpose == nil }
func answered(e *ipEvidence) bool { return e.purpose == nil && e.outcome.conclusive() }

// ipRules are those of an address.
var ipRules = diag.Rules[*ipEvidence]{
	{
		Code: "ipwhois.registry.unreadable", Severity: diag.Warning, StateIfFailed: diag.Unknown,
		Title:       "Registry's answer could not be read",
		Requirement: "The registry's answer can be read",
		Ref:         "RFC 3912 section 2, RFC 9083 section 5.4",
		Advice:      "Look the address up on the registry's web site.",
		When:        asked,
		Fails: func(e *ipEvidence) diag.Failures {
			return diag.FailIf(e.outcome == unreadable, "Nothing is known about the address: %s.", excuse(e.rdap, e.whois))
		},
	},
	{
		Code: "ipwhois.address.special", Severity: diag.Info,
		Title:       "Special-purpose address",
		Requirement: "The address is not a special-purpose one",
		Ref:         "RFC 6890 section 2.2",
		Advice:      "Ask whoever runs the network: registries hold no data about such addresses.",
		Fails: func(e *ipEvidence) diag.Failures {
			if e.purpose == nil {
				return nil
			}
			return diag.Fail("The address belongs to %s, which %s reserves: %s.", e.block, e.purpose.RFC, e.purpose.Name)
		},
	},
	{
		Code: "ipwhois.network.missing", Severity: diag.Warning, StateIfFailed: diag.Missing,
		Title:       "Address not allocated",
		Requirement: "The address is allocated",
		Ref:         "RFC 7020 section 3",
		Advice:      "Block it: traffic from an address that nobody holds is forged or misrouted.",
		When:        answered,
		Fails: func(e *ipEvidence) diag.Failures {
			return diag.FailIf(e.outcome != found, "The registry says that the address is not allocated.")
		},
	},
	{
		Code: "ipwhois.abuse.missing", Severity: diag.Warning,
		Title:       "No abuse contact",
		Requirement: "The network has an abuse contact",
		Ref:         "RFC 9083 section 10.2.4",
		Advice:      "Register an abuse contact at the registry if the network is yours.",
		When:        held,
		Fails: func(e *ipEvidence) diag.Failures {
			a := e.facts.abuse
			return diag.FailIf(len(a.Emails)+len(a.Phones) == 0, "The registry lists no address or phone number for abuse reports.")
		},
	},
}
