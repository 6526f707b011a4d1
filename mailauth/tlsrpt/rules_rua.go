package tlsrpt

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// addressRules are about where reports go, as far as the record tells.
var addressRules = diag.Rules[*evidence]{
	{
		Code: "tlsrpt.rua.missing", Severity: diag.Critical, Weight: 4, Category: factorAddress,
		Title:       "No report address (rua) in the record",
		Requirement: "The record has a report address (rua)",
		Ref:         "RFC 8460 section 3",
		Advice:      "Add rua with the address to which reports are to go, such as rua=mailto:tls-reports@ and your domain.",
		When:        kit.One,
		Fails:       kit.Faults(noRUA),
	},
	{
		Code: "tlsrpt.rua.invalid", Severity: diag.Error, Weight: 4, Category: factorAddress,
		DependsOn:   []diag.Code{"tlsrpt.rua.missing"},
		Title:       "Report address in rua is not a valid mailto or https URI",
		Requirement: "Every report address in rua is a valid URI of mailto or https",
		Ref:         "RFC 8460 section 3",
		Advice: "Write each address as mailto:local-part@domain or as an https URI, and one comma between two of them: " +
			"senders send nothing to what they cannot read.",
		Fails: kit.Faults(badRUA),
	},
	{
		Code: "tlsrpt.rua.duplicate", Severity: diag.Info,
		DependsOn:   []diag.Code{"tlsrpt.rua.invalid"},
		Title:       "Report address appears twice",
		Requirement: "No report address appears twice",
		Ref:         "RFC 8460 section 3",
		Advice:      "Remove one of them: senders may report twice.",
		Fails: func(e *evidence) diag.Failures {
			var all diag.Failures
			for i, a := range e.addresses {
				same := func(b address) bool { return strings.EqualFold(a.Text, b.Text) }
				all = append(all, diag.FailIf(slices.ContainsFunc(e.addresses[:i], same), "%q appears again in rua.",
					diag.Quote(a.Text)).About(a.Text)...)
			}
			return all.Suggesting(e.suggested)
		},
	},
}

// followed reports whether there are destinations that were looked at.
func followed(e *evidence) bool { return kit.One(e) && len(e.destinations) > 0 }

// lost reports whether no destination at all can get a report.
func lost(e *evidence) bool {
	arrives := func(d destination) bool { return d.refusal() == "" }
	return followed(e) && e.unchecked == 0 && !slices.ContainsFunc(e.destinations, arrives)
}

// eachDestination makes the test of a rule about each destination.
func eachDestination(fails func(*evidence, *destination) diag.Failures) func(*evidence) diag.Failures {
	return func(e *evidence) (all diag.Failures) {
		for i := range e.destinations {
			d := &e.destinations[i]
			all = append(all, fails(e, d).About(d.domain)...)
		}
		return all
	}
}

// undeliverable tells why no report arrives at a destination.
func undeliverable(_ *evidence, d *destination) diag.Failures {
	why := d.refusal()
	return diag.FailIf(why != "", "Reports to %s cannot be delivered: %s %s.", diag.Quote(d.uris[0].Text), d.domain, why)
}

// only makes of the test of a rule one about the destinations of a scheme.
func only(scheme string, fails func(*evidence, *destination) diag.Failures) func(*evidence) diag.Failures {
	return eachDestination(func(e *evidence, d *destination) diag.Failures {
		if d.scheme != scheme {
			return nil
		}
		return fails(e, d)
	})
}

// settled reports whether the destinations of a scheme can be judged: there are some, at least one gets reports, and
// the servers left open none that would have to be praised.
func settled(scheme string) func(*evidence) bool {
	return func(e *evidence) bool {
		of := func(d destination) bool { return d.scheme == scheme }
		open := func(d destination) bool { return of(d) && d.unknown() != "" }
		refused := only(scheme, undeliverable)(e) != nil
		return followed(e) && !lost(e) && slices.ContainsFunc(e.destinations, of) &&
			(refused || !slices.ContainsFunc(e.destinations, open))
	}
}

// reachable reports whether it is known if any destination gets reports.
func reachable(e *evidence) bool {
	arrives := func(d destination) bool { return d.unknown() == "" && d.refusal() == "" }
	return lost(e) || followed(e) && slices.ContainsFunc(e.destinations, arrives)
}

// unauthorized tells of destinations of other organizations that say nothing about the reports.
var unauthorized = eachDestination(func(e *evidence, d *destination) diag.Failures {
	yes, known := d.authorized()
	return diag.FailIf(d.external && known && !yes, "Reports about %s go to %s, which publishes nothing about them at %s.",
		e.domain, d.domain, d.consentName)
})

// destinationRules are about whether reports can arrive.
var destinationRules = diag.Rules[*evidence]{
	{
		Code: "tlsrpt.destination.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown,
		Title:       "Report destination could not be looked up",
		Requirement: "The name servers of every report destination answer",
		Ref:         "RFC 8460 section 3",
		Advice:      "Check the name servers of the destination: senders that cannot look it up cannot deliver reports.",
		When:        followed,
		Fails: eachDestination(func(_ *evidence, d *destination) diag.Failures {
			why := d.unknown()
			return diag.FailIf(why != "", "Whether reports arrive at %s is not known: %s.", d.domain, why)
		}),
	},
	{
		Code: "tlsrpt.destination.none", Severity: diag.Error, Weight: 4, Category: factorDelivery,
		Title:       "No report address can receive reports",
		Requirement: "At least one report address can receive reports",
		Ref:         "RFC 8460 section 3",
		Advice:      "Correct the address, or set up its destination: until then every report is lost.",
		When:        reachable,
		Fails: func(e *evidence) diag.Failures {
			if !lost(e) {
				return nil
			}
			return eachDestination(undeliverable)(e)
		},
	},
	{
		Code: "tlsrpt.destination.undeliverable", Severity: diag.Warning, Weight: 2, Category: factorDelivery,
		Title:       "Domain of a report address receives no mail",
		Requirement: "The domain of every mailto address receives mail",
		Ref:         "RFC 5321 section 5.1",
		Advice:      "Correct the address, or publish an MX record for its domain: reports to it are lost.",
		When:        settled("mailto"),
		Fails:       only("mailto", undeliverable),
	},
	{
		Code: "tlsrpt.destination.host", Severity: diag.Warning, Weight: 2, Category: factorDelivery,
		Title:       "Host of an https report address has no address in the DNS",
		Requirement: "The host of every https address has an address in the DNS",
		Ref:         "RFC 8460 section 5.4",
		Advice:      "Correct the URI, or publish an A or AAAA record for its host: reports to it are lost.",
		When:        settled("https"),
		Fails:       only("https", undeliverable),
	},
	{
		Code: "tlsrpt.destination.external", Severity: diag.Info,
		Title:       "Reports go to another organization",
		Requirement: "Reports stay in the organization, or the destination says that it takes them",
		Ref:         "RFC 8460 section 3",
		Advice: "Make sure that the operator of the destination expects the reports. TLSRPT asks for no authorization, " +
			"so that nothing needs to be published.",
		When: func(e *evidence) bool {
			open := func(d destination) bool {
				_, known := d.authorized()
				return d.external && !known
			}
			return followed(e) && (unauthorized(e) != nil || !slices.ContainsFunc(e.destinations, open))
		},
		Fails: unauthorized,
	},
	{
		Code: "tlsrpt.destination.many", Severity: diag.Info,
		Title:       "Too many report destinations to check",
		Requirement: "All report destinations were checked",
		Ref:         "RFC 8460 section 3",
		Advice:      "Remove addresses: distribute the reports behind one.",
		When:        followed,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.unchecked > 0, "Only %d destinations were checked, which leaves out %s.", MaxDestinations,
				diag.Count(e.unchecked, "URI"))
		},
	},
}

// policyRules are about what reports are worth.
var policyRules = diag.Rules[*evidence]{
	{
		Code: "tlsrpt.policy.missing", Severity: diag.Info,
		Title:       "Neither MTA-STS nor DANE to report about",
		Requirement: "The domain has MTA-STS or DANE, whose failures reports tell",
		Ref:         "RFC 8460 section 1",
		Advice: "Set up MTA-STS in testing mode: reports then name the senders that could not deliver, before a policy " +
			"is enforced.",
		When: func(e *evidence) bool { return kit.One(e) && e.receives() && e.policiesKnown() },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(!e.protectedBySTS() && !e.protectedByDANE(),
				"There is no MTA-STS record at _mta-sts.%s and no TLSA record of a mail server, so that reports tell little "+
					"more than whether STARTTLS worked.", e.domain)
		},
	},
	{
		Code: "tlsrpt.record.unneeded", Severity: diag.Info,
		Title:       "Domain with a TLSRPT record receives no mail",
		Requirement: "The domain receives mail, which reports are about",
		Ref:         "RFC 8460 section 3",
		Advice:      "Remove the record, or leave it: without incoming mail nobody sends reports.",
		When: func(e *evidence) bool {
			_, known := e.mail.Receives()
			return kit.One(e) && known
		},
		Fails: func(e *evidence) diag.Failures {
			why := e.mail.Refusal()
			return diag.FailIf(why != "", "%s %s, so that no sender has anything to report.", e.domain, why)
		},
	},
}
