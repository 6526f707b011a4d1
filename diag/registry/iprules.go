package registry

import (
	"strings"

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
			return diag.FailIf(e.outcome == unreadable, "Nothing is known about the address: %s.", e.excuse())
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
		Advice:      "If the network is yours, register an abuse contact at the registry.",
		When:        held,
		Fails: func(e *ipEvidence) diag.Failures {
			a := e.facts.abuse
			return diag.FailIf(len(a.Emails)+len(a.Phones) == 0, "The registry lists no address or phone number for abuse reports.")
		},
	},
	{
		Code: "ipwhois.protocol.whois", Severity: diag.Info,
		Title:       "Answer from WHOIS instead of RDAP",
		Requirement: "The registry answered over RDAP",
		Ref:         "RFC 9224 section 5",
		Advice:      "Check important details on the registry's web site: WHOIS answers have no fixed format.",
		When:        answered,
		Fails: func(e *ipEvidence) diag.Failures {
			switch {
			case e.source == FromRDAP:
				return nil
			case len(e.services) == 0:
				return diag.Fail("No RDAP service is known for the address, so WHOIS was queried.")
			default:
				return diag.Fail("The RDAP service failed, so WHOIS was queried: %s.", e.rdap.complaint())
			}
		},
	},
	{
		Code: "ipwhois.answer.malformed", Severity: diag.Info,
		Title:       "RDAP answer violates the standard",
		Requirement: "The RDAP answer conforms to the standard",
		Ref:         "RFC 9083 section 4, RFC 7095 section 3",
		Advice:      "Check missing details on the registry's web site.",
		When:        func(e *ipEvidence) bool { return held(e) && e.source == FromRDAP },
		Fails: func(e *ipEvidence) diag.Failures {
			return diag.FailIf(e.facts.faults > 0, "Some of the answer could not be read and was left out (in %d places).", e.facts.faults)
		},
	},
}

// excuse says why nothing is known.
func (e *ipEvidence) excuse() string {
	var list []string
	if e.rdap.url != "" {
		list = append(list, e.rdap.complaint())
	}
	return strings.Join(append(list, excuses(e.whois)...), "; ")
}
