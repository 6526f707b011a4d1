package spf

import (
	"fmt"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

func explanationRule(code diag.Code, title, requirement, advice string, check func(t *ResolvedTerm) string) diag.Rule[*evidence] {
	return diag.Rule[*evidence]{
		Code: code, Severity: diag.Warning, Title: title, Requirement: requirement, Ref: "RFC 7208 section 6.2", Advice: advice,
		DependsOn: []diag.Code{"spf.exp.unknown"}, When: hasExplanation,
		Fails: inTree(func(_ *evidence, n *Node, t *ResolvedTerm) diag.Failures {
			if t.Name != eval.Exp || !t.Asked || t.Err != nil {
				return nil
			}
			if detail := check(t); detail != "" {
				return diag.Failures{blame(n, t.Term, "%s", detail)}
			}
			return nil
		}),
	}
}

func hasExplanation(e *evidence) bool {
	return slices.ContainsFunc(e.nodes, func(n *Node) bool {
		return slices.ContainsFunc(n.Terms, func(t ResolvedTerm) bool { return t.Name == eval.Exp && (t.Asked || t.Err != nil) })
	})
}

// explanationRules are about exp. None of them matters to the result.
var explanationRules = diag.Rules[*evidence]{
	{
		Code: "spf.exp.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 7208 section 6.2",
		Title: "SPF explanation could not be looked up", Requirement: "The name servers answer for the explanation",
		Advice: "Check the name servers: without the text, senders do not learn why their mail failed.",
		When:   hasExplanation, Fails: inTree(func(_ *evidence, n *Node, t *ResolvedTerm) diag.Failures {
			if t.Name != eval.Exp || t.Err == nil {
				return nil
			}
			return diag.Failures{blame(n, t.Term, "The explanation at %s could not be looked up: %s.", diag.Quote(t.Target),
				diag.Quote(t.Err.Error()))}
		}),
	},
	explanationRule("spf.exp.missing", "SPF explanation does not exist", "The explanation exists",
		"Publish the text as one TXT record at that name, or remove exp.", func(t *ResolvedTerm) string {
			if len(t.Texts) > 0 {
				return ""
			}
			return fmt.Sprintf("%s has no TXT record with the explanation.", diag.Quote(t.Target))
		}),
	explanationRule("spf.exp.multiple", "SPF has more than one explanation", "There is only one explanation",
		"Keep one TXT record at that name: with more than one, receivers use none.", func(t *ResolvedTerm) string {
			if len(t.Texts) < 2 {
				return ""
			}
			return fmt.Sprintf("%s has %d TXT records.", diag.Quote(t.Target), len(t.Texts))
		}),
	explanationRule("spf.exp.syntax", "SPF explanation has a syntax error", "The explanation is ASCII text with valid macros",
		"Correct the text: receivers do not use an explanation with an error.", func(t *ResolvedTerm) string {
			if len(t.Texts) != 1 {
				return ""
			}
			offset, fault := eval.ExplanationFault(t.Texts[0])
			if fault == "" {
				return ""
			}
			return fmt.Sprintf("The explanation at %s has an error at byte %d: %s.", diag.Quote(t.Target), offset, fault)
		}),
}

// testRules are about the address that is tested. They say nothing of the record.
var testRules = diag.Rules[*evidence]{
	{
		Code: "spf.ip.result", Severity: diag.Info, Ref: "RFC 7208 section 2.6",
		Title: "Tested address does not pass", Requirement: "The tested address passes",
		Advice: "List the host in the record if it sends mail for the domain.", When: func(e *evidence) bool {
			return e.result != nil && e.result.Outcome != eval.Temperror && e.result.Outcome != eval.NeedsDNS && e.exists()
		},
		Fails: func(e *evidence) diag.Failures {
			if e.result.Outcome == eval.Pass {
				return nil
			}
			detail := fmt.Sprintf("The result for %s is %s.", e.ip, e.result.Outcome)
			if e.result.MatchedTerm != "" {
				detail = fmt.Sprintf("The result for %s is %s, because of %q in the record of %s.", e.ip, e.result.Outcome,
					diag.Quote(e.result.MatchedTerm), diag.Quote(matchedDomain(e)))
			} else if e.result.Reason != "" {
				detail = fmt.Sprintf("The result for %s is %s: %s.", e.ip, e.result.Outcome, diag.Quote(e.result.Reason))
			}
			return diag.Failures{{Detail: detail, Target: e.ip.String()}}
		},
	},
	{
		Code: "spf.ip.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 7208 section 2.6",
		Title: "Result for the tested address is not known", Requirement: "The result for the tested address is known",
		Advice: "Look up the published record with the address, or try again if a name server did not answer.",
		When:   func(e *evidence) bool { return e.result != nil && e.exists() }, Fails: func(e *evidence) diag.Failures {
			if e.result.Outcome != eval.Temperror && e.result.Outcome != eval.NeedsDNS {
				return nil
			}
			return diag.Failures{{
				Detail: fmt.Sprintf("The result for %s is not known: %s.", e.ip, diag.Quote(e.result.Reason)), Target: e.ip.String(),
			}}
		},
	},
}

// exists reports whether the domain exists, as far as that matters: a text has none.
func (e *evidence) exists() bool { return e.offline || !e.published.answer.NXDomain() }

func matchedDomain(e *evidence) string {
	if e.result.MatchedDomain == "" {
		return "the domain"
	}
	return e.result.MatchedDomain
}
