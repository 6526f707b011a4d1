package spf

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

func inSyntax(kinds ...eval.SyntaxKind) func(*evidence) rule.Failures {
	return suggesting(func(e *evidence) rule.Failures {
		var list rule.Failures
		root := e.tree.Root
		for i := range root.Faults {
			f := &root.Faults[i]
			if slices.Contains(kinds, f.Kind) && !e.joins(f.Begin, f.End) {
				raw := phrase.Quote(root.Record[f.Begin:f.End])
				where := fmt.Sprintf("At byte %d", f.Offset)
				if raw != "" {
					where += fmt.Sprintf(", in %q", raw)
				}
				text := f.Text
				if meant, _ := meantMechanism(raw); meant != "" && f.Kind == eval.BadMechanism {
					text += fmt.Sprintf(", but one named %q", meant)
				}
				list = append(list, rule.Failure{
					Detail: where + ": " + phrase.Quote(text) + ".", Target: raw,
					Location: &diag.Location{Offset: f.Offset, Length: f.Length},
				})
			}
		}
		return mergeFailures(list)
	})
}

// syntaxRule makes the rule about errors of some kinds. Each of them makes receivers return permerror.
func syntaxRule(code diag.Code, title, requirement, section, advice string,
	kinds ...eval.SyntaxKind) rule.Rule[*evidence] {
	return rule.Rule[*evidence]{
		Code: code, Severity: diag.Critical, Weight: 1, Category: factorSyntax, Title: title, Requirement: requirement,
		Ref: "RFC 7208 section " + section, Advice: advice, Fails: inSyntax(kinds...),
	}
}

var syntaxRules = rule.Rules[*evidence]{
	syntaxRule("spf.syntax.length", "SPF record is too long to be evaluated",
		"The record is short enough to be read", "3.4",
		"Shorten the record: receivers do not read one of this length.", eval.BadLength),
	syntaxRule("spf.syntax.character", "Invalid character in the SPF record",
		"The record has printable ASCII characters only", "3.1",
		"Retype the term: tabs, line breaks, and invisible or accented characters are not allowed; write "+
			"U-labels as A-labels.",
		eval.BadCharacter),
	syntaxRule("spf.syntax.qualifier", "SPF record has a misplaced qualifier",
		"Every qualifier is directly before a mechanism", "4.6.1",
		"Write one of + - ~ ? directly before a mechanism, and none before a modifier.", eval.BadQualifier),
	syntaxRule("spf.syntax.mechanism", "SPF record has an unknown mechanism",
		"Every mechanism is one that SPF defines", "4.6.1",
		"Correct the name: the mechanisms are all, include, a, mx, ptr, ip4, ip6 and exists.", eval.BadMechanism),
	syntaxRule("spf.syntax.modifier", "SPF record has an invalid modifier", "Every modifier has a valid name", "12",
		"Correct the name: it begins with a letter, followed by letters, digits, hyphens, underscores or dots.",
		eval.BadModifier),
	syntaxRule("spf.syntax.modifier.colon", "SPF record has a modifier with a colon",
		"Modifiers are written with an equals sign", "6",
		"Write redirect= and exp= with an equals sign; a colon is for mechanisms.", eval.ColonModifier),
	{
		Code: "spf.syntax.glued", Severity: diag.Critical, Weight: 1, Category: factorSyntax,
		Ref:   "RFC 7208 section 4.6.1",
		Title: "SPF record lacks a space before all", Requirement: "A space separates all from the term before it",
		Advice: "Add a space before the qualifier of all.", Fails: suggesting(gluedTerms),
	},
	{
		Code: "spf.term.glued", Severity: diag.Critical, Weight: 1, Category: factorSyntax,
		Ref:   "RFC 7208 section 4.6.1",
		Title: "SPF record lacks a space between two terms", Requirement: "A space separates every two terms",
		Advice: "Add a space between the two terms: receivers read them as one.", Fails: suggesting(runTogether),
	},
	syntaxRule("spf.syntax.value.missing", "SPF record has a term without its value",
		"Every term that needs a value has one", "4.6.1",
		"Write the value directly after the colon or equals sign, without a space.", eval.ValueMissing),
	syntaxRule("spf.syntax.value.unexpected", "SPF record has a value where none is allowed",
		"No term has a value that it cannot have", "5",
		"Remove what follows the name: all takes no value, and only a, mx, ip4 and ip6 take a prefix length.",
		eval.ValueUnexpected),
	syntaxRule("spf.syntax.ip4", "SPF record has an invalid IPv4 address", "Every ip4 has a valid IPv4 address", "5.6",
		"Write four numbers from 0 to 255 without leading zeros, and a prefix length after a slash if needed.", eval.BadIP4),
	syntaxRule("spf.syntax.ip6", "SPF record has an invalid IPv6 address", "Every ip6 has a valid IPv6 address", "5.6",
		"Write an IPv6 address such as 2001:db8::1, and a prefix length after a slash if needed.", eval.BadIP6),
	syntaxRule("spf.syntax.family", "SPF record mixes up ip4 and ip6",
		"IPv4 addresses are in ip4, IPv6 addresses in ip6", "5.6",
		"Use ip4 for IPv4 addresses and ip6 for IPv6 addresses.", eval.WrongFamily),
	syntaxRule("spf.syntax.network_macro", "SPF record has a macro in ip4 or ip6", "ip4 and ip6 have no macros", "5.6",
		"Replace the macro with an address, or use exists with the macro.", eval.MacroInNetwork),
	syntaxRule("spf.syntax.prefix", "SPF record has an invalid prefix length", "Every prefix length is valid", "5.6",
		"Use 0 to 32 for IPv4 and 0 to 128 for IPv6, without leading zeros; a and mx take /24//64 for both families.",
		eval.BadPrefix),
	syntaxRule("spf.syntax.domain", "SPF record has an invalid domain name", "Every domain name in a term is valid", "7.1",
		"Write a domain name of at least two labels, without https:// or a path; use ip4 and ip6 for addresses.",
		eval.BadDomain),
	syntaxRule("spf.syntax.macro", "SPF record has an invalid macro", "Every macro is valid", "7.1",
		"Write a macro as a percent sign and a letter in braces, such as %{i}; %% stands for a percent sign.", eval.BadMacro),
	syntaxRule("spf.syntax.repeated", "SPF record has redirect or exp twice", "redirect and exp appear at most once", "6",
		"Remove the second one.", eval.RepeatedTerm),
}

// gluedTerms finds terms joined to all: those that are invalid for that, and names that end in -all by mistake.
func gluedTerms(e *evidence) rule.Failures {
	list := inSyntax(eval.GluedTerms)(e)
	root := e.tree.Root
	for _, t := range root.Terms {
		if head, tail, ok := cutSwallowedAll(root.Parsed, t.Term); ok && !e.symptom(root, t.Term) {
			list = append(list, failTerm(root, t.Term, "%q is read as a name that ends in %s, not as %q and %s.",
				phrase.Quote(t.Raw), tail, phrase.Quote(head), tail))
		}
	}
	return list
}

func explanationRule(code diag.Code, title, requirement, advice string,
	check func(t *ResolvedTerm) string) rule.Rule[*evidence] {
	return rule.Rule[*evidence]{
		Code: code, Severity: diag.Warning, Title: title, Requirement: requirement,
		Ref: "RFC 7208 section 6.2", Advice: advice,
		DependsOn: []diag.Code{"spf.exp.unknown"}, When: hasExplanation,
		Fails: inTree(func(_ *evidence, n *Node, t *ResolvedTerm) rule.Failures {
			if t.Name != eval.Exp || !t.Asked || t.Err != nil {
				return nil
			}
			if detail := check(t); detail != "" {
				return rule.Failures{failTerm(n, t.Term, "%s", detail)}
			}
			return nil
		}),
	}
}

func hasExplanation(e *evidence) bool {
	for _, t := range e.tree.terms() {
		if t.Name == eval.Exp && (t.Asked || t.Err != nil) {
			return true
		}
	}
	return false
}

// explanationRules are about exp. They do not affect the result.
var explanationRules = rule.Rules[*evidence]{
	{
		Code: "spf.exp.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 7208 section 6.2",
		Title: "SPF explanation could not be looked up", Requirement: "The name servers answer for the explanation",
		Advice: "Check the name servers: without the text, senders do not learn why their mail failed.",
		When:   hasExplanation, Fails: inTree(func(_ *evidence, n *Node, t *ResolvedTerm) rule.Failures {
			if t.Name != eval.Exp || t.Err == nil {
				return nil
			}
			return rule.Failures{failTerm(n, t.Term, "The explanation at %s could not be looked up: %s.", phrase.Quote(t.Target),
				phrase.Quote(t.Err.Error()))}
		}),
	},
	explanationRule("spf.exp.missing", "SPF explanation does not exist", "The explanation exists",
		"Publish the text as one TXT record at that name, or remove exp.", func(t *ResolvedTerm) string {
			if len(t.Texts) > 0 {
				return ""
			}
			return fmt.Sprintf("%s has no TXT record with the explanation.", phrase.Quote(t.Target))
		}),
	explanationRule("spf.exp.multiple", "SPF has more than one explanation", "There is only one explanation",
		"Keep one TXT record at that name: with more than one, receivers use none.", func(t *ResolvedTerm) string {
			if len(t.Texts) < 2 {
				return ""
			}
			return fmt.Sprintf("%s has %d TXT records.", phrase.Quote(t.Target), len(t.Texts))
		}),
	explanationRule("spf.exp.syntax", "SPF explanation has a syntax error",
		"The explanation is ASCII text with valid macros",
		"Correct the text: receivers do not use an explanation with an error.", func(t *ResolvedTerm) string {
			if len(t.Texts) != 1 {
				return ""
			}
			offset, fault := eval.ExplanationFault(t.Texts[0])
			if fault == "" {
				return ""
			}
			return fmt.Sprintf("The explanation at %s has an error at byte %d: %s.", phrase.Quote(t.Target), offset, fault)
		}),
}

// testRules are about the address that is tested. They are not about the record.
var testRules = rule.Rules[*evidence]{
	{
		Code: "spf.ip.result", Severity: diag.Info, Ref: "RFC 7208 section 2.6",
		Title: "Tested address does not pass", Requirement: "The tested address passes",
		Advice: "List the host in the record if it sends mail for the domain.", When: func(e *evidence) bool {
			return e.result != nil && e.result.Outcome != eval.Temperror && e.result.Outcome != eval.NeedsDNS && e.exists()
		},
		Fails: func(e *evidence) rule.Failures {
			if e.result.Outcome == eval.Pass {
				return nil
			}
			detail := fmt.Sprintf("The result for %s is %s.", e.ip, e.result.Outcome)
			if e.result.MatchedTerm != "" {
				detail = fmt.Sprintf("The result for %s is %s, because of %q in the record of %s.", e.ip, e.result.Outcome,
					phrase.Quote(e.result.MatchedTerm), phrase.Quote(cmp.Or(e.result.MatchedDomain, "the domain")))
			} else if e.result.Reason != "" {
				detail = fmt.Sprintf("The result for %s is %s: %s.", e.ip, e.result.Outcome, phrase.Quote(e.result.Reason))
			}
			return rule.Failures{{Detail: detail, Target: e.ip.String()}}
		},
	},
	{
		Code: "spf.ip.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 7208 section 2.6",
		Title: "Result for the tested address is not known", Requirement: "The result for the tested address is known",
		Advice: "Look up the published record with the address, or try again if a name server did not answer.",
		When:   func(e *evidence) bool { return e.result != nil && e.exists() }, Fails: func(e *evidence) rule.Failures {
			return rule.FailIf(e.result.Outcome == eval.Temperror || e.result.Outcome == eval.NeedsDNS,
				"The result for %s is not known: %s.", e.ip, phrase.Quote(e.result.Reason)).About(e.ip.String())
		},
	},
}

// exists reports whether the domain exists; a text without a domain counts as existing.
func (e *evidence) exists() bool { return e.offline || !e.published.answer.NXDomain() }
