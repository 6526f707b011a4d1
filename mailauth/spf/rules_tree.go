package spf

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

func inState(state NodeState, via Via, detail func(*Node) string) func(*evidence) rule.Failures {
	return inNodes(func(n *Node) string {
		if n.State != state || n.Via != via {
			return ""
		}
		return detail(n)
	})
}

// treeRule makes a rule about the records in the tree, whose faults break evaluations.
func treeRule(code diag.Code, weight int, title, requirement, section, advice string,
	fails func(*evidence) rule.Failures) rule.Rule[*evidence] {
	return acrossRecords(rule.Rule[*evidence]{
		Code: code, Severity: diag.Critical, Weight: weight, Category: factorTree, Title: title, Requirement: requirement,
		Ref: "RFC 7208 section " + section, Advice: advice, When: lookedUp, Fails: fails,
	})
}

// inText extends a tree rule to a text, if the text alone has the fault.
func inText(r rule.Rule[*evidence]) rule.Rule[*evidence] {
	when, fails := r.When, r.Fails
	r.When = func(e *evidence) bool { return when(e) || len(fails(e)) > 0 }
	return r
}

var treeRules = rule.Rules[*evidence]{
	{
		Code: "spf.tree.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown, Ref: "RFC 7208 section 5",
		Title:       "Part of the SPF record could not be looked up",
		Requirement: "The name servers answer for everything that the record refers to",
		Advice: "Try again in a few minutes. If it persists, tell the operator of the domain: " +
			"receivers defer mail meanwhile.",
		When: lookedUp, Fails: unknownParts,
	},
	acrossRecords(rule.Rule[*evidence]{
		Code: "spf.tree.large", Severity: diag.Warning, Ref: "RFC 7208 section 4.6.4",
		Title:       "SPF leads to more records than can be examined",
		Requirement: "The tree of records is small enough to be examined",
		Advice:      "Remove includes that are not needed: receivers give up long before that.", When: lookedUp,
		Fails: func(e *evidence) rule.Failures {
			cut := func(t *ResolvedTerm) bool { return t.Cut }
			large := func(n *Node) bool { return n.State == NodeCut || n.find(cut) != nil }
			return rule.FailIf(slices.ContainsFunc(e.nodes, large),
				"Only %d terms, %d DNS queries, %d levels and %d bytes of records were examined.", eval.MaxTerms, MaxQuestions,
				maxDepth, maxTreeLength)
		},
	}),
	inText(treeRule("spf.include.loop", 3, "SPF record includes itself", "No record includes itself", "4.6.4",
		"Remove the include that leads back: receivers follow it until they return permerror.",
		suggesting(inState(NodeLoop, ViaInclude, loopText)))),
	inText(treeRule("spf.redirect.loop", 3, "SPF record redirects to itself", "No record redirects to itself", "4.6.4",
		"Point redirect to a record that ends with all: receivers follow the loop until they return permerror.",
		inState(NodeLoop, ViaRedirect, loopText))),
	treeRule("spf.term.dangling", 5, "SPF refers to a domain that anyone can register",
		"Every domain that the record refers to is registered", "11.2",
		"Remove the term immediately: anyone who registers the domain decides who may send mail as yours.",
		suggesting(inTree(func(_ *evidence, n *Node, t *ResolvedTerm) rule.Failures {
			return failTermIf(t.Dangling && (t.Qualifier == eval.QualifierPass || t.Name == eval.Redirect), n, t,
				"%q refers to %s, below a domain that does not exist and that anyone can register.",
				phrase.Quote(t.Raw), phrase.Quote(t.Target))
		}))),
	treeRule("spf.include.missing", 5, "SPF includes a domain without an SPF record",
		"Every included domain has an SPF record", "5.2",
		"Remove the include or correct its domain: receivers that evaluate it return permerror.",
		suggesting(withoutRecord(ViaInclude, "includes"))),
	treeRule("spf.redirect.missing", 5, "SPF redirects to a domain without an SPF record",
		"The domain of redirect has an SPF record", "6.1",
		"Correct the domain, or list the hosts in this record: without a record there, receivers return permerror.",
		withoutRecord(ViaRedirect, "redirects to")),
	treeRule("spf.include.multiple", 2, "SPF leads to a domain with several SPF records",
		"Every domain that the record leads to has only one SPF record", "4.5",
		"Ask the operator of that domain to merge its records, and remove the term until then.",
		inNodes(func(n *Node) string {
			if n.State != NodeMultiple {
				return ""
			}
			return fmt.Sprintf("The record of %s leads to %s, where %s.", phrase.Quote(n.parent.Domain),
				phrase.Quote(n.Domain), n.Error)
		})),
	treeRule("spf.include.syntax", 5, "SPF leads to a record with a syntax error",
		"Every record that the record leads to has a valid syntax", "4.6",
		"Tell the operator of that domain, and remove the term until then: receivers return permerror.",
		inNodes(func(n *Node) string {
			if len(n.Faults) == 0 {
				return ""
			}
			return fmt.Sprintf("The record of %s has an error at byte %d: %s.", phrase.Quote(n.Domain), n.Faults[0].Offset,
				phrase.Quote(n.Faults[0].Text))
		})),
	acrossRecords(rule.Rule[*evidence]{
		Code: "spf.include.repeated", Severity: diag.Warning, Weight: 2, Category: factorTree,
		Ref:   "RFC 7208 section 4.6.4",
		Title: "SPF includes a record twice", Requirement: "No record is included twice",
		Advice: "Remove one of the includes: receivers look the record up, and count it, each time.",
		When:   lookedUp, Fails: suggesting(repeatedIncludes),
	}),
	treeRule("spf.include.pass", 5, "An included SPF record lets every host pass",
		"No included record lets every host pass", "5.2",
		"Remove the include immediately: it lets anyone send mail as the domain.",
		inNodes(func(n *Node) string {
			open := func(t *ResolvedTerm) bool {
				return t.Name == eval.All && t.Reached && t.Qualifier == eval.QualifierPass
			}
			if n.Via != ViaInclude || n.State != NodeFound || !slices.ContainsFunc(n.Terms, open) {
				return ""
			}
			return fmt.Sprintf("The record of %s ends with +all.", phrase.Quote(n.Domain))
		})),
	treeRule("spf.exists.everyone", 2, "An exists in the SPF record matches every host",
		"No exists matches every host", "5.7",
		"Put a macro such as %{i} into the name, or use a: an exists whose fixed name has an address always matches.",
		inTree(func(_ *evidence, n *Node, t *ResolvedTerm) rule.Failures {
			return failTermIf(t.Name == eval.Exists && t.Everyone && t.Qualifier == eval.QualifierPass, n, t,
				"%s has an address, so that %q always matches.", phrase.Quote(t.Target),
				phrase.Quote(t.Raw))
		})),
}

func loopText(n *Node) string {
	if n.parent.Domain == "" { // a text without its domain, to which a macro refers
		return "The record leads back to itself: the macro d stands for its own domain."
	}
	return fmt.Sprintf("The record of %s leads back to itself: %s.", phrase.Quote(n.Domain),
		phrase.Quote(strings.Join(n.path(), " > ")))
}

func withoutRecord(via Via, verb string) func(*evidence) rule.Failures {
	return inNodes(func(n *Node) string {
		if n.Via != via || n.State != NodeNone && n.State != NodeMalformed {
			return ""
		}
		meant := ""
		if n.near != "" {
			meant = fmt.Sprintf(" %s has one.", phrase.Quote(n.near))
			if provider := providerOf(n.near); provider != "" {
				meant = fmt.Sprintf(" %s of %s has one.", n.near, provider)
			}
		}
		return fmt.Sprintf("The record of %s %s %s: %s.%s", phrase.Quote(n.parent.Domain), verb, phrase.Quote(n.Domain),
			phrase.Quote(n.Error), meant)
	})
}

func unknownParts(e *evidence) rule.Failures {
	list := inNodes(func(n *Node) string {
		if n.State != NodeUnknown {
			return ""
		}
		return fmt.Sprintf("The record of %s could not be looked up: %s.", phrase.Quote(n.Domain), phrase.Quote(n.Error))
	})(e)
	return append(list, inTree(func(_ *evidence, n *Node, t *ResolvedTerm) rule.Failures {
		if t.Err == nil || t.Name == eval.Exp {
			return nil
		}
		return rule.Failures{failTerm(n, t.Term, "%q could not be resolved: %s.", phrase.Quote(t.Raw),
			phrase.Quote(t.Err.Error()))}
	})(e)...)
}

// repeatedIncludes finds domains whose records are evaluated more than once. Other rules cover loops and includes
// that another one contains.
func repeatedIncludes(e *evidence) rule.Failures {
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
			return "" // its parent record is repeated, which is reported instead
		}
		return fmt.Sprintf("%s is included by the record of %s, and by that of %s.", phrase.Quote(n.Domain),
			phrase.Quote(other.parent.Domain), phrase.Quote(n.parent.Domain))
	})(e)
}

// nearLimit is a number of DNS lookups close to the limit: an included domain may add one at any time.
const nearLimit = 9

// limitRules are about the limits of RFC 7208 section 4.6.4.
var limitRules = rule.Rules[*evidence]{
	acrossRecords(rule.Rule[*evidence]{
		Code: "spf.lookups.exceeded", Severity: diag.Critical, Weight: 15, Category: factorLimits,
		Ref:   "RFC 7208 section 4.6.4",
		Title: "SPF needs more than 10 DNS lookups", Requirement: "At most 10 DNS lookups",
		Advice: "Remove includes that are no longer used, or flatten them: receivers return permerror at " +
			"the eleventh lookup.",
		Fails: suggesting(func(e *evidence) rule.Failures {
			n, atLeast := e.tree.Root.CumulativeLookups, ""
			if !e.complete {
				atLeast = "at least "
			}
			return rule.FailIf(n > eval.MaxLookups, "The record needs %s%d DNS lookups: %s.", atLeast, n, costs(e.tree.Root))
		}),
	}),
	{
		Code: "spf.lookups.near", Severity: diag.Warning, Weight: 2, Category: factorLimits,
		Reads: []rule.Source{fromTree}, DependsOn: []diag.Code{"spf.lookups.exceeded"}, Ref: "RFC 7208 section 4.6.4",
		Title: "SPF is close to the limit of 10 DNS lookups", Requirement: "At most 8 of 10 DNS lookups are used",
		Advice: "Remove includes that are no longer used, before a change of a provider takes the record over the limit.",
		When:   lookedUp, Fails: func(e *evidence) rule.Failures {
			n := e.tree.Root.CumulativeLookups
			return rule.FailIf(n >= nearLimit, "The record uses %d of %d DNS lookups: %s.", n,
				eval.MaxLookups, costs(e.tree.Root))
		},
	},
	acrossRecords(rule.Rule[*evidence]{
		Code: "spf.voids.exceeded", Severity: diag.Error, Weight: 10, Category: factorLimits,
		Ref:   "RFC 7208 section 4.6.4",
		Title: "SPF has more than 2 void lookups", Requirement: "At most 2 void lookups",
		Advice: "Remove the terms whose names have no records: receivers return permerror at the third void lookup.",
		When:   lookedUp, Fails: suggesting(func(e *evidence) rule.Failures {
			list := e.tree.voids(void)
			return rule.FailIf(len(list) > eval.MaxVoids, "%d lookups find nothing: %s.", len(list), named(list))
		}),
	}),
	{
		Code: "spf.voids.family", Severity: diag.Warning, Weight: 2, Category: factorLimits,
		Reads: []rule.Source{fromTree}, DependsOn: []diag.Code{"spf.voids.exceeded"}, Ref: "RFC 7208 section 4.6.4",
		Title:       "SPF has more than 2 void lookups for one address family",
		Requirement: "At most 2 void lookups for IPv4 and for IPv6 clients",
		Advice: "Write the addresses as ip4 or ip6: receivers query only the client's family, and count names " +
			"without such addresses.",
		Fails: func(e *evidence) rule.Failures {
			v4 := e.tree.voids(func(t *ResolvedTerm) bool { return t.Void4 })
			v6 := e.tree.voids(func(t *ResolvedTerm) bool { return t.Void6 })
			return append(rule.FailIf(len(v4) > eval.MaxVoids && len(e.authorized.Prefixes4()) > 0,
				"For IPv4 clients %d lookups find nothing: %s.", len(v4), named(v4)),
				rule.FailIf(len(v6) > eval.MaxVoids && len(e.authorized.Prefixes6()) > 0,
					"For IPv6 clients %d lookups find nothing: %s.", len(v6), named(v6))...)
		},
	},
	acrossRecords(rule.Rule[*evidence]{
		Code: "spf.mx.exceeded", Severity: diag.Critical, Weight: 3, Category: factorLimits,
		Ref:   "RFC 7208 section 4.6.4",
		Title: "SPF has an mx with more than 10 MX hosts", Requirement: "No mx stands for more than 10 MX hosts",
		Advice: "List the addresses with ip4 and ip6: receivers return permerror for an mx with more than 10 hosts.",
		When:   lookedUp, Fails: inTree(func(_ *evidence, n *Node, t *ResolvedTerm) rule.Failures {
			return failTermIf(t.MXCount > eval.MaxMX, n, t, "%s has %d MX records.", phrase.Quote(t.Target), t.MXCount)
		}),
	}),
}

const maxNamed = 12

func costs(n *Node) string {
	var list []string
	for _, t := range n.Terms {
		if t.Lookups() > 0 {
			list = append(list, fmt.Sprintf("%s %d", phrase.Quote(t.Raw), t.Lookups()))
		}
	}
	return named(list)
}

func named(list []string) string {
	if len(list) > maxNamed {
		list = append(list[:maxNamed:maxNamed], fmt.Sprintf("and %d more", len(list)-maxNamed))
	}
	return strings.Join(list, ", ")
}

func voidRule(code diag.Code, name eval.Name, weight int, title, requirement, section,
	advice, detail string) rule.Rule[*evidence] {
	return acrossRecords(rule.Rule[*evidence]{
		Code: code, Severity: diag.Warning, Weight: weight, Category: factorHosts, Title: title, Requirement: requirement,
		Ref: "RFC 7208 section " + section, Advice: advice, When: lookedUp,
		Fails: suggesting(inTree(func(_ *evidence, n *Node, t *ResolvedTerm) rule.Failures {
			return failTermIf(t.Name == name && t.Void, n, t, detail, phrase.Quote(t.Target), phrase.Quote(t.Raw))
		})),
	})
}

var hostRules = rule.Rules[*evidence]{
	voidRule("spf.a.void", eval.A, 2, "SPF has an a whose name has no address",
		"Every a refers to a host with an address", "5.3",
		"Remove the term, or give the name an address.", "%s has neither an A nor an AAAA record, so that %q never matches."),
	voidRule("spf.mx.void", eval.MX, 2, "SPF has an mx whose domain has no MX records",
		"Every mx refers to a domain with MX records",
		"5.4", "Remove the term, or use a: mx does not fall back to the address of the domain.",
		"%s has no MX records, so that %q never matches."),
	acrossRecords(rule.Rule[*evidence]{
		Code: "spf.mx.null", Severity: diag.Warning, Ref: "RFC 7505 section 3",
		Title:       "SPF has an mx whose domain has a null MX",
		Requirement: "Every mx refers to a domain that receives mail",
		Advice:      "Remove the term: a domain with a null MX has no MX hosts.", When: lookedUp,
		Fails: inTree(func(_ *evidence, n *Node, t *ResolvedTerm) rule.Failures {
			return failTermIf(t.Name == eval.MX && t.MXCount != 0 && len(t.Hosts) == 0 && t.Err == nil && !t.Cut, n, t,
				"The MX record of %s names no host.", phrase.Quote(t.Target))
		}),
	}),
	acrossRecords(rule.Rule[*evidence]{
		Code: "spf.mx.address", Severity: diag.Info, Ref: "RFC 7208 section 5.4",
		Title: "MX host of an SPF mx has no address", Requirement: "Every MX host behind an mx has an address",
		Advice: "Give the host an A or AAAA record, or replace its MX record with one that names a host with an " +
			"address.",
		When: lookedUp,
		Fails: inTree(func(_ *evidence, n *Node, t *ResolvedTerm) rule.Failures {
			var list rule.Failures
			for _, host := range t.withoutAddress() {
				list = append(list, failTerm(n, t.Term, "The MX host %s of %s has no address.", phrase.Quote(host),
					phrase.Quote(t.Target)))
			}
			return list
		}),
	}),
	voidRule("spf.exists.void", eval.Exists, 1, "SPF has an exists that never matches", "Every exists can match", "5.7",
		"Remove the term, or correct its name: it never matches, and counts as a void lookup.",
		"%s has no A record, so that %q never matches."),
}
