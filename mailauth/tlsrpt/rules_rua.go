package tlsrpt

import (
	"slices"

	"github.com/diagkit/diagkit/diag"
)

var addressRules = diag.Rules[*evidence]{{
	Code: "tlsrpt.rua.missing", Severity: diag.Critical, Weight: 4, Category: factorAddress, Ref: "RFC 8460 section 3",
	Title: "No report address (rua) in the record", Requirement: "The record has a report address (rua)",
	Advice: "Add rua with the address to which reports are to go, such as rua=mailto:tls-reports@ and your domain.",
	When:   kit.One, Fails: kit.Faults(noRUA),
}, {
	Code: "tlsrpt.rua.invalid", Severity: diag.Error, Weight: 4, Category: factorAddress,
	DependsOn: []diag.Code{"tlsrpt.rua.missing"}, Ref: "RFC 8460 section 3",
	Title:       "Report address in rua is not a valid mailto or https URI",
	Requirement: "Every report address in rua is a valid URI of mailto or https",
	Advice: "Write each address as mailto:local-part@domain or as an https URI, and one comma between two of them: " +
		"senders send nothing to what they cannot read.",
	Fails: kit.Faults(badRUA),
}}

func followed(e *evidence) bool { return kit.One(e) && len(e.destinations) > 0 }

// lost reports whether no destination at all can get a report.
func lost(e *evidence) bool {
	arrives := func(d destination) bool { return d.refusal() == "" }
	return followed(e) && e.unchecked == 0 && !slices.ContainsFunc(e.destinations, arrives)
}

func eachDestination(fails func(*evidence, *destination) diag.Failures) func(*evidence) diag.Failures {
	return func(e *evidence) (all diag.Failures) {
		for i := range e.destinations {
			d := &e.destinations[i]
			all = append(all, fails(e, d).About(d.domain)...)
		}
		return all
	}
}

func undeliverable(_ *evidence, d *destination) diag.Failures {
	why := d.refusal()
	return diag.FailIf(why != "", "Reports to %s cannot be delivered: %s %s.", diag.Quote(d.uris[0].Text), d.domain, why)
}

// only tells of the destinations of a scheme at which no report arrives.
func only(scheme string) func(*evidence) diag.Failures {
	each := eachDestination(func(e *evidence, d *destination) diag.Failures {
		if d.scheme != scheme {
			return nil
		}
		return undeliverable(e, d)
	})
	return func(e *evidence) diag.Failures { return each(e).Joined() }
}

// settled reports whether there are destinations of a scheme, and one of any is known to get reports.
func settled(scheme string) func(*evidence) bool {
	return func(e *evidence) bool {
		arrives := func(d destination) bool { return d.refusal() == "" && d.unknown() == "" }
		of := func(d destination) bool { return d.scheme == scheme }
		return followed(e) && slices.ContainsFunc(e.destinations, arrives) && slices.ContainsFunc(e.destinations, of)
	}
}

var destinationRules = diag.Rules[*evidence]{{
	Code: "tlsrpt.destination.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 8460 section 3",
	Title:       "Report destination could not be looked up",
	Requirement: "The name servers of every report destination answer",
	Advice:      "Check the name servers of the destination: senders that cannot look it up cannot deliver reports.",
	When:        followed, Fails: eachDestination(func(_ *evidence, d *destination) diag.Failures {
		why := d.unknown()
		return diag.FailIf(why != "", "Whether reports arrive at %s is not known: %s.", d.domain, why)
	}),
}, {
	Code: "tlsrpt.destination.none", Severity: diag.Error, Weight: 4, Ref: "RFC 8460 section 3",
	Title: "No report address can receive reports", Requirement: "At least one report address can receive reports",
	Advice: "Correct the address, or set up its destination: until then every report is lost.",
	When:   followed, Fails: func(e *evidence) diag.Failures {
		if !lost(e) {
			return nil
		}
		return eachDestination(undeliverable)(e).Joined()
	},
}, {
	Code: "tlsrpt.destination.undeliverable", Severity: diag.Warning, Weight: 2, Stands: true,
	Ref:   "RFC 5321 section 5.1",
	Title: "Domain of a report address receives no mail", Requirement: "The domain of every mailto address receives mail",
	Advice: "Correct the address, or publish an MX record for its domain: reports to it are lost.",
	When:   settled("mailto"), Fails: only("mailto"),
}, {
	Code: "tlsrpt.destination.host", Severity: diag.Warning, Weight: 2, Stands: true, Ref: "RFC 8460 section 5.4",
	Title:       "Host of an https report address has no address in the DNS",
	Requirement: "The host of every https address has an address in the DNS",
	Advice:      "Correct the URI, or publish an A or AAAA record for its host: reports to it are lost.",
	When:        settled("https"), Fails: only("https"),
}}

var policyRules = diag.Rules[*evidence]{{
	Code: "tlsrpt.policy.missing", Severity: diag.Info, Reads: []diag.Source{fromRecord, fromMail, fromPolicies},
	Ref:         "RFC 8460 section 1",
	Title:       "Neither MTA-STS nor DANE to report about",
	Requirement: "The domain has MTA-STS or DANE, whose failures reports tell",
	Advice: "Set up MTA-STS in testing mode: reports then name the senders that could not deliver, before a policy is " +
		"enforced.",
	When: func(e *evidence) bool { return kit.One(e) && e.receives() },
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(!e.protectedBySTS() && !e.protectedByDANE(), "There is no MTA-STS record at _mta-sts.%s and "+
			"no TLSA record of a mail server, so that reports tell little more than whether STARTTLS worked.", e.domain)
	},
}}
