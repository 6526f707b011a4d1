package spf

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// inState returns the nodes below the record that are in a state and reached in a way.
func inState(state NodeState, via Via, detail func(*Node) string) func(*evidence) diag.Failures {
	return inNodes(func(n *Node) string {
		if n.State != state || n.Via != via {
			return ""
		}
		return detail(n)
	})
}

func leads(n *Node) string { return fmt.Sprintf("The record of %s", diag.Quote(n.parent.Domain)) }

// treeRules are about the records that the record leads to.
var treeRules = diag.Rules[*evidence]{
	{
		Code: "spf.tree.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown,
		Requirement: "The name servers say what the record leads to",
		Ref:         "RFC 7208 section 5",
		Advice:      "Try again in a few minutes; if it persists, tell those who run the domain: mail is put off meanwhile.",
		When:        followed,
		Fails:       unknownParts,
	},
	{
		Code: "spf.tree.large", Severity: diag.Warning,
		Requirement: "The tree of records is small enough to be followed",
		Ref:         "RFC 7208 section 4.6.4",
		Advice:      "Remove what is not needed: receivers give up long before.",
		When:        followed,
		Fails: func(e *evidence) diag.Failures {
			for _, n := range e.nodes {
				cut := func(t ResolvedTerm) bool { return t.Cut }
				if n.State == NodeCut || slices.ContainsFunc(n.Terms, cut) {
					return diag.Fail("It was followed for %d terms, %d questions, %d levels and %d bytes at most.",
						MaxTerms, MaxQuestions, MaxDepth, MaxTreeLength)
				}
			}
			return nil
		},
	},
	{
		Code: "spf.tree.dynamic", Severity: diag.Info,
		Requirement: "What the record means does not depend on the mail",
		Ref:         "RFC 7208 section 7",
		Advice:      "Test it with the address of a host: what lies behind a macro or ptr is known only with a mail at hand.",
		When:        one,
		Fails: inTree(func(n *Node, t *ResolvedTerm) diag.Failures {
			if !t.Reached || !t.Dynamic || !t.Name.Counted() {
				return nil
			}
			return diag.Failures{blame(n, t.Term, "%s depends on it.", diag.Quote(t.Raw))}
		}),
	},
	{
		Code: "spf.include.loop", Severity: diag.Critical, Weight: 3, Category: factorTree,
		Requirement: "No record includes itself",
		Ref:         "RFC 7208 section 4.6.4",
		Advice:      "Remove the include that leads back: receivers go round until they give up with permerror.",
		When:        followed,
		Fails:       inState(NodeLoop, ViaInclude, loopText),
	},
	{
		Code: "spf.redirect.loop", Severity: diag.Critical, Weight: 3, Category: factorTree,
		Requirement: "No record redirects to itself",
		Ref:         "RFC 7208 section 4.6.4",
		Advice:      "Let redirect lead to a record that ends with all: receivers go round until they give up with permerror.",
		When:        followed,
		Fails:       inState(NodeLoop, ViaRedirect, loopText),
	},
	{
		Code: "spf.include.missing", Severity: diag.Critical, Weight: 5, Category: factorTree,
		Requirement: "Every domain that is included has an SPF record",
		Ref:         "RFC 7208 section 5.2",
		Advice:      "Remove the include or correct its domain: one without a record makes receivers end in permerror.",
		When:        followed,
		Fails:       missing(ViaInclude, "includes"),
	},
	{
		Code: "spf.redirect.missing", Severity: diag.Critical, Weight: 5, Category: factorTree,
		Requirement: "The domain that redirect leads to has an SPF record",
		Ref:         "RFC 7208 section 6.1",
		Advice:      "Correct the domain, or list the hosts here: without a record there, receivers end in permerror.",
		When:        followed,
		Fails:       missing(ViaRedirect, "hands over to"),
	},
	{
		Code: "spf.include.multiple", Severity: diag.Critical, Weight: 2, Category: factorTree,
		Requirement: "Every domain that the record leads to has one SPF record only",
		Ref:         "RFC 7208 section 4.5",
		Advice:      "Tell those who run the domain to merge their records; until then remove the term.",
		When:        followed,
		Fails: inNodes(func(n *Node) string {
			if n.State != NodeMultiple {
				return ""
			}
			return fmt.Sprintf("%s leads to %s: %s.", leads(n), diag.Quote(n.Domain), n.Error)
		}),
	},
	{
		Code: "spf.include.syntax", Severity: diag.Critical, Weight: 5, Category: factorTree,
		Requirement: "Every record that the record leads to keeps to the syntax",
		Ref:         "RFC 7208 section 4.6",
		Advice:      "Tell those who run the domain; until then remove the term: the error makes receivers end in permerror.",
		When:        followed,
		Fails: inNodes(func(n *Node) string {
			if len(n.Faults) == 0 {
				return ""
			}
			return fmt.Sprintf("The record of %s has an error at byte %d: %s.", diag.Quote(n.Domain), n.Faults[0].Offset,
				diag.Quote(n.Faults[0].Text))
		}),
	},
	{
		Code: "spf.include.repeated", Severity: diag.Warning, Weight: 2, Category: factorTree,
		Requirement: "No record is included twice",
		Ref:         "RFC 7208 section 4.6.4",
		Advice:      "Remove one of the includes: receivers look it up each time, and count each time.",
		When:        followed,
		Fails:       repeatedIncludes,
	},
	{
		Code: "spf.include.pass", Severity: diag.Critical, Weight: 5, Category: factorTree,
		Requirement: "No record that is included lets every host pass",
		Ref:         "RFC 7208 section 5.2",
		Advice:      "Remove the include at once: with it everybody may send in the name of the domain.",
		When:        followed,
		Fails: inNodes(func(n *Node) string {
			if n.Via != ViaInclude || n.State != NodeFound {
				return ""
			}
			for i := range n.Terms {
				if t := &n.Terms[i]; t.Name == All && t.Reached && t.Qualifier == QualifierPass {
					return fmt.Sprintf("The record of %s ends with %s.", diag.Quote(n.Domain), t.Raw)
				}
			}
			return ""
		}),
	},
	{
		Code: "spf.exists.everyone", Severity: diag.Critical, Weight: 2, Category: factorTree,
		Requirement: "No exists lets every host pass",
		Ref:         "RFC 7208 section 5.7",
		Advice:      "Put a macro such as %{i} into the name, or use a: an exists with a name that does exist always matches.",
		When:        followed,
		Fails: inTree(func(n *Node, t *ResolvedTerm) diag.Failures {
			if t.Name != Exists || !t.Everyone || t.Qualifier != QualifierPass {
				return nil
			}
			return diag.Failures{blame(n, t.Term, "%s has an address, so %s always matches.", diag.Quote(t.Target), diag.Quote(t.Raw))}
		}),
	},
}

func loopText(n *Node) string {
	return fmt.Sprintf("%s leads back: %s.", leads(n), diag.Quote(strings.Join(n.path(), " > ")))
}

func missing(via Via, verb string) func(*evidence) diag.Failures {
	return inNodes(func(n *Node) string {
		if n.Via != via || n.State != NodeNone && n.State != NodeMalformed {
			return ""
		}
		return fmt.Sprintf("%s %s %s: %s.", leads(n), verb, diag.Quote(n.Domain), diag.Quote(n.Error))
	})
}

// unknownParts finds what the name servers did not say.
func unknownParts(e *evidence) diag.Failures {
	list := inNodes(func(n *Node) string {
		if n.State != NodeUnknown {
			return ""
		}
		return fmt.Sprintf("The record of %s is not known: %s.", diag.Quote(n.Domain), diag.Quote(n.Error))
	})(e)
	list = append(list, inTree(func(n *Node, t *ResolvedTerm) diag.Failures {
		if t.Err == nil || t.Name == Exp {
			return nil
		}
		return diag.Failures{blame(n, t.Term, "What %s stands for is not known: %s.", diag.Quote(t.Raw), diag.Quote(t.Err.Error()))}
	})(e)...)
	return list[:min(len(list), maxListed)]
}

// repeatedIncludes finds domains whose records are evaluated more than once. Loops are another matter.
func repeatedIncludes(e *evidence) diag.Failures {
	first := map[string]*Node{}
	return inNodes(func(n *Node) string {
		key := strings.ToLower(n.Domain)
		if n.Loop || n.State == NodeDynamic {
			return ""
		}
		other := first[key]
		if other == nil {
			first[key] = n
			return ""
		}
		if first[strings.ToLower(n.parent.Domain)] != nil && first[strings.ToLower(n.parent.Domain)] != n.parent {
			return "" // the record above it is repeated, which says it
		}
		return fmt.Sprintf("%s is reached from %s, and from %s already.", diag.Quote(n.Domain), diag.Quote(n.parent.Domain),
			diag.Quote(other.parent.Domain))
	})(e)
}
