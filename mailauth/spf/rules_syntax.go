package spf

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// inSyntax returns the errors of some kinds in the record.
func inSyntax(kinds ...SyntaxKind) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures {
		var list diag.Failures
		root := e.tree.Root
		for i := range root.Faults {
			f := &root.Faults[i]
			if slices.Contains(kinds, f.Kind) && len(list) < maxListed {
				list = append(list, diag.Failure{
					Detail: diag.Sentence(f.Text), Target: diag.Quote(root.raw[f.term:f.end]),
					Location: &diag.Location{Offset: f.Offset, Length: f.Length}, Suggested: root.repaired(),
				})
			}
		}
		return list
	}
}

// syntaxRule makes the rule about errors of some kinds. Every one of them makes receivers end in
// permerror.
func syntaxRule(code diag.Code, title, section, advice string, kinds ...SyntaxKind) diag.Rule[*evidence] {
	return diag.Rule[*evidence]{
		Code: code, Severity: diag.Critical, Weight: 1, Category: factorSyntax, Requirement: title,
		Ref: "RFC 7208 section " + section, Advice: advice, When: one, Fails: inSyntax(kinds...),
	}
}

// syntaxRules are about the syntax of the record.
var syntaxRules = diag.Rules[*evidence]{
	syntaxRule("spf.syntax.length", "The record is short enough to be read", "3.4",
		"Shorten the record: receivers do not read one of this length.", BadLength),
	syntaxRule("spf.syntax.character", "The record has printable ASCII characters only", "3.1",
		"Retype the term: records hold no tabs, line breaks, invisible or accented characters.", BadCharacter),
	syntaxRule("spf.syntax.qualifier", "Every sign stands before a mechanism", "4.6.1",
		"Put one of + - ~ ? directly before a mechanism, and none before a modifier.", BadQualifier),
	syntaxRule("spf.syntax.mechanism", "Every mechanism exists", "4.6.1",
		"Correct the name: the mechanisms are all, include, a, mx, ptr, ip4, ip6 and exists.", BadMechanism),
	syntaxRule("spf.syntax.modifier", "Every modifier has a name that begins with a letter", "12",
		"Correct the name: it begins with a letter, and goes on with letters, digits, hyphens, dots and underscores.",
		BadModifier),
	syntaxRule("spf.syntax.modifier.colon", "Modifiers are written with an equals sign", "6",
		"Write redirect= and exp= with an equals sign; colons are for mechanisms.", ColonModifier),
	{
		Code: "spf.syntax.glued", Severity: diag.Critical, Weight: 1, Category: factorSyntax,
		Requirement: "A blank stands before all",
		Ref:         "RFC 7208 section 4.6.1",
		Advice:      "Put a blank before the sign of all.",
		When:        one,
		Fails:       glued,
	},
	syntaxRule("spf.syntax.value.missing", "Every term that needs a value has one", "4.6.1",
		"Give the value directly behind the colon or equals sign, without a blank.", ValueMissing),
	syntaxRule("spf.syntax.value.unexpected", "No term has a value that it cannot have", "5",
		"Remove what follows the name: all takes nothing, and lengths of prefixes are for a, mx, ip4 and ip6.",
		ValueUnexpected),
	syntaxRule("spf.syntax.ip4", "Every ip4 holds an IPv4 address", "5.6",
		"Write four numbers from 0 to 255 without zeros in front, and the length of the prefix behind a slash.", BadIP4),
	syntaxRule("spf.syntax.ip6", "Every ip6 holds an IPv6 address", "5.6",
		"Write an IPv6 address, such as 2001:db8::1, and the length of the prefix behind a slash.", BadIP6),
	syntaxRule("spf.syntax.family", "IPv4 addresses stand in ip4 and IPv6 addresses in ip6", "5.6",
		"Use ip4 for IPv4 and ip6 for IPv6.", WrongFamily),
	syntaxRule("spf.syntax.network_macro", "Networks hold no macros", "5.6",
		"Replace the macro by an address, or use exists with the macro.", MacroInNetwork),
	syntaxRule("spf.syntax.prefix", "Every length of a prefix is in bounds", "5.6",
		"Use 0 to 32 for IPv4 and 0 to 128 for IPv6, without zeros in front; a and mx take /24//64 for both.", BadPrefix),
	syntaxRule("spf.syntax.domain", "Every name of a domain has the form of one", "7.1",
		"Write a name of two labels at least, without https:// or a path; addresses belong to ip4 and ip6.", BadDomain),
	syntaxRule("spf.syntax.macro", "Every macro exists and is written correctly", "7.1",
		"Correct the macro: a letter in braces behind a percent sign, as in %{i}; %% stands for a percent sign.", BadMacro),
	syntaxRule("spf.syntax.repeated", "redirect and exp stand once at most", "6",
		"Remove the second one.", RepeatedTerm),
}

// glued finds terms to which all sticks: those that are no terms for it, and names that end in -all by
// mistake.
func glued(e *evidence) diag.Failures {
	list := inSyntax(GluedTerms)(e)
	root := e.tree.Root
	for i := range root.Terms {
		t := &root.Terms[i]
		head, ok := cutAll(t.Raw)
		if !ok || !t.Valid || t.Name == All || t.spec == nil || root.Parsed.find(All) != nil {
			continue
		}
		if m, _, _, fault := parseMacros(strings.TrimSuffix(t.Value, t.Raw[len(head):]), false); fault == "" &&
			len(m) > 0 && domainEnd(m) == "" {
			f := blame(root, t.Term, "%s ends in %s, which is taken as a part of the name.", diag.Quote(t.Raw), t.Raw[len(head):])
			f.Suggested = e.with(root, t.Term, head+" "+t.Raw[len(head):])
			list = append(list, f)
		}
	}
	return list[:min(len(list), maxListed)]
}
