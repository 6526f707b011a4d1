package tlsrpt

import (
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
	"github.com/miekg/dns"
)

var rules = slices.Concat(lookupRules,
	absenceRules.With(rule.Rule[*evidence]{Category: factorRecord,
		Reads: []rule.Source{fromRecord, fromMail, fromElsewhere}}),
	recordRules.With(rule.Rule[*evidence]{Category: factorSyntax, Reads: []rule.Source{fromRecord}}),
	addressRules.Reading(fromRecord),
	destinationRules.With(rule.Rule[*evidence]{Category: factorDelivery, Reads: []rule.Source{fromRecord, fromReports}}),
	policyRules)

var tagRules = taglist.Finder[*evidence]{
	Kit: taglist.Kit[*evidence]{
		Format: format, Ref: "RFC 8460 section 3", Found: func(e *evidence) *taglist.Found { return &e.found },
		Suggest: func(e *evidence) string { return e.suggested },
	},
	Label: prefix, Name: (*evidence).name, At: func(e *evidence) *diag.Answer[*dns.TXT] { return &e.txt },
	Elsewhere: func(e *evidence) *taglist.Elsewhere { return &e.elsewhere },
}

var lookupRules = rule.Rules[*evidence]{{
	Code: "tlsrpt.record.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown, Ref: "RFC 8460 section 3",
	Title: "TLSRPT record could not be looked up", Requirement: "The name servers answer for the TLSRPT record",
	Advice: "Check that every name server of the domain answers TXT queries: until then senders send no reports.",
	Fails: func(e *evidence) rule.Failures {
		switch why := e.elsewhere.Unknown; {
		case e.txt.Err() != nil:
			return rule.Fail("The TXT lookup of %s failed: %s.", e.name(), diag.Reason(e.txt.Err())).Because(e.txt.Err())
		case why != "" && none(e):
			return rule.Fail("There is no record at %s, and whether there is one at a wrong name is not known: %s.",
				e.name(), why)
		default:
			return nil
		}
	},
}, {
	Code: "tlsrpt.mail.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown, Ref: "RFC 5321 section 5.1",
	Title:       "Whether the domain receives mail could not be looked up",
	Requirement: "The name servers say whether the domain receives mail",
	Advice:      "Check the name servers of the domain: a TLSRPT record is needed only where mail is received.",
	When:        none, Fails: func(e *evidence) rule.Failures {
		why := e.mail.Unknown()
		return rule.FailIf(why != "", "There is no TLSRPT record, and whether one is needed is not known: %s.", why)
	},
}, reach.NoDomain(rule.Rule[*evidence]{
	Code: "tlsrpt.domain.nxdomain", Reads: []rule.Source{fromRecord}, Ref: "RFC 8460 section 3",
	When: func(e *evidence) bool {
		_, known := e.mail.Exists()
		return known || !e.txt.NXDomain()
	},
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.nonexistent(), "The DNS answers NXDOMAIN for %s.", e.domain)
	},
})}

var existing = []diag.Code{"tlsrpt.domain.nxdomain"}

func none(e *evidence) bool {
	return e.txt.Err() == nil && len(e.found.Records)+len(e.found.Strays) == 0 && !e.nonexistent()
}

// absenceRules are about a record that is missing, or not where senders look for it. They also apply to a domain with
// a record, which passes them.
var absenceRules = rule.Rules[*evidence]{tagRules.Location(rule.Rule[*evidence]{
	Code: "tlsrpt.record.location", Severity: diag.Warning, StateIfFailed: diag.Missing, Weight: 1,
	Category: factorRecord, DependsOn: existing,
	When: func(e *evidence) bool { return e.receives() && (present(e) || none(e) && tagRules.Placed(e)) },
}), tagRules.Alias(rule.Rule[*evidence]{
	Code: "tlsrpt.record.alias", Severity: diag.Warning, StateIfFailed: diag.Missing, Weight: 1,
	Category: factorRecord, DependsOn: existing,
	When: func(e *evidence) bool { return e.receives() && (present(e) || none(e) && tagRules.Aliased(e)) },
}), {
	Code: "tlsrpt.record.missing", Severity: diag.Warning, StateIfFailed: diag.Missing, Weight: 8, DependsOn: existing,
	Ref:   "RFC 8460 section 3",
	Title: "No TLSRPT record", Requirement: "The domain has a TLSRPT record",
	Advice: "Set up a mailbox for reports, then publish a TXT record at _smtp._tls with v=TLSRPTv1; rua=mailto: and " +
		"its address: otherwise you do not learn that senders cannot deliver over TLS.",
	When: func(e *evidence) bool {
		return e.receives() && (present(e) || none(e) && !tagRules.Placed(e) && !tagRules.Aliased(e))
	},
	Fails: absent,
}, {
	Code: "tlsrpt.record.missing.no_mail", NoAction: true, Severity: diag.Info,
	StateIfFailed: diag.Missing, DependsOn: existing,
	Ref:         "RFC 8460 section 3",
	Title:       "No TLSRPT record, and none is needed",
	Requirement: "The domain has a TLSRPT record, although it receives no mail",
	Advice:      "Leave it: reports are about incoming mail only. Publish a record once the domain receives mail.",
	When:        func(e *evidence) bool { return !e.receives() && (present(e) || none(e)) },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(!present(e), "There is no TLSRPT record at %s, and the domain %s.", e.name(), e.mail.Refusal())
	},
}, tagRules.Wildcard(rule.Rule[*evidence]{
	Code: "tlsrpt.record.wildcard", Severity: diag.Warning, DependsOn: existing,
	When: func(e *evidence) bool { return e.receives() && e.elsewhere.Unknown == "" },
})}

func absent(e *evidence) rule.Failures {
	if present(e) {
		return nil
	}
	f := rule.Fail("There is no TXT record at %s.", e.name())
	if e.txt.Exists() {
		f = rule.Fail("None of the TXT records at %s begins with v=TLSRPTv1.", e.name())
	}
	if only := tagRules.WildcardAliasText(e); only != "" {
		f[0].Detail = only
	}
	if e.protectedBySTS() {
		f[0].Detail += " The domain has MTA-STS, and without reports a sender that cannot follow it goes unnoticed."
	}
	switch {
	case e.parent.Name != "":
		f[0].Detail += " The record at " + e.parent.Name + " does not apply to subdomains."
		f[0].Advice = "Publish the record of the organizational domain at _smtp._tls of the subdomain, too: " +
			"it is not inherited."
		f[0].Suggested = asPublished(e.parent.Record)
	default:
		f[0].Suggested = "v=TLSRPTv1; rua=mailto:tls-reports@" + e.domain.String()
	}
	return f
}

var recordRules = rule.Rules[*evidence]{
	tagRules.Version(rule.Rule[*evidence]{
		Code: "tlsrpt.record.version", Severity: diag.Critical, Weight: 3, Category: factorSyntax,
	}),
	tagRules.Stray(rule.Rule[*evidence]{Code: "tlsrpt.record.stray", Severity: diag.Warning}),
	tagRules.Multiple(rule.Rule[*evidence]{
		Code: "tlsrpt.record.multiple", Severity: diag.Critical, Weight: 3, Category: factorSyntax,
		Advice: "Merge the records into one with all addresses, separated by commas, and remove the others: with " +
			"several, senders use none.",
		Fails: func(e *evidence) rule.Failures {
			n := len(e.found.Records)
			return rule.FailIf(n > 1, "There are %d records that begin with v=TLSRPTv1 at %s.", n, e.name()).
				Suggesting(e.suggested)
		},
	}),
	{
		Code: "tlsrpt.record.blank", Severity: diag.Warning, Ref: "RFC 8460 section 3",
		Title:       "Space before the first semicolon of the record",
		Requirement: "No space precedes the first semicolon of the record",
		Advice:      "Write v=TLSRPTv1; without a space: the syntax allows one, but some senders ignore such a record.",
		When:        tagRules.HasOne, Fails: func(e *evidence) rule.Failures {
			return rule.FailIf(blankVersion(e.found.Records[0]), "The record %q has white space before its first semicolon.",
				phrase.Quote(e.found.Records[0])).Suggesting(e.suggested)
		},
	},
	tagRules.Syntax(rule.Rule[*evidence]{
		Code: "tlsrpt.record.syntax", Severity: diag.Critical, Weight: 3, Category: factorSyntax,
		Advice: "Write each field as name=value without spaces at the equals sign, and one semicolon between two of them: " +
			"senders ignore a record with an error.",
	}),
	tagRules.Joined(rule.Rule[*evidence]{Code: "tlsrpt.record.joined", Severity: diag.Error}),
	tagRules.Repeated(rule.Rule[*evidence]{
		Code: "tlsrpt.record.repeated", Severity: diag.Warning,
		Advice: "Put all addresses into one rua, separated by commas: senders use the first field of a name.",
	}),
}

var (
	factorRecord   = rule.Category{Code: "record", Label: "DNS record"}
	factorSyntax   = rule.Category{Code: "syntax", Label: "Syntax and uniqueness"}
	factorAddress  = rule.Category{Code: "addresses", Label: "Report addresses"}
	factorDelivery = rule.Category{Code: "delivery", Label: "Delivery of reports"}
)

var texts = rule.Texts{
	"excellent": {Headline: "TLSRPT is set up correctly",
		Sub: "The published record was examined; the reception of reports was not. Check that they arrive and that " +
			"they are read."},
	"valid": {Headline: "TLSRPT is set up",
		Sub: "The published record was examined; the reception of reports was not. Check that they arrive."},
	"tlsrpt.policy.missing": {Headline: "TLSRPT is set up, but there is no policy to report about",
		Sub: "The published record was examined; the reception of reports was not. Set up MTA-STS or DANE, so that " +
			"they tell more."},
}

var addressRules = rule.Rules[*evidence]{{
	Code: "tlsrpt.rua.missing", Severity: diag.Critical, Weight: 4, Category: factorAddress, Ref: "RFC 8460 section 3",
	Title: "No report address (rua) in the record", Requirement: "The record has a report address (rua)",
	Advice: "Add rua with the address to which reports are to go, such as rua=mailto:tls-reports@ and your domain.",
	When:   tagRules.HasOne, Fails: tagRules.Faults(noRUA),
}, {
	Code: "tlsrpt.rua.invalid", Severity: diag.Error, Weight: 4, Category: factorAddress,
	DependsOn: []diag.Code{"tlsrpt.rua.missing"}, Ref: "RFC 8460 section 3",
	Title:       "Report address in rua is not a valid mailto or https URI",
	Requirement: "Every report address in rua is a valid mailto or https URI",
	Advice: "Write each address as mailto:local-part@domain or as an https URI, and one comma between two of them: " +
		"senders send nothing to what they cannot read.",
	Fails: tagRules.Faults(badRUA),
}}

func hasDestinations(e *evidence) bool { return tagRules.HasOne(e) && len(e.destinations) > 0 }

func allUndeliverable(e *evidence) bool {
	arrives := func(d destination) bool { return d.refusal() == "" }
	return hasDestinations(e) && e.unchecked == 0 && !slices.ContainsFunc(e.destinations, arrives)
}

func eachDestination(fails func(*evidence, *destination) rule.Failures) func(*evidence) rule.Failures {
	return func(e *evidence) (all rule.Failures) {
		for i := range e.destinations {
			d := &e.destinations[i]
			all = append(all, fails(e, d).About(d.domain)...)
		}
		return all
	}
}

func undeliverable(_ *evidence, d *destination) rule.Failures {
	why := d.refusal()
	return rule.FailIf(why != "", "Reports to %s cannot be delivered: %s %s.", phrase.Quote(d.uris[0].Text), d.domain, why)
}

func forScheme(scheme string) func(*evidence) rule.Failures {
	each := eachDestination(func(e *evidence, d *destination) rule.Failures {
		if d.scheme != scheme {
			return nil
		}
		return undeliverable(e, d)
	})
	return func(e *evidence) rule.Failures { return each(e).Joined() }
}

// isConclusive reports whether there are destinations of a scheme, and at least one destination is known to receive
// reports.
func isConclusive(scheme string) func(*evidence) bool {
	return func(e *evidence) bool {
		arrives := func(d destination) bool { return d.refusal() == "" && d.unknown() == "" }
		of := func(d destination) bool { return d.scheme == scheme }
		return hasDestinations(e) && slices.ContainsFunc(e.destinations, arrives) && slices.ContainsFunc(e.destinations, of)
	}
}

var destinationRules = rule.Rules[*evidence]{{
	Code: "tlsrpt.destination.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 8460 section 3",
	Title:       "Report destination could not be looked up",
	Requirement: "The name servers of every report destination answer",
	Advice:      "Check the name servers of the destination: senders that cannot look it up cannot deliver reports.",
	When:        hasDestinations, Fails: eachDestination(func(_ *evidence, d *destination) rule.Failures {
		why := d.unknown()
		return rule.FailIf(why != "", "Whether reports arrive at %s is not known: %s.", d.domain, why)
	}),
}, {
	Code: "tlsrpt.destination.many", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 8460 section 3",
	Title: "More report destinations than are checked", Requirement: "All report destinations were checked",
	Advice: "Name fewer addresses in rua, and forward the reports from one of them.",
	When:   hasDestinations, Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.unchecked > 0, "Only the first %d destinations were checked, which leaves out %s: that is a "+
			"limit of this check.", maxDestinations, phrase.Count(e.unchecked, "URI"))
	},
}, {
	Code: "tlsrpt.destination.none", Severity: diag.Error, Weight: 4, Ref: "RFC 8460 section 3",
	Title: "No report address can receive reports", Requirement: "At least one report address can receive reports",
	Advice: "Correct the address, or set up its destination: until then every report is lost.",
	When:   hasDestinations, Fails: func(e *evidence) rule.Failures {
		if !allUndeliverable(e) {
			return nil
		}
		return eachDestination(undeliverable)(e).Joined()
	},
}, {
	Code: "tlsrpt.destination.undeliverable", Severity: diag.Warning, Weight: 2, HoldsWhenUnanswered: true,
	Ref:   "RFC 5321 section 5.1",
	Title: "Domain of a report address receives no mail", Requirement: "The domain of every mailto address receives mail",
	Advice: "Correct the address, or publish an MX record for its domain: reports to it are lost.",
	When:   isConclusive("mailto"), Fails: forScheme("mailto"),
}, {
	Code: "tlsrpt.destination.host", Severity: diag.Warning, Weight: 2, HoldsWhenUnanswered: true,
	Ref:         "RFC 8460 section 5.4",
	Title:       "Host of an https report address has no address in the DNS",
	Requirement: "The host of every https address has an address in the DNS",
	Advice:      "Correct the URI, or publish an A or AAAA record for its host: reports to it are lost.",
	When:        isConclusive("https"), Fails: forScheme("https"),
}}

var policyRules = rule.Rules[*evidence]{{
	Code: "tlsrpt.policy.missing", Severity: diag.Info, Reads: []rule.Source{fromRecord, fromMail, fromPolicies},
	Ref:         "RFC 8460 section 1",
	Title:       "Neither MTA-STS nor DANE to report about",
	Requirement: "The domain has MTA-STS or DANE, whose failures are reported",
	Advice: "Set up MTA-STS in testing mode: reports then name the senders that could not deliver, before a policy is " +
		"enforced.",
	When: func(e *evidence) bool { return tagRules.HasOne(e) && e.receives() },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(!e.protectedBySTS() && !e.protectedByDANE(), "There is no MTA-STS record at _mta-sts.%s and "+
			"no TLSA record of a mail server, so that reports tell little more than whether STARTTLS worked.", e.domain)
	},
}}
