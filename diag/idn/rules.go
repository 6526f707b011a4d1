package idn

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag"
)

// describe names a code point, with the character itself if it can be seen: U+0430 'а'.
func describe(r rune) string { return fmt.Sprintf("%#U", r) }

// maxFailures bounds what one rule has to say about a name of many faults.
const maxFailures = 20

// faults returns the faults of one kind in all labels.
func faults(k kind) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures {
		var failures diag.Failures
		for _, l := range e.name.labels {
			for _, f := range l.faults {
				if f.kind == k && len(failures) < maxFailures {
					failures = append(failures, diag.Failure{Detail: f.detail, Target: l.source, Location: &f.at})
				}
			}
		}
		return failures
	}
}

// each returns a failure for each label of which a test has something to say.
func each(test func(e *evidence, i int) string) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures {
		var failures diag.Failures
		for i, l := range e.name.labels {
			if detail := test(e, i); detail != "" && len(failures) < maxFailures {
				failures = append(failures, diag.Failure{Detail: detail, Target: l.source, Location: &l.at})
			}
		}
		return failures
	}
}

func international(e *evidence) bool { return e.name.unicode() != e.ascii }

// characters lists the characters of a label of which a test is true, each once.
func characters(text string, test func(rune) bool) string {
	var list []string
	seen := map[rune]bool{}
	for _, r := range text {
		if test(r) && !seen[r] {
			seen[r] = true
			list = append(list, describe(r))
		}
	}
	return strings.Join(list, ", ")
}

var rules = diag.Rules[*evidence]{
	{
		Code: "idn.label.empty", Severity: diag.Error,
		Requirement: "No label is empty",
		Ref:         "UTS #46 section 4.2, RFC 1035 section 3.1",
		Advice:      "Remove the superfluous dot, or what stands between the dots and is ignored.",
		Fails:       faults(emptyLabel),
	},
	{
		Code: "idn.label.long", Severity: diag.Error,
		Requirement: "Every label has 63 octets at most in ASCII",
		Ref:         "RFC 1035 section 2.3.4",
		Advice:      "Shorten the label; characters beyond ASCII count more than one octet.",
		Fails:       faults(longLabel),
	},
	{
		Code: "idn.name.long", Severity: diag.Error,
		Requirement: "The name has 253 octets at most in ASCII",
		Ref:         "RFC 1035 section 2.3.4",
		Advice:      "Shorten the name.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(len(e.ascii) > maxName, "The name has %d octets in ASCII.", len(e.ascii))
		},
	},
	{
		Code: "idn.label.punycode", Severity: diag.Error,
		Requirement: "Every A-label decodes to text beyond ASCII",
		Ref:         "RFC 3492 section 6.2, RFC 5890 section 2.3.2.1",
		Advice:      `Correct the label: "xn--" may begin only what was made by encoding a U-label.`,
		Fails:       faults(badPunycode),
	},
	{
		Code: "idn.label.canonical", Severity: diag.Error,
		Requirement: "Every A-label is the one of its text",
		Ref:         "RFC 5891 section 4.2.1, UTS #46 section 4.1",
		Advice:      "Encode the label again from its text: this one is never found in the DNS by that text.",
		Fails:       faults(notCanonical),
	},
	{
		Code: "idn.label.ascii", Severity: diag.Error,
		Requirement: "ASCII characters are letters, digits and hyphens",
		Ref:         "RFC 5891 section 4.2.3.1, RFC 1123 section 2.1",
		Advice:      "Leave the character out, or replace it by a hyphen.",
		Fails:       faults(notPlain),
	},
	{
		Code: "idn.label.codepoint", Severity: diag.Error,
		Requirement: "All characters are allowed in names",
		Ref:         "RFC 5892 section 2, UTS #46 section 4.1",
		Advice:      "Leave the character out, or replace it by a letter.",
		Fails:       faults(notAllowed),
	},
	{
		Code: "idn.label.hyphen.position", Severity: diag.Error,
		Requirement: "No label has hyphens in the third and fourth place",
		Ref:         "RFC 5891 section 4.2.3.1",
		Advice:      "Move or remove one of the hyphens: the form is kept for encodings such as xn--.",
		Fails:       faults(doubleHyphen),
	},
	{
		Code: "idn.label.hyphen.edge", Severity: diag.Error,
		Requirement: "No label begins or ends with a hyphen",
		Ref:         "RFC 5891 section 4.2.3.1",
		Advice:      "Remove the hyphen.",
		Fails:       faults(edgeHyphen),
	},
	{
		Code: "idn.label.mark", Severity: diag.Error,
		Requirement: "No label begins with a combining mark",
		Ref:         "RFC 5891 section 4.2.3.2",
		Advice:      "Put a letter before the mark, or remove it.",
		Fails:       faults(leadingMark),
	},
	{
		Code: "idn.label.joiner", Severity: diag.Error,
		Requirement: "Joiners stand only where they change how text looks",
		Ref:         "RFC 5892 appendix A.1, appendix A.2",
		Advice:      "Remove the invisible character.",
		Fails:       faults(badJoiner),
	},
	{
		Code: "idn.label.bidi", Severity: diag.Error,
		Requirement: "Text from right to left cannot be taken for another name",
		Ref:         "RFC 5893 section 2",
		Advice:      "Keep each label to one direction, begin it with a letter, and end it with a letter or digit.",
		Fails:       faults(badDirection),
	},
	{
		Code: "idn.label.symbol", Severity: diag.Warning,
		Requirement: "All characters are letters, digits or marks",
		Ref:         "RFC 5892 section 2.6, UTS #46 section 6",
		Advice:      "Leave the symbol out: most registries refuse it, and some programs do not accept the name.",
		When:        international,
		Fails: each(func(e *evidence, i int) string {
			list := characters(e.name.labels[i].unicode, func(r rune) bool {
				return r >= utf8.RuneSelf && table().symbol.contain(r)
			})
			if list == "" {
				return ""
			}
			return fmt.Sprintf("IDNA 2008 does not allow %s; UTS #46 does.", list)
		}),
	},
	{
		Code: "idn.label.context", Severity: diag.Warning,
		Requirement: "Characters of one language stand where that language has them",
		Ref:         "RFC 5892 appendix A.3 to A.9",
		Advice:      "Leave the character out: registries refuse the name.",
		When:        international,
		Fails:       each(func(e *evidence, i int) string { return outOfContext(e.name.labels[i].unicode) }),
	},
	{
		Code: "idn.script.mixed", Severity: diag.Warning,
		Requirement: "The scripts of each label are used together by a language",
		Ref:         "UTS #39 section 5.2",
		Advice:      "Write the label in one script: browsers show such a name in ASCII form, as a likely deception.",
		When:        international,
		Fails: each(func(e *evidence, i int) string {
			if e.mixes[i] != mixed {
				return ""
			}
			return fmt.Sprintf("The label has letters of %s.", strings.Join(e.labels[i].Scripts, " and "))
		}),
	},
	{
		Code: "idn.script.unusual", Severity: diag.Info,
		Requirement: "No label mixes Latin with another script",
		Ref:         "UTS #39 section 5.2",
		When:        international,
		Fails: each(func(e *evidence, i int) string {
			if e.mixes[i] != unusual {
				return ""
			}
			return fmt.Sprintf("The label has letters of %s.", strings.Join(e.labels[i].Scripts, " and "))
		}),
	},
	{
		Code: "idn.label.confusable", Severity: diag.Warning,
		Requirement: "No label looks like a plain one",
		Ref:         "UTS #39 section 4",
		Advice:      "Take care whose name it is: it can hardly be told from the plain one by the eye.",
		When:        international,
		Fails: each(func(e *evidence, i int) string {
			if e.labels[i].ConfusableWith == "" {
				return ""
			}
			return fmt.Sprintf("%q looks like %q.", e.labels[i].Unicode, e.labels[i].ConfusableWith)
		}),
	},
	{
		Code: "idn.label.deviation", Severity: diag.Info,
		Requirement: "The label is the same under the older rules",
		Ref:         "UTS #46 section 7, RFC 5894 section 7.2",
		When:        international,
		Fails: each(func(e *evidence, i int) string {
			list := characters(e.name.labels[i].unicode, func(r rune) bool {
				return r == 'ß' || r == 'ς' || r == zwj || r == zwnj
			})
			if list == "" {
				return ""
			}
			return fmt.Sprintf("IDNA 2003 replaced %s; here it is kept, which makes another name.", list)
		}),
	},
}
