package spf

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

func inState(state NodeState, via Via, detail func(*Node) string) func(*evidence) diag.Failures {
	return inNodes(func(n *Node) string {
		if n.State != state || n.Via != via {
			return ""
		}
		return detail(n)
	})
}

// treeRule makes a rule about the records that the record leads to, by which a fault breaks evaluations.
func treeRule(code diag.Code, weight int, title, requirement, section, advice string,
	fails func(*evidence) diag.Failures) diag.Rule[*evidence] {
	return thorough(diag.Rule[*evidence]{
		Code: code, Severity: diag.Critical, Weight: weight, Category: factorTree, Title: title, Requirement: requirement,
		Ref: "RFC 7208 section " + section, Advice: advice, When: online, Fails: fails,
	})
}

var treeRules = diag.Rules[*evidence]{
	{
		Code: "spf.tree.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown, Ref: "RFC 7208 section 5",
		Title:       "Part of the SPF record could not be looked up",
		Requirement: "The name servers answer for everything that the record refers to",
		Advice:      "Try again in a few minutes. If it persists, tell the operator of the domain: receivers defer mail meanwhile.",
		When:        online, Fails: unknownParts,
	},
	thorough(diag.Rule[*evidence]{
		Code: "spf.tree.large", Severity: diag.Warning, Ref: "RFC 7208 section 4.6.4",
		Title:       "SPF leads to more records than can be examined",
		Requirement: "The tree of records is small enough to be examined",
		Advice:      "Remove includes that are not needed: receivers give up long before that.", When: online,
		Fails: func(e *evidence) diag.Failures {
			cut := func(t ResolvedTerm) bool { return t.Cut }
			large := func(n *Node) bool { return n.State == NodeCut || slices.ContainsFunc(n.Terms, cut) }
			return diag.FailIf(slices.ContainsFunc(e.nodes, large),
				"Only %d terms, %d DNS queries, %d levels and %d bytes of records were examined.", eval.MaxTerms, MaxQuestions,
				maxDepth, maxTreeLength)
		},
	}),
	treeRule("spf.include.loop", 3, "SPF record includes itself", "No record includes itself", "4.6.4",
		"Remove the include that leads back: receivers follow it until they return permerror.",
		suggesting(inState(NodeLoop, viaInclude, loopText))),
	treeRule("spf.redirect.loop", 3, "SPF record redirects to itself", "No record redirects to itself", "4.6.4",
		"Point redirect to a record that ends with all: receivers follow the loop until they return permerror.",
		inState(NodeLoop, viaRedirect, loopText)),
	treeRule("spf.term.dangling", 5, "SPF refers to a domain that anyone can register",
		"Every domain that the record refers to is registered", "11.2",
		"Remove the term at once: whoever registers the domain decides who may send mail as yours.",
		suggesting(inTree(func(_ *evidence, n *Node, t *ResolvedTerm) diag.Failures {
			if !t.Dangling || t.Qualifier != eval.QualifierPass && t.Name != eval.Redirect {
				return nil
			}
			return diag.Failures{blame(n, t.Term, "%q refers to %s, below a domain that does not exist and that anyone can register.",
				diag.Quote(t.Raw), diag.Quote(t.Target))}
		}))),
	treeRule("spf.include.missing", 5, "SPF includes a domain without an SPF record", "Every included domain has an SPF record", "5.2",
		"Remove the include or correct its domain: receivers that evaluate it return permerror.",
		suggesting(withoutRecord(viaInclude, "includes"))),
	treeRule("spf.redirect.missing", 5, "SPF redirects to a domain without an SPF record", "The domain of redirect has an SPF record", "6.1",
		"Correct the domain, or list the hosts in this record: without a record there, receivers return permerror.",
		withoutRecord(viaRedirect, "redirects to")),
	treeRule("spf.include.multiple", 2, "SPF leads to a domain with several SPF records",
		"Every domain that the record leads to has only one SPF record", "4.5",
		"Ask the operator of that domain to merge its records, and remove the term until then.",
		inNodes(func(n *Node) string {
			if n.State != NodeMultiple {
				return ""
			}
			return fmt.Sprintf("The record of %s leads to %s, where %s.", diag.Quote(n.parent.Domain), diag.Quote(n.Domain), n.Error)
		})),
	treeRule("spf.include.syntax", 5, "SPF leads to a record with a syntax error",
		"Every record that the record leads to has a valid syntax", "4.6",
		"Tell the operator of that domain, and remove the term until then: receivers return permerror.",
		inNodes(func(n *Node) string {
			if len(n.Faults) == 0 {
				return ""
			}
			return fmt.Sprintf("The record of %s has an error at byte %d: %s.", diag.Quote(n.Domain), n.Faults[0].Offset,
				diag.Quote(n.Faults[0].Text))
		})),
	thorough(diag.Rule[*evidence]{
		Code: "spf.include.repeated", Severity: diag.Warning, Weight: 2, Category: factorTree,
		Ref:   "RFC 7208 section 4.6.4",
		Title: "SPF includes a record twice", Requirement: "No record is included twice",
		Advice: "Remove one of the includes: receivers look the record up, and count it, each time.",
		When:   online, Fails: suggesting(repeatedIncludes),
	}),
	treeRule("spf.include.pass", 5, "An included SPF record lets every host pass", "No included record lets every host pass", "5.2",
		"Remove the include at once: it lets anyone send mail as the domain.",
		inNodes(func(n *Node) string {
			open := func(t ResolvedTerm) bool { return t.Name == eval.All && t.Reached && t.Qualifier == eval.QualifierPass }
			if n.Via != viaInclude || n.State != NodeFound || !slices.ContainsFunc(n.Terms, open) {
				return ""
			}
			return fmt.Sprintf("The record of %s ends with +all.", diag.Quote(n.Domain))
		})),
	treeRule("spf.exists.everyone", 2, "An exists in the SPF record matches every host", "No exists matches every host", "5.7",
		"Put a macro such as %{i} into the name, or use a: an exists whose fixed name has an address always matches.",
		inTree(func(_ *evidence, n *Node, t *ResolvedTerm) diag.Failures {
			return blameIf(t.Name == eval.Exists && t.Everyone && t.Qualifier == eval.QualifierPass, n, t,
				"%s has an address, so that %q always matches.", diag.Quote(t.Target),
				diag.Quote(t.Raw))
		})),
}

func loopText(n *Node) string {
	return fmt.Sprintf("The record of %s leads back to itself: %s.", diag.Quote(n.Domain),
		diag.Quote(strings.Join(n.path(), " > ")))
}

func withoutRecord(via Via, verb string) func(*evidence) diag.Failures {
	return inNodes(func(n *Node) string {
		if n.Via != via || n.State != NodeNone && n.State != NodeMalformed {
			return ""
		}
		meant := ""
		if n.near != "" {
			meant = fmt.Sprintf(" %s has one.", diag.Quote(n.near))
			if provider := providerOf(n.near); provider != "" {
				meant = fmt.Sprintf(" %s of %s has one.", n.near, provider)
			}
		}
		return fmt.Sprintf("The record of %s %s %s: %s.%s", diag.Quote(n.parent.Domain), verb, diag.Quote(n.Domain),
			diag.Quote(n.Error), meant)
	})
}

func unknownParts(e *evidence) diag.Failures {
	list := inNodes(func(n *Node) string {
		if n.State != NodeUnknown {
			return ""
		}
		return fmt.Sprintf("The record of %s could not be looked up: %s.", diag.Quote(n.Domain), diag.Quote(n.Error))
	})(e)
	return append(list, inTree(func(_ *evidence, n *Node, t *ResolvedTerm) diag.Failures {
		if t.Err == nil || t.Name == eval.Exp {
			return nil
		}
		return diag.Failures{blame(n, t.Term, "%q could not be resolved: %s.", diag.Quote(t.Raw), diag.Quote(t.Err.Error()))}
	})(e)...)
}

// repeatedIncludes finds domains whose records are evaluated more than once. Loops are another matter, and so
// is an include that another one contains.
func repeatedIncludes(e *evidence) diag.Failures {
	first := map[string]*Node{}
	return inNodes(func(n *Node) string {
		key, parent := strings.ToLower(n.Domain), strings.ToLower(n.parent.Domain)
		if n.State == NodeLoop || n.State == NodeDynamic {
			return ""
		}
		other := first[key]
		if other == nil {
			first[key] = n
			return ""
		}
		if first[parent] != nil && first[parent] != n.parent {
			return "" // the record above it is repeated, which says it
		}
		return fmt.Sprintf("%s is included by the record of %s, and by that of %s.", diag.Quote(n.Domain),
			diag.Quote(other.parent.Domain), diag.Quote(n.parent.Domain))
	})(e)
}
