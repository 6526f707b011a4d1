package mtasts

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
	"github.com/diagkit/diagkit/mailauth/tlsrpt"
	"github.com/miekg/dns"
)

var rules = sync.OnceValue(func() rule.Rules[*evidence] {
	return slices.Concat(
		guardRules(slices.Concat(
			absenceRules.With(rule.Rule[*evidence]{Category: factorRecord,
				Reads: []rule.Source{fromRecord, fromMail, fromElsewhere}}),
			recordRules.With(rule.Rule[*evidence]{Category: factorRecord, Reads: []rule.Source{fromRecord}}),
			slices.Concat(serverRules, answerRules).Reading(rule.FromRequest), // each decides itself what is known
			slices.Concat(textRules.With(rule.Rule[*evidence]{DependsOn: []diag.Code{"mtasts.policy.page"}}), policyRules).
				With(rule.Rule[*evidence]{Category: factorPolicy, Reads: []rule.Source{fromRecord, fromPolicy}})), true),
		guardRules(mxRules.Reading(fromRecord, fromPolicy, fromMail), false), deliverRules,
		reportRules.Reading(fromRecord, fromPolicy, fromMail, fromReports),
	)
})

var tagRules = taglist.Finder[*evidence]{
	Kit: taglist.Kit[*evidence]{
		Format: format, Ref: "RFC 8461 section 3.1",
		Found: func(e *evidence) *taglist.Found { return &e.found }, Suggest: (*evidence).newRecord,
	},
	Label: label, Name: (*evidence).name, At: func(e *evidence) *diag.Answer[*dns.TXT] { return &e.txt },
	Elsewhere: func(e *evidence) *taglist.Elsewhere { return &e.elsewhere },
}

var absenceRules = rule.Rules[*evidence]{{
	Code: "mtasts.record.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown, Ref: "RFC 8461 section 3.1",
	Title: "MTA-STS record could not be looked up", Requirement: "The name servers answer for the MTA-STS record",
	Advice: "Check the name servers of the domain: until they answer, senders without a cached policy deliver without " +
		"it.",
	Fails: func(e *evidence) rule.Failures {
		switch why := e.elsewhere.Unknown; {
		case !answered(e):
			return rule.Fail("The TXT lookup of %s failed: %s.", e.name(), diag.Reason(e.txt.Err())).Because(e.txt.Err())
		case why != "" && !hasRecordText(e) && !nonexistent(e):
			return rule.Fail("There is no record at %s, and whether there is one at a wrong name is not known: %s.",
				e.name(), why)
		default:
			return nil
		}
	},
}, reach.NoDomain(rule.Rule[*evidence]{
	Code: "mtasts.domain.nxdomain", Reads: []rule.Source{fromRecord}, Ref: "RFC 8461 section 3.1",
	When: func(e *evidence) bool { _, known := e.mail.Exists(); return known || !e.txt.NXDomain() },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(nonexistent(e), "The DNS answers NXDOMAIN for %s.", e.domain)
	},
}), tagRules.Location(rule.Rule[*evidence]{
	Code: "mtasts.record.location", Severity: diag.Warning, StateIfFailed: diag.Missing, Weight: 1,
	Category: factorRecord, DependsOn: []diag.Code{"mtasts.domain.nxdomain"},
	When: func(e *evidence) bool {
		return receives(e) && (hasRecord(e) || !hasRecordText(e) && tagRules.Placed(e))
	},
	Fails: misplacedRecord,
}), tagRules.Alias(rule.Rule[*evidence]{
	Code: "mtasts.record.alias", Severity: diag.Warning, StateIfFailed: diag.Missing, Weight: 1,
	Category: factorRecord, DependsOn: []diag.Code{"mtasts.domain.nxdomain"},
	When: func(e *evidence) bool {
		return receives(e) && (hasRecord(e) || !hasRecordText(e) && tagRules.Aliased(e))
	},
}), {
	Code: missingRecord, Severity: diag.Warning, StateIfFailed: diag.Missing, Weight: 10,
	DependsOn: []diag.Code{"mtasts.domain.nxdomain"}, Ref: "RFC 8461 section 3.1",
	Title: "No MTA-STS record", Requirement: "The domain has an MTA-STS record",
	Advice: "Serve a policy in testing mode first; then publish the TXT record at _mta-sts.",
	When: func(e *evidence) bool {
		return receives(e) && (hasRecord(e) || !hasRecordText(e) && !tagRules.Placed(e) && !tagRules.Aliased(e))
	},
	Fails: absent,
}, {
	Code: "mtasts.record.missing.no_mail", NoAction: true, Severity: diag.Info, StateIfFailed: diag.Missing,
	DependsOn: []diag.Code{"mtasts.domain.nxdomain"}, Ref: "RFC 8461 section 3.1",
	Title:       "No MTA-STS record, and none is needed",
	Requirement: "The domain has an MTA-STS record, although it receives no mail",
	Advice:      "Leave it: MTA-STS protects incoming mail only. Set it up once the domain receives mail.",
	When:        func(e *evidence) bool { return !receives(e) && (hasRecord(e) || !hasRecordText(e)) }, Fails: absent,
}, tagRules.Wildcard(rule.Rule[*evidence]{
	Code: "mtasts.record.wildcard", Severity: diag.Warning, DependsOn: []diag.Code{"mtasts.domain.nxdomain"},
	When: func(e *evidence) bool { return receives(e) && e.elsewhere.Unknown == "" },
})}

var recordRules = rule.Rules[*evidence]{
	tagRules.Version(rule.Rule[*evidence]{
		Code: "mtasts.record.version", Severity: diag.Critical, Weight: 1, Category: factorRecord,
	}),
	tagRules.Stray(rule.Rule[*evidence]{
		Code: "mtasts.record.stray", Severity: diag.Warning,
		Advice: "Remove the malformed record: senders ignore it.",
	}),
	tagRules.Multiple(rule.Rule[*evidence]{
		Code: "mtasts.record.multiple", Severity: diag.Critical, Weight: 1, Category: factorRecord,
	}),
	{
		Code: "mtasts.record.blank", Severity: diag.Warning, Ref: "RFC 8461 section 3.1",
		Title:       "Space before the first semicolon of the record",
		Requirement: "No space precedes the first semicolon of the record",
		Advice:      "Write v=STSv1; without a space: the syntax allows one, but some senders ignore such a record.",
		When:        tagRules.HasOne, Fails: func(e *evidence) rule.Failures {
			return rule.FailIf(!strings.HasPrefix(e.found.Records[0], "v="+version+";"),
				"The record %q has white space before its first semicolon.", phrase.Quote(e.found.Records[0]))
		},
	},
	tagRules.Syntax(rule.Rule[*evidence]{
		Code: "mtasts.record.syntax", Severity: diag.Critical, Weight: 1, Category: factorRecord,
	}),
	tagRules.Joined(rule.Rule[*evidence]{Code: "mtasts.record.joined", Severity: diag.Error}),
	{
		Code: "mtasts.record.id.missing", Severity: diag.Critical, Weight: 1, Ref: "RFC 8461 section 3.1",
		Title: "MTA-STS record has no id", Requirement: "The MTA-STS record has an id",
		Advice: "Add an id, such as the time of the last change of the policy.",
		When:   tagRules.HasOne, Fails: tagRules.Faults(noID),
	},
	{
		Code: "mtasts.record.id.invalid", Severity: diag.Critical, Weight: 1,
		DependsOn: []diag.Code{"mtasts.record.id.missing"}, Ref: "RFC 8461 section 3.1",
		Title: "Invalid id in the MTA-STS record", Requirement: "The id has 1 to 32 letters and digits",
		Advice: "Use letters and digits only, such as the time of the last change of the policy.",
		Fails:  tagRules.Faults(badID),
	},
	tagRules.Repeated(rule.Rule[*evidence]{Code: "mtasts.record.repeated", Severity: diag.Warning}),
}

var reportRules = rule.Rules[*evidence]{{
	Code: "mtasts.tls_rpt.missing", Severity: diag.Warning, Weight: 5, Category: factorReporting,
	Ref:   "RFC 8460 section 3",
	Title: "No TLS reports are requested", Requirement: "A TLSRPT record requests TLS reports",
	Advice: "Publish a TLSRPT record at _smtp._tls: only reports show which senders the policy stops.",
	When: func(e *evidence) bool {
		return announced(e) && receives(e) && (e.policy == nil || e.policy.policy.Mode != None)
	},
	Fails: func(e *evidence) rule.Failures {
		switch where := "_smtp._tls." + e.domain.String(); {
		case e.unreported == nil:
			return nil
		case errors.Is(e.unreported, tlsrpt.ErrNoRecord):
			return rule.Fail("There is no TLSRPT record at %s.", where).
				Suggesting("v=TLSRPTv1; rua=mailto:tls-reports@" + e.domain.String())
		default:
			return rule.Fail("Senders find no TLSRPT record at %s that they can use: %s.", where, e.unreported)
		}
	},
}}

func absent(e *evidence) rule.Failures {
	name := e.name()
	switch {
	case len(e.found.Records) > 0:
		return nil
	case tagRules.WildcardAliasText(e) != "":
		return missing(e, tagRules.WildcardAliasText(e))
	case e.txt.Exists():
		return missing(e, "None of the TXT records at "+name+" begins with v=STSv1.")
	default:
		return missing(e, "There is no TXT record at "+name+".")
	}
}

// misplacedRecord finds records at wrong names. It suggests one for the right name only if a policy is served for it.
func misplacedRecord(e *evidence) rule.Failures {
	failures := tagRules.Location(rule.Rule[*evidence]{}).Fails(e)
	if !e.validPolicy() {
		return failures.Suggesting("")
	}
	return failures
}

const missingRecord diag.Code = "mtasts.record.missing"

// missing fails without a record. It suggests the next step: the record if a policy is served, else a policy.
func missing(e *evidence, detail string) rule.Failures {
	failures := rule.Fail("%s", detail)
	if !receives(e) {
		return failures
	}
	if unannounced(e) {
		failures[0].Detail += " A policy is served at " + PolicyURL(e.domain) + ", for which no sender looks."
		if e.validPolicy() {
			failures[0].Suggested = e.newRecord()
		}
		return e.guardFailures(failures, "Publish the TXT record at _mta-sts that announces the policy.", true)
	}
	failures[0].Advice = "Serve a policy in testing mode as text/plain at " + PolicyURL(e.domain) +
		". Then publish the TXT record " +
		e.newRecord() + " at " + e.name() + ", which announces it."
	if !unanswered(e) {
		failures[0].Suggested = e.newPolicy()
	}
	return failures
}

var (
	factorRecord      = rule.Category{Code: "record", Label: "DNS record"}
	factorServer      = rule.Category{Code: "server", Label: "Policy host"}
	factorCertificate = rule.Category{Code: "certificate", Label: "Certificate"}
	factorPolicy      = rule.Category{Code: "policy", Label: "Policy"}
	factorMX          = rule.Category{Code: "mx", Label: "Mail servers"}
	factorReporting   = rule.Category{Code: "reporting", Label: "TLS reporting"}
)

var texts = rule.Texts{
	"excellent": {Headline: "MTA-STS is enforced and covers every mail server",
		Sub: "Senders that know MTA-STS deliver over authenticated TLS only. Watch the TLS reports."},
	"valid": {Headline: "MTA-STS is set up correctly",
		Sub: "Senders find the policy and follow it. Watch the TLS reports."},
	string(missingRecord): {Headline: "No MTA-STS record",
		Sub: "Without MTA-STS, an attacker on the network can make senders deliver mail in plain text or to another " +
			"server. Serve a policy in testing mode first, then publish the record that announces it."},
}

var textsUntested = func() rule.Texts {
	t := maps.Clone(texts)
	t["excellent"] = diag.Text{Headline: texts["excellent"].Headline, Sub: "Whether the mail servers have the " +
		"certificates that it asks for was not tested: port 25 could not be reached from here. Watch the TLS reports."}
	t["valid"] = diag.Text{Headline: texts["valid"].Headline, Sub: t["excellent"].Sub}
	return t
}()

func (e *evidence) words() rule.Texts {
	if len(e.untested()) > 0 {
		return textsUntested
	}
	return texts
}
