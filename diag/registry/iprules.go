package registry

import (
	"github.com/diagkit/diagkit/diag"
)

func held(e *ipEvidence) bool     { return e.purpose == nil && e.outcome == found }
func asked(e *ipEvidence) bool    { return e.purpose == nil }
func answered(e *ipEvidence) bool { return e.purpose == nil && e.outcome.conclusive() }

// ipRules are those of an address.
var ipRules = diag.Rules[*ipEvidence]{{
	Code: "ipwhois.registry.unreadable", Severity: diag.Warning, StateIfFailed: diag.Unknown,
	Ref:   "RFC 3912 section 2, RFC 9083 section 5.4",
	Title: "Registry's answer could not be read", Requirement: "The registry's answer can be read",
	Advice: "Look the address up on the registry's website.", When: asked,
	Fails: func(e *ipEvidence) diag.Failures {
		return diag.FailIf(e.outcome == unreadable, "Nothing is known about the address: %s.", excuse(e.rdap, e.whois))
	},
}, {
	Code: "ipwhois.address.special", Severity: diag.Info, Ref: "RFC 6890 section 2.2",
	Title: "Special-purpose address", Requirement: "The address is not a special-purpose one",
	Advice: "Ask whoever runs the network: registries hold no data about such addresses.",
	Fails: func(e *ipEvidence) diag.Failures {
		if e.purpose == nil {
			return nil
		}
		return diag.Fail("The address belongs to %s, which %s reserves: %s.", e.block, e.purpose.RFC, e.purpose.Name)
	},
}, {
	Code: "ipwhois.network.missing", Severity: diag.Warning, StateIfFailed: diag.Missing, Ref: "RFC 7020 section 3",
	Title: "Address not allocated", Requirement: "The address is allocated",
	Advice: "Block it: traffic from an address that nobody holds is forged or misrouted.", When: answered,
	Fails: func(e *ipEvidence) diag.Failures {
		return diag.FailIf(e.outcome != found, "The registry says that the address is not allocated.")
	},
}, {
	Code: "ipwhois.abuse.missing", Severity: diag.Warning, Ref: "RFC 9083 section 10.2.4",
	Title: "No abuse contact", Requirement: "The network has an abuse contact",
	Advice: "Register an abuse contact at the registry if the network is yours.", When: held,
	Fails: func(e *ipEvidence) diag.Failures {
		a := e.facts.abuse
		return diag.FailIf(len(a.Emails)+len(a.Phones) == 0, "The registry lists no address or phone number for abuse reports.")
	},
}}
