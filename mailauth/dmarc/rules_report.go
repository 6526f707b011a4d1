package dmarc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
)

var reportRules = rule.Rules[*evidence]{{
	Code: "dmarc.rua.missing", Severity: diag.Warning, Weight: 10, Category: factorReporting,
	Ref:   "RFC 9989 section 5.1.3",
	Title: "No DMARC reports are requested (no rua)", Requirement: "The record asks for aggregate reports (rua)",
	Advice: "Set up a mailbox and add it as rua=mailto:…: only aggregate reports show which of your services fail, " +
		"and who forges the domain.",
	When: func(e *evidence) bool {
		quiet := receivesNoMail(e) && e.requested() == policy.Reject // no mail, and all that forges the domain is refused
		return usable(e) && !quiet && len(e.fragments) == 0
	},
	Fails: func(e *evidence) rule.Failures {
		if e.record.Has("rua") {
			return nil
		}
		f := rule.Fail("The record has no rua, so that receivers send no aggregate reports.")
		if e.requested() == policy.None {
			f = rule.Fail("With p=none and no rua the record neither protects the domain nor brings reports.")
		}
		receives, _ := e.mail.Receives()
		if e.location == "" || !e.valid() || !e.offline && (!receives || e.inherited()) {
			return f
		}
		return f.Suggesting(e.recordWith("rua", e.mailbox()))
	},
}, {
	Code: "dmarc.uri.invalid", Severity: diag.Error, Weight: 2, Category: factorReporting, Ref: "RFC 9989 section 4.6",
	Title: "Invalid DMARC report address (rua or ruf)", Requirement: "Every destination of reports is a valid URI",
	Advice: "Write each address as mailto:local-part@domain, and a comma between two of them: receivers send nothing " +
		"to what they cannot read.",
	When:  func(e *evidence) bool { return tagRules.HasOne(e) && (e.record.Has("rua") || e.record.Has("ruf")) },
	Fails: tagRules.Faults(policy.BadURI),
}, {
	Code: "dmarc.uri.empty", Severity: diag.Warning, Ref: "RFC 9989 section 4.8",
	Title:       "Comma without a report address beside it",
	Requirement: "There is a report address on each side of every comma",
	Advice:      "Remove the comma: some receivers read none of the addresses.",
	When:        tagRules.HasOne, Fails: tagRules.Faults(policy.EmptyURI),
}, {
	Code: "dmarc.uri.scheme", Severity: diag.Warning, Ref: "RFC 9989 section 4.7",
	Title: "DMARC report address that is not mailto", Requirement: "Every report address is a mailto URI",
	Advice: "Add a mailto address: receivers need not support anything else.",
	When:   func(e *evidence) bool { return tagRules.HasOne(e) && e.record.Reported() },
	Fails: func(e *evidence) rule.Failures {
		return eachURI(e, func(u policy.URI) rule.Failures {
			return rule.FailIf(u.Valid() && u.Scheme != "mailto", "Few receivers, if any, send reports to %q.",
				phrase.Quote(u.Text))
		})
	},
}, {
	Code: "dmarc.uri.external", Severity: diag.Info, Ref: "RFC 9990 section 4",
	Title:       "Report address in another domain needs its consent",
	Requirement: "Every report address belongs to the domain",
	Advice: "Have v=DMARC1 published as a TXT record at the name in the detail before you publish the record: without " +
		"it receivers send no reports there.",
	When: func(e *evidence) bool { return e.offline && tagRules.HasOne(e) && e.location != "" },
	Fails: func(e *evidence) rule.Failures {
		return eachURI(e, func(u policy.URI) rule.Failures {
			return rule.FailIf(u.Valid() && e.external(u), "%s must accept the reports of %s at %s.", u.Domain, e.location,
				policy.ConsentName("_dmarc", e.location, u.Domain))
		})
	},
}}

func eachURI(e *evidence, fails func(policy.URI) rule.Failures) rule.Failures {
	return rule.FailEach(slices.Concat(e.record.AggregateURIs, e.record.FailureURIs), func(u policy.URI) rule.Failures {
		return at(fails(u).About(u.Text), taglist.Tag{Offset: u.Offset, Length: u.Length})
	})
}

func hasDestinations(e *evidence) bool { return tagRules.HasOne(e) && len(e.destinations) > 0 }

func hasExternalDestinations(e *evidence) bool {
	return hasDestinations(e) && slices.ContainsFunc(e.destinations, func(d destination) bool { return d.external })
}

var destinationRules = rule.Rules[*evidence]{{
	Code: "dmarc.destination.consent.unknown", Severity: diag.Warning, StateIfFailed: diag.Unknown,
	Ref:         "RFC 9990 section 4",
	Title:       "Authorization by a report destination could not be looked up",
	Requirement: "The name servers of every report destination answer for its authorization record",
	Advice:      "Try again later: receivers that cannot look it up send no reports meanwhile.",
	When:        hasExternalDestinations, Fails: eachDestination(func(e *evidence, d *destination) rule.Failures {
		_, known := d.consent.Given()
		if !d.external || known {
			return nil
		}
		return rule.Fail("Whether %s accepts reports for %s is not known: the TXT lookup of %s failed: %s.", d.domain,
			e.location, d.consent.Name, diag.Reason(d.consent.Answer.Err()))
	}),
}, {
	Code: "dmarc.destination.unauthorized", Severity: diag.Warning, Weight: 2, Category: factorReporting,
	Reads: []rule.Source{fromRecord, fromExistence, fromConsent}, HoldsWhenUnanswered: true, Ref: "RFC 9990 section 4",
	Title:       "Report destination has not authorized DMARC reports",
	Requirement: "Every external report destination has authorized the reports",
	Advice: "Ask the operator of the destination to publish v=DMARC1 as a TXT record at the name in the detail, or use " +
		"an address of your own domain: until then receivers send no reports there.",
	When: hasExternalDestinations, Fails: eachDestination(func(e *evidence, d *destination) rule.Failures {
		yes, known := d.consent.Given()
		switch {
		case !d.external || yes || !known:
			return nil
		case d.consent.TooLong:
			return rule.Fail("%s cannot accept reports for %s: the name %s would be too long.", d.domain, e.location,
				d.consent.Name)
		case d.consent.Answer.Exists():
			return rule.Fail("%s is not authorized to receive reports for %s: the TXT record at %s does not begin with "+
				"v=DMARC1.", d.domain, e.location, d.consent.Name)
		default:
			return rule.Fail("%s is not authorized to receive reports for %s: there is no TXT record at %s.", d.domain,
				e.location, d.consent.Name)
		}
	}),
}, {
	Code: "dmarc.destination.override.elsewhere", Severity: diag.Warning,
	Reads: []rule.Source{fromRecord, fromExistence, fromConsent}, HoldsWhenUnanswered: true, Ref: "RFC 9990 section 4",
	Title:       "Report destination redirects reports to another host",
	Requirement: "No report destination redirects reports to another host",
	Advice: "Ask the operator of the destination to remove rua from its authorization record, or use another address: " +
		"receivers send no reports at all.",
	When:  hasExternalDestinations,
	Fails: eachDestination(func(_ *evidence, d *destination) rule.Failures { return d.overridden() }),
}, {
	Code: "dmarc.destination.mail.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 5321 section 5.1",
	Title:       "Mail servers of a report destination could not be looked up",
	Requirement: "The name servers of every report destination answer for its mail servers",
	Advice:      "Try again later: reports wait meanwhile.",
	When:        hasDestinations, Fails: eachDestination(func(_ *evidence, d *destination) rule.Failures {
		why := d.mail.Unknown()
		return rule.FailIf(why != "", "Whether %s receives mail is not known: %s.", d.domain, why)
	}),
}, {
	Code: "dmarc.destination.undeliverable", Severity: diag.Warning, Weight: 1, Category: factorReporting,
	Reads: []rule.Source{fromRecord, fromExistence, fromReports}, HoldsWhenUnanswered: true, Ref: "RFC 5321 section 5.1",
	Title:       "Domain of a DMARC report address receives no mail",
	Requirement: "The domain of every report address receives mail",
	Advice:      "Correct the address, or publish an MX record for its domain: reports to it are lost.",
	When:        hasDestinations, Fails: eachDestination(func(_ *evidence, d *destination) rule.Failures {
		why := d.mail.Refusal()
		return rule.FailIf(why != "" && d.uris[0].Scheme == "mailto", "Reports to %s cannot be delivered: %s %s.",
			phrase.Quote(d.uris[0].Text), d.domain, why)
	}),
}, {
	Code: "dmarc.destination.many", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 7489 section 6.2",
	Title: "Too many report destinations to check", Requirement: "All report destinations were checked",
	Advice: "Remove addresses: receivers need to serve only two.",
	When:   hasDestinations, Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.unchecked > 0, "Only %d domains were checked, which leaves out %s.", maxDestinations,
			phrase.Count(e.unchecked, "destination"))
	},
}}

// overridden fails for addresses at another host that replace that of the record.
func (d *destination) overridden() rule.Failures {
	list, allowed := d.consent.Overrides()
	return rule.FailIf(len(list) > 0 && !allowed, "The record at %s replaces the address of the domain by %s.",
		d.consent.Name, phrase.Quote(strings.Join(list, ", ")))
}

func eachDestination(fails func(*evidence, *destination) rule.Failures) func(*evidence) rule.Failures {
	return func(e *evidence) (all rule.Failures) {
		for i := range e.destinations {
			d := &e.destinations[i]
			all = append(all, fails(e, d).About(d.domain)...)
		}
		return all.Joined()
	}
}

var discoveryRules = rule.Rules[*evidence]{{
	Code: "dmarc.record.nearest", Severity: diag.Info, Ref: "RFC 9989 section 4.10.1",
	Title:       "Record of a nearer parent does not apply",
	Requirement: "No parent between the domain and the record has a record",
	Advice: "Add psd=n to the nearer record if the domains below it are to follow it: otherwise only its own domain " +
		"does.",
	When: func(e *evidence) bool { return lookedUp(e) && e.inherited() },
	Fails: func(e *evidence) rule.Failures {
		var all rule.Failures
		for _, s := range e.discovery.Walk.Steps[1:] {
			if s.Domain == e.location {
				break
			}
			all = append(all, rule.FailIf(s.Record != nil,
				"The record at %s applies to that domain only: %s is the organizational domain of %s.", s.Name,
				e.discovery.Tree.Organizational, e.domain).About(s.Name)...)
		}
		return all
	},
}, {
	Code: "dmarc.standards.differ", Severity: diag.Info, Ref: "RFC 9989 appendix C.3",
	Title:       "Receivers of RFC 7489 and RFC 9989 apply different policies",
	Requirement: "Receivers of RFC 7489 and RFC 9989 apply the same policy",
	Advice:      "Decide which of the two is meant, and write a record that both read in the same way.",
	When:        tagRules.HasOne, Fails: func(e *evidence) rule.Failures {
		if e.offline {
			older, newer := e.legacyReading.Applied, e.reading.Applied
			older.Nonexistent, newer.Nonexistent = "", "" // only RFC 9989 has np
			return rule.FailIf(older != newer || e.legacyReading.Percentage != e.reading.Percentage,
				"Receivers of RFC 7489 apply %s, those of RFC 9989 %s.", treatmentText(e.legacyReading), treatmentText(e.reading))
		}
		older, newer := e.view(policy.RFC7489), e.view(policy.RFC9989)
		if older.PolicyDomain == newer.PolicyDomain {
			return rule.FailIf(older.AppliedPolicy != newer.AppliedPolicy || older.Percentage != newer.Percentage,
				"For mail from %s, receivers of RFC 7489 apply %s, those of RFC 9989 %s.", e.domain,
				older.treatmentText(), newer.treatmentText())
		}
		return rule.Fail("For mail from %s, receivers of RFC 7489 apply %s, those of RFC 9989 %s.", e.domain,
			older.treatmentText()+from(older.PolicyDomain), newer.treatmentText()+from(newer.PolicyDomain))
	},
}}

func treatmentText(r policy.Reading) string {
	switch {
	case !r.Usable:
		return "no DMARC"
	case r.Applied.Subdomain != r.Applied.Domain:
		return string(r.Applied.Domain) + " (subdomains " + string(r.Applied.Subdomain) + ")" + percentageText(r.Percentage)
	default:
		return string(r.Applied.Domain) + percentageText(r.Percentage)
	}
}

func (v View) treatmentText() string {
	if !v.Usable {
		return "no DMARC"
	}
	return string(v.AppliedPolicy) + percentageText(v.Percentage)
}

func percentageText(percentage int) string {
	if percentage == policy.DefaultPercentage {
		return ""
	}
	return fmt.Sprintf(" to %d %% of the mail", percentage)
}

func from(domain string) string {
	if domain == "" {
		return ""
	}
	return " (record of " + domain + ")"
}
