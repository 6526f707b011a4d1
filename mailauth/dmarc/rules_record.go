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

var recordRules = rule.Rules[*evidence]{
	tagRules.Version(rule.Rule[*evidence]{
		Code: "dmarc.record.version", Severity: diag.Critical, Weight: 3, Category: factorSyntax,
		Advice: "Begin the record with exactly v=DMARC1; in this letter case, with nothing before it: receivers ignore " +
			"all others.",
	}),
	tagRules.Stray(rule.Rule[*evidence]{Code: "dmarc.record.stray", Severity: diag.Warning}),
	tagRules.Multiple(rule.Rule[*evidence]{
		Code: "dmarc.record.multiple", Severity: diag.Critical, Weight: 3, Category: factorSyntax,
		Ref:    "RFC 9989 section 4.10",
		Advice: "Merge the records into one and remove the others: with several, receivers use none.",
		Fails: suggesting(func(e *evidence) rule.Failures {
			if len(e.found.Records) < 2 {
				return nil
			}
			f := rule.Fail("There are %d records that begin with v=DMARC1 at %s%s.", len(e.found.Records), e.own.Name,
				differences(e.found.Records))
			if e.record != nil {
				f[0].Detail += " Receivers of RFC 9989 apply that of " + e.location + " instead; those of RFC 7489 apply none."
			}
			return f
		}),
	}),
	{
		Code: "dmarc.record.own.ignored", Severity: diag.Warning, DependsOn: []diag.Code{"dmarc.record.inherited.unknown"},
		Ref:         "RFC 9989 section 4.10.1",
		Title:       "Broken DMARC record: that of a parent applies",
		Requirement: "The domain has no broken record beside the one that it inherits",
		Advice: "Begin the record of the domain with exactly v=DMARC1; or remove it, so that nobody takes it for the one " +
			"that applies.",
		When: func(e *evidence) bool { return e.inherited() },
		Fails: func(e *evidence) rule.Failures {
			return rule.FailEach(e.own.Found.Strays, func(s taglist.Stray) rule.Failures {
				return rule.Fail("Receivers ignore the TXT record %q at %s: %s. They apply the record of %s.", phrase.Quote(s.Text),
					e.own.Name, s.Why, e.location)
			})
		},
	},
	{
		Code: "dmarc.record.split", Severity: diag.Error, Weight: 1, Ref: "RFC 9989 section 4.5",
		Title:       "Rest of the DMARC record is in another TXT record",
		Requirement: "The whole DMARC record is in one TXT record",
		Advice:      "Put all tags into one TXT record: receivers read only the one that begins with v=DMARC1.",
		When:        func(e *evidence) bool { return tagRules.HasOne(e) && !e.inherited() },
		Fails: suggesting(func(e *evidence) rule.Failures {
			return rule.FailEach(e.fragments, func(text string) rule.Failures {
				return rule.Fail("Receivers ignore the other TXT record %q, which does not begin with v=DMARC1.",
					phrase.Quote(text))
			})
		}),
	},
}

func differences(records []string) string {
	first := policy.Parse(records[0])
	var names []string
	for _, text := range records[1:] {
		other := policy.Parse(text)
		for _, l := range []*taglist.List{&first.List, &other.List} {
			for _, t := range l.Tags {
				a, _ := first.List.Tag(t.Name)
				b, _ := other.List.Tag(t.Name)
				if name := strings.ToLower(t.Name); a.Value != b.Value && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	if len(names) == 0 {
		return ", which say the same"
	}
	return ", which differ in " + strings.Join(names, ", ")
}

var syntaxRules = rule.Rules[*evidence]{
	tagRules.Syntax(rule.Rule[*evidence]{
		Code: "dmarc.record.syntax", Severity: diag.Error, Weight: 3, Category: factorSyntax,
	}, taglist.NoEquals, taglist.BadName, taglist.BadValue, taglist.MissingSemicolon),
	tagRules.Syntax(rule.Rule[*evidence]{
		Code: "dmarc.record.semicolon", Severity: diag.Warning,
		Title: "DMARC record has two semicolons in a row", Requirement: "There is a tag between any two semicolons",
		Advice: "Remove the second semicolon: some receivers refuse the record.",
	}, taglist.Empty),
	tagRules.Repeated(rule.Rule[*evidence]{
		Code: "dmarc.record.repeated", Severity: diag.Critical, Weight: 2, Category: factorSyntax,
		Ref: "RFC 6376 section 3.2",
		Advice: "Keep one of the two, and of two policies the milder until the reports show that all senders pass: " +
			"receivers differ in what they make of such a record.",
	}),
	tagRules.Joined(rule.Rule[*evidence]{Code: "dmarc.record.joined", Severity: diag.Error, Ref: "RFC 9989 section 4.5"}),
	tagRules.Long(rule.Rule[*evidence]{Code: "dmarc.record.string", Severity: diag.Error, Ref: "RFC 1035 section 3.3"}),
	tagRules.Line(rule.Rule[*evidence]{Code: "dmarc.record.line", Severity: diag.Info}),
	tagRules.Unknown(rule.Rule[*evidence]{
		Code: "dmarc.tag.unknown", Severity: diag.Warning, Ref: "RFC 9989 section 4.7",
		When: usable, // else it is a part of why the record has no effect
	}),
}

func at(f rule.Failures, t taglist.Tag) rule.Failures {
	for i := range f {
		f[i].Location = &diag.Location{Offset: t.Offset, Length: t.Length}
	}
	return f
}

var valueRules = rule.Rules[*evidence]{{
	Code: "dmarc.record.void", Severity: diag.Critical, Ref: "RFC 9989 section 4.10.1",
	Title:       "DMARC record has no effect: no policy, no report address",
	Requirement: "The record has a policy that receivers can read, or a report address",
	Advice: "Add a valid p and a rua (rua=mailto: and the address of a mailbox for reports): without either, " +
		"receivers behave as if there were no record.",
	When: func(e *evidence) bool { return tagRules.HasOne(e) && len(e.record.Repeated()) == 0 },
	Fails: suggesting(func(e *evidence) rule.Failures {
		if e.reading.Usable {
			return nil
		}
		f := rule.Fail("Receivers apply no DMARC: %s.", e.reading.Reason)
		for _, unknown := range tagRules.Faults(taglist.Unknown)(e) {
			f[0].Detail += " " + unknown.Detail
		}
		return f
	}),
}, {
	Code: "dmarc.policy.missing", Severity: diag.Warning, DependsOn: []diag.Code{"dmarc.record.void"},
	Ref:   "RFC 9989 section 4.7",
	Title: "DMARC record has no policy (p)", Requirement: "The record has a policy (p)",
	Advice: "Add p=none after the version: receivers assume it, and some require that it is there.",
	Fails: suggesting(func(e *evidence) rule.Failures {
		return rule.FailIf(!e.record.Has("p"), "The record has no p=, so that receivers assume p=none and report only.")
	}),
}, {
	Code: "dmarc.policy.value", Severity: diag.Error, Weight: 2, Category: factorSyntax, Ref: "RFC 9989 section 4.7",
	Title: "Invalid DMARC policy (p, sp or np)", Requirement: "Every policy is none, quarantine or reject",
	Advice: "Write none, quarantine or reject: until then receivers assume p=none for all mail.",
	When:   tagRules.HasOne, Fails: tagRules.Faults(policy.BadPolicy),
}, {
	Code: "dmarc.policy.position", Severity: diag.Warning, DependsOn: []diag.Code{"dmarc.policy.missing"},
	Ref:   "RFC 7489 section 6.4",
	Title: "p does not follow the version of the DMARC record", Requirement: "p follows the version",
	Advice: "Put p directly after v=DMARC1: receivers that follow RFC 7489 look for it only there.",
	Fails: suggesting(func(e *evidence) rule.Failures {
		return rule.FailIf(!e.record.PolicyFirst(), "The tag %s is between the version and p.",
			e.record.List.Tags[1].Name)
	}),
}, {
	Code: "dmarc.flag.value", Severity: diag.Error, Ref: "RFC 9989 section 4.7",
	Title: "Invalid value of t or psd in the DMARC record", Requirement: "t is y or n, and psd is y, n or u",
	Advice: "Correct the value or remove the tag: until then receivers act as if the tag were absent.",
	When:   tagRules.HasOne, Fails: tagRules.Faults(policy.BadFlag),
}, {
	Code: "dmarc.fo.value", Severity: diag.Warning, Ref: "RFC 9989 section 4.7",
	Title: "Invalid option in fo of the DMARC record", Requirement: "fo holds options from 0, 1, d and s",
	Advice: "Write options from 0, 1, d and s with colons between them: until then receivers use fo=0.",
	When:   tagRules.HasOne, Fails: tagRules.Faults(policy.BadOption),
}, {
	Code: "dmarc.fo.contradiction", Severity: diag.Warning, Ref: "RFC 9989 section 4.7",
	Title: "fo has the options 0 and 1, which exclude each other", Requirement: "fo has one of the options 0 and 1",
	Advice: "Keep 1, which includes what 0 asks for.",
	When:   tagRules.HasOne, Fails: tagRules.Faults(policy.Contradicted),
}, {
	Code: "dmarc.tag.removed.value", Severity: diag.Warning, Ref: "RFC 7489 section 6.3",
	Title: "Invalid value of pct, rf or ri in the DMARC record", Requirement: "pct, rf and ri have valid values",
	Advice: "Remove the tag: RFC 9989 has dropped it, and receivers of RFC 7489 may refuse the record.",
	When:   tagRules.HasOne, Fails: tagRules.Faults(policy.BadRemoved),
}, {
	Code: "dmarc.tag.removed", Severity: diag.Info, DependsOn: []diag.Code{"dmarc.tag.removed.value"},
	Ref:   "RFC 9989 appendix C.5.2",
	Title: "Tag that RFC 9989 removed", Requirement: "The record has no tag that RFC 9989 removed",
	Advice: "Remove the tag: receivers of RFC 9989 ignore it, and for others it states a default or is hardly " +
		"honored.",
	When: tagRules.HasOne,
	Fails: suggesting(func(e *evidence) rule.Failures {
		return rule.FailEach([]string{"pct", "rf", "ri"}, func(name string) rule.Failures {
			t, ok := e.record.List.Tag(name)
			if !ok || name == "pct" && e.record.Percentage < policy.DefaultPercentage { // of which others speak
				return nil
			}
			return at(rule.Fail("The tag %s=%s is not part of RFC 9989.", name, phrase.Quote(t.Value)).About(name), t)
		}).Joined()
	}),
}}

// tagText names a policy with its tag, such as "sp=none".
func tagText(tag string, p policy.Policy) string { return fmt.Sprintf("%s=%s", tag, p) }
