package dmarc

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
	"github.com/miekg/dns"
)

var rules = sync.OnceValue(func() rule.Rules[*evidence] {
	return slices.Concat(lookupRules, existing(slices.Concat(
		policyRules.Reading(fromRecord, fromExistence),
		absenceRules.With(rule.Rule[*evidence]{
			Reads: []rule.Source{fromRecord, fromExistence, fromMail, fromElsewhere}, Category: factorSyntax,
			DependsOn: []diag.Code{"dmarc.record.inherited.unknown"}}),
		slices.Concat(correcting(slices.Concat(recordRules.With(rule.Rule[*evidence]{Category: factorSyntax}),
			syntaxRules, valueRules)),
			subdomainRules).
			Reading(fromRecord, fromExistence),
		reportRules.Reading(fromRecord, fromExistence, fromMail), destinationRules,
		slices.Concat(applicationRules, alignmentRules).Reading(fromRecord, fromExistence),
		discoveryRules.Reading(fromRecord, fromExistence, fromList), mailRules)))
})

// existing excludes nonexistent domains from rules: nothing else about them is judged (CONTRACT 1.7).
func existing(list rule.Rules[*evidence]) rule.Rules[*evidence] {
	for i := range list {
		when := list[i].When
		list[i].When = func(e *evidence) bool { return !e.nonexistent() && (when == nil || when(e)) }
	}
	return list
}

// correcting completes the advice of rules about the text of a record: it states what to change so that the policy in
// force stays the same, and a record found through an alias is corrected at its own name, since nothing can be
// published at the alias itself (RFC 1034 section 3.6.2).
func correcting(list rule.Rules[*evidence]) rule.Rules[*evidence] {
	for i := range list {
		r := list[i]
		list[i].Fails = func(e *evidence) rule.Failures {
			f := r.Fails(e)
			for i := range f {
				before, after := "", ""
				if e.aliased() && !e.inherited() {
					aliases := tagRules.Aliases(e)
					before = "Have the record corrected at " + strings.TrimSuffix(aliases[len(aliases)-1], ".") +
						", of which " + e.own.Name +
						" is an alias. "
				}
				if e.latentPolicy {
					after = " The corrected record takes effect immediately: keep p=" + string(e.policiesInForce().Domain) +
						" until the reports show that all senders pass."
				}
				if before+after != "" {
					f[i].Advice = before + cmp.Or(f[i].Advice, r.Advice) + after
				}
			}
			return f
		}
	}
	return list
}

var tagRules = taglist.Finder[*evidence]{
	Kit: taglist.Kit[*evidence]{
		Format: policy.Format, Ref: "RFC 9989 section 4.8", Found: func(e *evidence) *taglist.Found { return &e.found },
		Suggest: func(e *evidence) string { return e.suggested },
	},
	Label: "_dmarc", Name: func(e *evidence) string { return e.own.Name },
	At:        func(e *evidence) *diag.Answer[*dns.TXT] { return &e.own.Answer },
	Elsewhere: func(e *evidence) *taglist.Elsewhere { return &e.elsewhere },
}

func lookedUp(e *evidence) bool { return !e.offline }

// usable reports whether receivers of RFC 9989 use the record.
func usable(e *evidence) bool { return tagRules.HasOne(e) && e.reading.Usable }

func suggesting(fails func(*evidence) rule.Failures) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures { return fails(e).Suggesting(e.suggested) }
}

var lookupRules = rule.Rules[*evidence]{{
	Code: "dmarc.record.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown, Ref: "RFC 9989 section 4.10.1",
	Title: "DMARC record could not be looked up", Requirement: "The name servers answer for the DMARC record",
	Advice: "Check that every name server of the domain answers TXT queries: until then receivers may defer its mail " +
		"or apply no policy.",
	When: lookedUp, Fails: func(e *evidence) rule.Failures {
		switch err := e.own.Err(); {
		case err != nil:
			return rule.Fail("The TXT lookup of %s failed: %s.", e.own.Name, diag.Reason(err)).Because(err)
		case e.elsewhere.Unknown != "" && isUnconfigured(e) && e.discovery.Tree.PolicyErr == nil && !e.nonexistent():
			return rule.Fail("There is no record at %s, and whether there is one at a wrong name is not known: %s.", e.own.Name,
				e.elsewhere.Unknown)
		default:
			return nil
		}
	},
}, reach.NoDomain(rule.Rule[*evidence]{
	Code: "dmarc.domain.nxdomain", Reads: []rule.Source{fromRecord, fromExistence},
	DependsOn: []diag.Code{"dmarc.record.unknown"}, Ref: "RFC 9989 section 3.2.13",
	Fails: func(e *evidence) rule.Failures {
		if !e.nonexistent() {
			return nil
		}
		f := rule.Fail("The DNS answers NXDOMAIN for %s.", e.domain)
		if e.inherited() && e.reading.Usable {
			f[0].Detail += " To mail that forges it receivers apply the policy " +
				string(e.reading.Applied.Nonexistent) + " of " + e.location + "."
		}
		return f
	},
}), {
	Code: "dmarc.record.inherited.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown,
	DependsOn: []diag.Code{"dmarc.record.unknown"}, Ref: "RFC 9989 section 4.10.1",
	Title:       "Record of a parent domain could not be looked up",
	Requirement: "The name servers of the parent domains answer",
	Advice:      "Check the name servers of the parent domain, or publish a record at the domain itself.",
	When:        func(e *evidence) bool { return !e.nonexistent() },
	Fails: func(e *evidence) rule.Failures {
		err := e.discovery.Tree.PolicyErr
		if err == nil {
			return nil
		}
		silent := slices.IndexFunc(e.discovery.Walk.Steps, func(s policy.Step) bool { return s.Err() != nil })
		return rule.Fail("No record at %s counts, and whether one of a parent applies is not known: the TXT lookup "+
			"of %s failed: %s.", e.own.Name, e.discovery.Walk.Steps[silent].Name, diag.Reason(err)).Because(err)
	},
}}

var mailRules = rule.Rules[*evidence]{{
	Code: "dmarc.mail.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown,
	DependsOn: []diag.Code{"dmarc.record.inherited.unknown"}, Ref: "RFC 5321 section 5.1",
	Title:       "Whether the domain receives mail is not known",
	Requirement: "The name servers say whether the domain receives mail",
	Advice: "Check the name servers of the domain, and try again: a missing record or a weak policy weighs more where " +
		"the domain has mail.",
	When: func(e *evidence) bool { // once is enough: absence and destinations of reports speak of it themselves
		itself := func(d destination) bool { return d.domain == e.domain.String() }
		return lookedUp(e) && !(e.record == nil && isUnconfigured(e)) && !slices.ContainsFunc(e.destinations, itself)
	},
	Fails: func(e *evidence) rule.Failures {
		why := e.mail.Unknown()
		return rule.FailIf(why != "", "Whether %s receives mail is not known: %s.", e.domain, why)
	},
}}

func isUnconfigured(e *evidence) bool {
	return e.record == nil && len(e.found.Records)+len(e.found.Strays) == 0 && len(e.elsewhere.Places) == 0 &&
		!e.aliased()
}

// aliased reports whether the name of the record is an alias, so that the record itself is at another name.
func (e *evidence) aliased() bool { return !e.offline && len(tagRules.Aliases(e)) > 0 }

// receivesNoMail reports whether the domain is known to receive no mail.
func receivesNoMail(e *evidence) bool {
	receives, known := e.mail.Receives()
	return !e.offline && known && !receives
}

// suffix reports whether the domain is a public suffix: its record holds for all who registered names below it.
func suffix(e *evidence) bool { return policy.IsPublicSuffix(e.domain.String()) }

// leaveSuffix is the advice where a public suffix has no record: only its operator can publish one there.
const leaveSuffix = "Leave it unless you operate this public suffix. Its record declares psd=y, and applies to every " +
	"domain below it that has none of its own: begin with p=none and a mailbox for reports."

var locationRule = tagRules.Location(rule.Rule[*evidence]{})

// isUnpublished reports whether the name has no record, nor a text that was meant as one, and none of a parent applies.
func isUnpublished(e *evidence) bool {
	return len(e.found.Records)+len(e.found.Strays) == 0 && e.record == nil
}

var absenceRules = rule.Rules[*evidence]{tagRules.Location(rule.Rule[*evidence]{
	Code: "dmarc.record.location", Severity: diag.Error, StateIfFailed: diag.Missing, Weight: 1,
	Ref: "RFC 9989 section 4.5", When: isUnpublished,
	Advice: "Move the record to _dmarc below the domain: receivers look nowhere else. Once it is there it takes " +
		"effect, so publish it with p=none first and raise p when the reports show that all senders pass.",
	Fails: func(e *evidence) rule.Failures {
		f := locationRule.Fails(e)
		for i := range f {
			if suffix(e) && e.suggested == "" {
				f[i].Advice = leaveSuffix
			}
		}
		return f
	},
}), tagRules.Alias(rule.Rule[*evidence]{
	Code: "dmarc.record.alias", Severity: diag.Error, StateIfFailed: diag.Missing, Weight: 1,
	Requirement: "An alias at _dmarc leads to a DMARC record", When: isUnpublished,
}), {
	Code: "dmarc.record.missing", Severity: diag.Error, StateIfFailed: diag.Missing, Weight: 1,
	Ref:   "RFC 9989 section 4.10.1",
	Title: "No DMARC record", Requirement: "A DMARC record applies to the domain",
	Advice: "Publish a TXT record at _dmarc with p=none and a mailbox for reports, such as the suggested one. Create " +
		"the mailbox first, and raise p once the reports show that all your senders pass.",
	When: func(e *evidence) bool {
		return !receivesNoMail(e) && !suffix(e) && (e.record != nil || isUnconfigured(e))
	},
	Fails: absent,
}, {
	Code: "dmarc.record.missing.mail.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown,
	DependsOn: []diag.Code{"dmarc.record.unknown", "dmarc.record.inherited.unknown"}, Ref: "RFC 9989 section 4.10.1",
	Title:       "No DMARC record, and whether the domain has mail is unknown",
	Requirement: "A DMARC record applies to the domain, whether or not it has mail",
	Advice: "Publish a TXT record at _dmarc with p=none and a mailbox for reports, such as the suggested one, which " +
		"does no harm in either case; move to p=reject if the domain sends no mail.",
	When: func(e *evidence) bool { return lookedUp(e) && isUnconfigured(e) },
	Fails: func(e *evidence) rule.Failures {
		if e.mail.Unknown() == "" {
			return nil
		}
		f := absent(e)
		if len(e.fragments) == 0 && !suffix(e) {
			f.Suggesting(e.monitoring())
		}
		return f
	},
}, {
	Code: "dmarc.record.missing.no_mail", Severity: diag.Warning, StateIfFailed: diag.Missing, Weight: 1,
	Ref:         "RFC 9989 section 4.10.1",
	Title:       "No DMARC record on a domain without mail",
	Requirement: "A DMARC record applies to the domain, although it receives no mail",
	Advice:      "Publish v=DMARC1; p=reject if the domain sends no mail, so that receivers refuse forged mail.",
	When: func(e *evidence) bool {
		return receivesNoMail(e) && !suffix(e) && (e.record != nil || isUnconfigured(e))
	},
	Fails: absent,
}, {
	Code: "dmarc.record.missing.suffix", Severity: diag.Warning, StateIfFailed: diag.Missing, NoScore: true,
	Ref:   "RFC 9989 section 5.2",
	Title: "No DMARC record on a public suffix", Requirement: "A DMARC record applies to the public suffix",
	Advice: leaveSuffix,
	When: func(e *evidence) bool {
		return receivesNoMail(e) && suffix(e) && (e.record != nil || isUnconfigured(e))
	}, Fails: absent,
}, {
	Code: "dmarc.record.missing.suffix.mail", Severity: diag.Error, StateIfFailed: diag.Missing, Weight: 1,
	Ref:         "RFC 9989 section 5.2",
	Title:       "No DMARC record on a public suffix that receives mail",
	Requirement: "A DMARC record applies to the public suffix, which receives mail",
	Advice:      leaveSuffix,
	When: func(e *evidence) bool {
		return !e.offline && !receivesNoMail(e) && suffix(e) && (e.record != nil || isUnconfigured(e))
	},
	Fails: absent,
}, tagRules.Wildcard(rule.Rule[*evidence]{
	Code: "dmarc.record.wildcard", Severity: diag.Warning, Reads: []rule.Source{fromRecord, fromExistence, fromWildcard},
	Ref: "RFC 9989 section 4.10", Requirement: "No wildcard TXT record answers at _dmarc",
	When:   func(*evidence) bool { return true },
	Advice: "Publish a DMARC record at _dmarc: it takes precedence over the wildcard, which can stay.",
}), {
	Code: "dmarc.record.spf", Severity: diag.Warning, Reads: []rule.Source{fromRecord, fromExistence, fromWildcard},
	Ref:   "RFC 7208 section 3",
	Title: "SPF record at _dmarc", Requirement: "No SPF record is published at _dmarc",
	Advice: "Move the SPF record to the domain itself, or remove it: receivers do not look for SPF at _dmarc.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.spf, func(text string) rule.Failures {
			return rule.Fail("%s has the SPF record %q, which is not a DMARC record.", e.own.Name, phrase.Quote(text))
		})
	},
}}

// ignoredAbove names the records of parent domains that would apply if they were not broken: sentences, or empty.
func (e *evidence) ignoredAbove() (text string) {
	for i := 1; i < len(e.discovery.Walk.Steps); i++ {
		s := &e.discovery.Walk.Steps[i]
		switch {
		case len(s.Found.Records) > 1:
			text += fmt.Sprintf(" Receivers ignore the %d records at %s, since there are several.", len(s.Found.Records), s.Name)
		case len(s.Found.Strays) > 0 && len(s.Found.Records) == 0:
			stray := s.Found.Strays[0]
			text += fmt.Sprintf(" Receivers ignore the TXT record %q at %s: %s.", phrase.Quote(stray.Text), s.Name, stray.Why)
		}
	}
	return text
}

func absent(e *evidence) rule.Failures {
	if e.record != nil {
		return nil
	}
	unknown := ""
	if why := e.mail.Unknown(); why != "" {
		unknown = " Whether the domain receives mail is not known: " + why + "."
	}
	f := rule.Fail("There is no TXT record at %s.", e.own.Name)
	switch n := len(e.own.Answer.Records); {
	case n == 1:
		f = rule.Fail("The TXT record at %s is not a DMARC record.", e.own.Name)
	case n > 1:
		f = rule.Fail("None of the %d TXT records at %s is a DMARC record.", n, e.own.Name)
	}
	if only := tagRules.WildcardAliasText(e); only != "" {
		f = rule.Fail("%s", only)
	}
	if org := e.discovery.Tree.Organizational; org != e.domain.String() {
		f[0].Detail += " No parent domain has a record that applies, either."
	}
	f[0].Detail += e.ignoredAbove()
	if len(e.fragments) > 0 {
		f = rule.Fail("%s has the TXT record %q, which does not begin with v=DMARC1.", e.own.Name,
			phrase.Quote(e.fragments[0])).Suggesting(e.suggested)
	}
	f[0].Detail += unknown
	if len(e.fragments) > 0 {
		return f
	}
	switch receives, known := e.mail.Receives(); {
	case suffix(e): // RFC 9989 section 4.10.2: without psd=y it would hold for all below it
		return f
	case receives:
		return f.Suggesting(e.monitoring())
	case known && e.senders:
		f[0].Advice = "Publish v=DMARC1; p=none with a mailbox for reports (rua) at a domain that receives mail: this one " +
			"does not, but its SPF record names senders. Raise the policy once the reports show that all of them pass."
	case known:
		return f.Suggesting(policy.NewDraft(policy.Reject).String())
	}
	return f
}

func (e *evidence) mailbox() string { return "mailto:dmarc-reports@" + e.location }

// monitoring is the record that a domain starts with: p=none, with reports.
func (e *evidence) monitoring() string {
	d := policy.NewDraft(policy.None)
	d.Set("rua", e.mailbox())
	return d.String()
}

var (
	factorPolicy      = rule.Category{Code: "policy", Label: "Policy"}
	factorSubdomains  = rule.Category{Code: "subdomains", Label: "Subdomains"}
	factorReporting   = rule.Category{Code: "reporting", Label: "Aggregate reports"}
	factorApplication = rule.Category{Code: "application", Label: "Full application"}
	factorAlignment   = rule.Category{Code: "alignment", Label: "Alignment"}
	factorSyntax      = rule.Category{Code: "syntax", Label: "Syntax and uniqueness"}
)

// textsOffline are the texts for a record that need not be published: whether it is enforced is unknown.
var textsOffline = func() rule.Texts {
	t := maps.Clone(texts)
	t["excellent"] = diag.Text{Headline: "DMARC record is valid: it asks receivers to reject forged mail",
		Sub: "It takes effect once it is published. Do that when the aggregate reports show that all your senders pass."}
	t["valid"] = diag.Text{Headline: "DMARC record is valid and asks for enforcement",
		Sub: "It takes effect once it is published; the findings show what can be improved."}
	return t
}()

var texts = rule.Texts{
	"excellent": {Headline: "DMARC is enforced: forged mail is rejected",
		Sub: "The domain is protected. Keep reading the aggregate reports, and check them when you add a sending service."},
	"valid": {Headline: "DMARC is enforced",
		Sub: "Receivers act on mail that fails. Keep reading the aggregate reports; the findings show what can be improved."},
	"dmarc.record.missing.suffix": {Headline: "No DMARC record on a public suffix",
		Sub: "That is usual. A record here would apply to every domain below it that has none of its own."},
}
