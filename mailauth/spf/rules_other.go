package spf

import (
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// explained collects failures from the explanation that is used when a mail fails.
func explained(check func(t *ResolvedTerm) string) func(*evidence) diag.Failures {
	return inTree(func(n *Node, t *ResolvedTerm) diag.Failures {
		if t.Name != Exp || !t.Asked || t.Err != nil {
			return nil
		}
		if detail := check(t); detail != "" {
			return diag.Failures{blame(n, t.Term, "%s", detail)}
		}
		return nil
	})
}

// explanationRules are about exp. None of them matters to the result.
var explanationRules = diag.Rules[*evidence]{
	{
		Code: "spf.exp.unknown", Severity: diag.Info,
		Requirement: "The name servers say how a fail is explained",
		Ref:         "RFC 7208 section 6.2",
		Advice:      "See that the name servers answer: without the text the sender is not told why mail failed.",
		When:        followed,
		Fails: inTree(func(n *Node, t *ResolvedTerm) diag.Failures {
			if t.Name != Exp || t.Err == nil {
				return nil
			}
			return diag.Failures{blame(n, t.Term, "The text at %s is not known: %s.", diag.Quote(t.Target), diag.Quote(t.Err.Error()))}
		}),
	},
	{
		Code: "spf.exp.missing", Severity: diag.Warning,
		Requirement: "The explanation exists",
		Ref:         "RFC 7208 section 6.2",
		Advice:      "Publish the text as one TXT record there, or remove exp.",
		When:        followed,
		Fails: explained(func(t *ResolvedTerm) string {
			if len(t.Texts) > 0 {
				return ""
			}
			return diag.Quote(t.Target) + " has no TXT record."
		}),
	},
	{
		Code: "spf.exp.multiple", Severity: diag.Warning,
		Requirement: "There is one explanation only",
		Ref:         "RFC 7208 section 6.2",
		Advice:      "Remove all TXT records there but one: with several, none is used.",
		When:        followed,
		Fails: explained(func(t *ResolvedTerm) string {
			if len(t.Texts) < 2 {
				return ""
			}
			return fmt.Sprintf("%s has %d TXT records.", diag.Quote(t.Target), len(t.Texts))
		}),
	},
	{
		Code: "spf.exp.syntax", Severity: diag.Warning,
		Requirement: "The explanation is ASCII text with macros that exist",
		Ref:         "RFC 7208 section 6.2",
		Advice:      "Correct the text: one with an error is not used.",
		When:        followed,
		Fails: explained(func(t *ResolvedTerm) string {
			if len(t.Texts) != 1 {
				return ""
			}
			_, offset, _, fault := parseMacros(t.Texts[0], true)
			if fault == "" {
				return ""
			}
			return fmt.Sprintf("The text at %s has an error at byte %d: %s.", diag.Quote(t.Target), offset, fault)
		}),
	},
	{
		Code: "spf.exp.unused", Severity: diag.Info,
		Requirement: "The explanation can come to use",
		Ref:         "RFC 7208 section 6.2",
		Advice:      "Remove exp, or end the record with -all: explanations are for mail that fails.",
		When:        func(e *evidence) bool { return one(e) && e.tree.Root.Parsed.find(Exp) != nil },
		Fails: func(e *evidence) diag.Failures {
			root := e.tree.Root
			for i := range root.Terms {
				if t := &root.Terms[i]; t.Reached && t.Kind == Mechanism && t.Qualifier == QualifierFail {
					return nil
				}
			}
			return diag.Failures{blame(root, root.Parsed.find(Exp), "No mechanism of the record has the sign -.")}
		},
	},
}

// testRules are about the address that is tested. They say nothing of the record.
var testRules = diag.Rules[*evidence]{
	{
		Code: "spf.ip.result", Severity: diag.Info,
		Requirement: "The address that is tested passes",
		Ref:         "RFC 7208 section 2.6",
		Advice:      "List the host in the record, if it is one that sends for the domain.",
		When: func(e *evidence) bool {
			return e.result != nil && e.result.Outcome != Temperror && e.result.Outcome != NeedsDNS
		},
		Fails: func(e *evidence) diag.Failures {
			if e.result.Outcome == Pass {
				return nil
			}
			detail := fmt.Sprintf("The result for %s is %s.", e.ip, e.result.Outcome)
			if e.result.MatchedTerm != "" {
				detail = fmt.Sprintf("The result for %s is %s, by %s in the record of %s.", e.ip, e.result.Outcome,
					diag.Quote(e.result.MatchedTerm), diag.Quote(matchedDomain(e)))
			} else if e.result.Reason != "" {
				detail += " " + strings.ToUpper(e.result.Reason[:1]) + diag.Quote(e.result.Reason[1:]) + "."
			}
			return diag.Failures{{Detail: detail, Target: e.ip.String()}}
		},
	},
	{
		Code: "spf.ip.unknown", Severity: diag.Info,
		Requirement: "It can be said what a receiver decides about the address",
		Ref:         "RFC 7208 section 2.6",
		Advice:      "Look the published record up with the address, or try again if a name server did not answer.",
		When:        func(e *evidence) bool { return e.result != nil },
		Fails: func(e *evidence) diag.Failures {
			if e.result.Outcome != Temperror && e.result.Outcome != NeedsDNS {
				return nil
			}
			return diag.Failures{{Detail: diag.Sentence(diag.Quote(e.result.Reason)), Target: e.ip.String()}}
		},
	},
}

func matchedDomain(e *evidence) string {
	if e.result.MatchedDomain == "" {
		return "the domain"
	}
	return e.result.MatchedDomain
}
