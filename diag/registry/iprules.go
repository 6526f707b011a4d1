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
		Code: "ipwhois.registry.limited", Severity: diag.Warning, StateIfFailed: diag.Unknown,
		Requirement: "The registry lets us ask",
		Ref:         "RFC 7480 section 5.5",
		Advice:      "Ask again later: nothing is known of the address.",
		When:        asked,
		Fails: func(e *ipEvidence) diag.Failures {
			return diag.FailIf(e.outcome == limited, "It refused to answer: %s.", e.excuse())
		},
	},
	{
		Code: "ipwhois.registry.unreadable", Severity: diag.Warning, StateIfFailed: diag.Unknown,
		Requirement: "The registry gives an answer that can be read",
		Advice:      "Look the address up on the web page of the registry: nothing is known of it.",
		When:        asked,
		Fails: func(e *ipEvidence) diag.Failures {
			return diag.FailIf(e.outcome == unreadable, "What was learned: %s.", e.excuse())
		},
	},
	{
		Code: "ipwhois.address.special", Severity: diag.Info,
		Requirement: "The address is one that is given out",
		Ref:         "RFC 6890 section 2.2",
		Fails: func(e *ipEvidence) diag.Failures {
			if e.purpose == nil {
				return nil
			}
			return diag.Fail("It belongs to %s, set aside by %s: %s.", e.block, e.purpose.RFC, e.purpose.Name)
		},
	},
	{
		Code: "ipwhois.network.missing", Severity: diag.Warning, StateIfFailed: diag.Missing,
		Requirement: "The address belongs to somebody",
		Ref:         "RFC 7020 section 3",
		Advice:      "Distrust what comes from it: an address that was given to nobody should not be in use.",
		When:        answered,
		Fails: func(e *ipEvidence) diag.Failures {
			return diag.FailIf(e.outcome != found, "The registry says that it is not given out.")
		},
	},
	{
		Code: "ipwhois.abuse.missing", Severity: diag.Warning,
		Requirement: "Abuse can be reported",
		Ref:         "RFC 9083 section 10.2.4",
		Advice:      "If the network is yours, enter an address for reports of abuse at the registry.",
		When:        held,
		Fails: func(e *ipEvidence) diag.Failures {
			a := e.facts.abuse
			return diag.FailIf(len(a.Emails)+len(a.Phones) == 0, "The registry has no contact for it.")
		},
	},
	{
		Code: "ipwhois.protocol.whois", Severity: diag.Info,
		Requirement: "The registry answers over RDAP",
		Ref:         "RFC 9224 section 5",
		When:        answered,
		Fails: func(e *ipEvidence) diag.Failures {
			switch {
			case e.source == FromRDAP:
				return nil
			case len(e.services) == 0:
				return diag.Fail("No RDAP service is known for the address, so WHOIS was asked.")
			default:
				return diag.Fail("The RDAP service failed, so WHOIS was asked: %s.", e.rdap.complaint())
			}
		},
	},
	{
		Code: "ipwhois.answer.malformed", Severity: diag.Info,
		Requirement: "The answers keep to the standard",
		Ref:         "RFC 9083 section 4, RFC 7095 section 3",
		When:        func(e *ipEvidence) bool { return held(e) && e.source == FromRDAP },
		Fails: func(e *ipEvidence) diag.Failures {
			return diag.FailIf(e.facts.faults > 0, "%d parts of them could not be read, and were left out.", e.facts.faults)
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
