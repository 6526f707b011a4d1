package idn

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
)

// ofLabel makes a detail say which label it is about.
func ofLabel(source, detail string) string {
	label := fmt.Sprintf("label %q", phrase.Quote(source))
	switch rest, ok := strings.CutPrefix(detail, "The label "); {
	case source == "":
		return detail
	case ok:
		return "The " + label + " " + rest
	case strings.Contains(detail, phrase.Quote(source)):
		return detail
	}
	return "In the " + label + ": " + detail
}

func faults(k kind) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		var failures rule.Failures
		for _, l := range e.name.labels {
			for _, f := range l.faults {
				if f.kind == k {
					detail := ofLabel(l.source, f.detail) + e.placeOf(f.at)
					failures = append(failures, rule.Failure{Detail: detail, Target: l.source, Location: &f.at})
				}
			}
		}
		return failures.Joined()
	}
}

// each returns a failure for each label for which a test returns a text.
func each(test func(e *evidence, i int) string) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		var failures rule.Failures
		for i, l := range e.name.labels {
			if detail := test(e, i); detail != "" {
				failures = append(failures, rule.Failure{Detail: ofLabel(l.source, detail), Target: l.source, Location: &l.at})
			}
		}
		return failures.Joined()
	}
}

// placeOf describes the position of a character that a reader cannot find by its looks; empty otherwise.
func (e *evidence) placeOf(at rule.Location) string {
	r, size := utf8.DecodeRuneInString(e.domain[at.Offset:])
	if size != at.Length || unicode.IsPrint(r) {
		return ""
	}
	return fmt.Sprintf(" It is character %d of the name.", utf8.RuneCountInString(e.domain[:at.Offset])+1)
}

// removed lists the invisible characters that mapping removed. Variation selectors, which keyboards put after
// symbols, are removed as well, but not listed.
func removed(e *evidence) rule.Failures {
	var failures rule.Failures
	for i, r := range e.domain {
		if s, _ := table().statusOf(r); s == ignored && input.Invisible(r) {
			at := rule.Location{Offset: i, Length: utf8.RuneLen(r)}
			failures = append(failures, rule.Failure{
				Detail: fmt.Sprintf("%s was left out, which IDNA ignores.%s", input.DescribeRune(r), e.placeOf(at)), Location: &at,
			})
		}
	}
	return failures.Joined()
}

func international(e *evidence) bool { return e.name.unicode() != e.ascii }

// characters lists the characters of a label that pass a test, each once.
func characters(text string, test func(rune) bool) string {
	var list []string
	seen := map[rune]bool{}
	for _, r := range text {
		if test(r) && !seen[r] {
			seen[r] = true
			list = append(list, input.DescribeRune(r))
		}
	}
	return strings.Join(list, ", ")
}

var rules = rule.Rules[*evidence]{{
	Code: "idn.name.address", Severity: rule.Error, Ref: "RFC 1123 section 2.1",
	Title: "IP address, not a domain name", Requirement: "The name is not an IP address",
	Advice: "Give a domain name: an IP address has no other form. ip/nslookup finds the names of an address.",
	Fails:  func(e *evidence) rule.Failures { return rule.FailIf(e.address != "", "%s", e.address) },
}, {
	Code: "idn.label.empty", Severity: rule.Error, Ref: "UTS #46 section 4.2, RFC 1035 section 3.1",
	Title: "Empty label", Requirement: "No label is empty",
	Advice: "Remove the extra dot, or the characters between the dots that IDNA ignores.", Fails: faults(emptyLabel),
}, {
	Code: "idn.label.long", Severity: rule.Error, Ref: "RFC 1035 section 2.3.4",
	Title: "Label longer than 63 octets", Requirement: "Every label has at most 63 octets in ASCII",
	Advice: "Shorten the label. Characters beyond ASCII take several octets each.", Fails: faults(longLabel),
}, {
	Code: "idn.name.long", Severity: rule.Error, Ref: "RFC 1035 section 2.3.4",
	Title: "Name longer than 253 octets", Requirement: "The name has at most 253 octets in ASCII",
	Advice: "Shorten the name.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(len(e.ascii) > maxName, "The name has %d octets in ASCII.", len(e.ascii))
	},
}, {
	Code: "idn.label.punycode", Severity: rule.Error, Ref: "RFC 3492 section 6.2, RFC 5890 section 2.3.2.1",
	Title: "Invalid Punycode", Requirement: "Every A-label is valid Punycode",
	Advice: `Correct the label: "xn--" may only begin a label that was encoded with Punycode.`,
	Fails:  faults(badPunycode),
}, {
	Code: "idn.label.canonical", Severity: rule.Error, Ref: "RFC 5891 section 4.2.1, UTS #46 section 4.1",
	Title: "A-label is not the encoding of its U-label", Requirement: "Every A-label is the encoding of its U-label",
	Advice: "Encode the label again from its Unicode form: nobody who types that form arrives at this label.",
	Fails:  faults(notCanonical),
}, {
	Code: "idn.label.ascii", Severity: rule.Error, Ref: "RFC 5891 section 4.2.3.1, RFC 1123 section 2.1",
	Title: "ASCII character not allowed", Requirement: "All ASCII characters are letters, digits or hyphens",
	Advice:    "Remove the character or replace it with a hyphen.",
	DependsOn: []rule.Code{"idn.name.address"}, Fails: faults(notPlain),
}, {
	Code: "idn.label.codepoint", Severity: rule.Error, Ref: "RFC 5892 section 2, UTS #46 section 4.1",
	Title: "Character not allowed in a domain name", Requirement: "All characters are allowed in domain names",
	Advice: "Remove the character or replace it with a letter.", Fails: faults(notAllowed),
}, {
	Code: "idn.label.hyphen.position", Severity: rule.Error, Ref: "RFC 5891 section 4.2.3.1",
	Title: "Hyphens in positions 3 and 4", Requirement: "No label has hyphens in positions 3 and 4",
	Advice: "Move or remove one of the hyphens: this form is reserved for encodings such as xn--.",
	Fails:  faults(doubleHyphen),
}, {
	Code: "idn.label.hyphen.edge", Severity: rule.Error, Ref: "RFC 5891 section 4.2.3.1",
	Title: "Label begins or ends with a hyphen", Requirement: "No label begins or ends with a hyphen",
	Advice: "Remove the hyphen.", Fails: faults(edgeHyphen),
}, {
	Code: "idn.label.mark", Severity: rule.Error, Ref: "RFC 5891 section 4.2.3.2",
	Title: "Label begins with a combining mark", Requirement: "No label begins with a combining mark",
	Advice: "Put a letter before the mark, or remove the mark.", Fails: faults(leadingMark),
}, {
	Code: "idn.label.joiner", Severity: rule.Error, Ref: "RFC 5892 appendix A.1, appendix A.2",
	Title: "Joiner that changes nothing", Requirement: "Joiners are used only where they change the text",
	Advice: "Remove the invisible character.", Fails: faults(badJoiner),
}, {
	Code: "idn.label.bidi", Severity: rule.Error, Ref: "RFC 5893 section 2",
	Title: "Bidi rule violated", Requirement: "Right-to-left labels satisfy the Bidi rule",
	Advice: "Use one writing direction per label, begin it with a letter, and end it with a letter or digit.",
	Fails:  faults(badDirection),
}, {
	Code: "idn.label.symbol", Severity: rule.Error, Ref: "RFC 5892 section 2.6, UTS #46 section 6",
	Title: "Symbol that IDNA 2008 does not allow", Requirement: "All characters are letters, digits or marks",
	Advice: "Remove the symbol: registries refuse it, and programs that keep to IDNA 2008 reject the name.",
	When:   international,
	Fails: each(func(e *evidence, i int) string {
		list := characters(e.name.labels[i].unicode, func(r rune) bool {
			return r >= utf8.RuneSelf && table().symbol.contain(r)
		})
		if list == "" {
			return ""
		}
		return fmt.Sprintf("IDNA 2008 does not allow %s. Software that keeps to UTS #46 alone does.", list)
	}),
}, {
	Code: "idn.name.invisible", Severity: rule.Warning, Ref: "UTS #46 section 5",
	Title: "Invisible character left out", Requirement: "The name has no invisible characters",
	Advice: "Remove the character where the name came from: not all software ignores it.", Fails: removed,
}, {
	Code: "idn.label.context", Severity: rule.Warning, Ref: "RFC 5892 appendix A.3 to A.9",
	Title: "Character out of context", Requirement: "Context-dependent characters are in context",
	Advice: "Remove the character: registries refuse the name.", When: international,
	Fails: each(func(e *evidence, i int) string { return outOfContext(e.name.labels[i].unicode) }),
}, {
	Code: "idn.script.mixed", Severity: rule.Warning, Ref: "UTS #39 section 5.2",
	Title: "Mixed scripts", Requirement: "The scripts of each label belong together",
	Advice: "Write the label in one script: browsers show such names in ASCII, as likely deception.",
	When:   international,
	Fails: each(func(e *evidence, i int) string {
		if e.mixes[i] != mixed {
			return ""
		}
		return fmt.Sprintf("The label has letters of %s.", strings.Join(e.labels[i].Scripts, " and "))
	}),
}, {
	Code: "idn.label.confusable", Severity: rule.Warning, Ref: "UTS #39 section 4",
	Title: "Confusable with an ASCII label", Requirement: "No label is confusable with an ASCII one",
	Advice: "Check who holds the name: it can hardly be distinguished from the ASCII one by eye.", When: international,
	Fails: each(func(e *evidence, i int) string {
		if e.labels[i].ConfusableWith == "" {
			return ""
		}
		return fmt.Sprintf("%q looks like %q.", e.labels[i].Unicode, e.labels[i].ConfusableWith)
	}),
}, {
	Code: "idn.label.deviation", Severity: rule.Info, Ref: "UTS #46 section 7, RFC 5894 section 7.2",
	Title: "Different name in IDNA 2003", Requirement: "The label means the same in IDNA 2003",
	Advice: "Register both forms if you can: old software goes to the other one.", When: international,
	Fails: each(func(e *evidence, i int) string {
		list := characters(e.name.labels[i].unicode, func(r rune) bool {
			return r == 'ß' || r == 'ς' || r == zwj || r == zwnj
		})
		if list == "" {
			return ""
		}
		return fmt.Sprintf("IDNA 2003 replaced %s; here it is kept, which makes another name.", list)
	}),
}}
