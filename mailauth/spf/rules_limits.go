package spf

import (
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

// nearLimit is a number of DNS lookups that leaves little room: whoever is included may add one any day.
const nearLimit = 9

// limitRules are about the limits of RFC 7208 section 4.6.4.
var limitRules = diag.Rules[*evidence]{
	thorough(diag.Rule[*evidence]{
		Code: "spf.lookups.exceeded", Severity: diag.Critical, Weight: 15, Category: factorLimits,
		Ref:   "RFC 7208 section 4.6.4",
		Title: "SPF needs more than 10 DNS lookups", Requirement: "At most 10 DNS lookups",
		Advice: "Remove includes that are no longer used, or flatten them: receivers return permerror at the eleventh lookup.",
		Fails: suggesting(func(e *evidence) diag.Failures {
			n, atLeast := e.tree.Root.CumulativeLookups, ""
			if !e.complete {
				atLeast = "at least "
			}
			return diag.FailIf(n > eval.MaxLookups, "The record needs %s%d DNS lookups: %s.", atLeast, n, costs(e.tree.Root))
		}),
	}),
	{
		Code: "spf.lookups.near", Severity: diag.Warning, Weight: 2, Category: factorLimits,
		Reads: []diag.Source{fromTree}, DependsOn: []diag.Code{"spf.lookups.exceeded"}, Ref: "RFC 7208 section 4.6.4",
		Title: "SPF is close to the limit of 10 DNS lookups", Requirement: "At most 8 of 10 DNS lookups are used",
		Advice: "Remove includes that are no longer used, before a change of a provider takes the record over the limit.",
		When:   online, Fails: func(e *evidence) diag.Failures {
			n := e.tree.Root.CumulativeLookups
			return diag.FailIf(n >= nearLimit, "The record uses %d of %d DNS lookups: %s.", n, eval.MaxLookups, costs(e.tree.Root))
		},
	},
	thorough(diag.Rule[*evidence]{
		Code: "spf.voids.exceeded", Severity: diag.Error, Weight: 10, Category: factorLimits,
		Ref:   "RFC 7208 section 4.6.4",
		Title: "SPF has more than 2 void lookups", Requirement: "At most 2 void lookups",
		Advice: "Remove the terms whose names have no records: receivers return permerror at the third void lookup.",
		When:   online, Fails: suggesting(func(e *evidence) diag.Failures {
			n := e.tree.Voids()
			return diag.FailIf(n > eval.MaxVoids, "%d lookups find nothing: %s.", n, voidTerms(e, func(t *ResolvedTerm) bool { return t.Void }))
		}),
	}),
	{
		Code: "spf.voids.family", Severity: diag.Warning, Weight: 2, Category: factorLimits,
		Reads: []diag.Source{fromTree}, DependsOn: []diag.Code{"spf.voids.exceeded"}, Ref: "RFC 7208 section 4.6.4",
		Title:       "SPF has more than 2 void lookups for one address family",
		Requirement: "At most 2 void lookups for IPv4 and for IPv6 clients",
		Advice:      "Write the addresses as ip4 or ip6: receivers query only the client's family, and count names without such addresses.",
		Fails: func(e *evidence) diag.Failures {
			var list diag.Failures
			if n := e.tree.Voids4(); n > eval.MaxVoids && len(e.authorized.v4) > 0 {
				list = append(list, diag.Fail("For IPv4 clients %d lookups find nothing: %s.", n,
					voidTerms(e, func(t *ResolvedTerm) bool { return t.Void4 }))...)
			}
			if n := e.tree.Voids6(); n > eval.MaxVoids && len(e.authorized.v6) > 0 {
				list = append(list, diag.Fail("For IPv6 clients %d lookups find nothing: %s.", n,
					voidTerms(e, func(t *ResolvedTerm) bool { return t.Void6 }))...)
			}
			return list
		},
	},
	thorough(diag.Rule[*evidence]{
		Code: "spf.mx.exceeded", Severity: diag.Critical, Weight: 3, Category: factorLimits,
		Ref:   "RFC 7208 section 4.6.4",
		Title: "SPF has an mx with more than 10 MX hosts", Requirement: "No mx stands for more than 10 MX hosts",
		Advice: "List the addresses with ip4 and ip6: receivers return permerror for an mx with more than 10 hosts.",
		When:   online, Fails: inTree(func(_ *evidence, n *Node, t *ResolvedTerm) diag.Failures {
			return blameIf(t.MXCount > eval.MaxMX, n, t, "%s has %d MX records.", diag.Quote(t.Target), t.MXCount)
		}),
	}),
}

// maxNamed bounds the terms that are named in a sentence.
const maxNamed = 12

func costs(n *Node) string {
	var list []string
	for i := range n.Terms {
		if t := &n.Terms[i]; t.Lookups() > 0 {
			list = append(list, fmt.Sprintf("%s %d", diag.Quote(t.Raw), t.Lookups()))
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

func voidTerms(e *evidence, is func(*ResolvedTerm) bool) string {
	var list []string
	for _, n := range e.nodes {
		for i := range n.Terms {
			t := &n.Terms[i]
			if !is(t) {
				continue
			}
			text := diag.Quote(t.Raw)
			if n.Depth > 0 {
				text += " of " + diag.Quote(n.Domain)
			}
			list = append(list, text)
		}
	}
	return named(list)
}

func voidRule(code diag.Code, name eval.Name, weight int, title, requirement, section, advice, detail string) diag.Rule[*evidence] {
	return thorough(diag.Rule[*evidence]{
		Code: code, Severity: diag.Warning, Weight: weight, Category: factorHosts, Title: title, Requirement: requirement,
		Ref: "RFC 7208 section " + section, Advice: advice, When: online,
		Fails: suggesting(inTree(func(_ *evidence, n *Node, t *ResolvedTerm) diag.Failures {
			return blameIf(t.Name == name && t.Void, n, t, detail, diag.Quote(t.Target), diag.Quote(t.Raw))
		})),
	})
}

var hostRules = diag.Rules[*evidence]{
	voidRule("spf.a.void", eval.A, 2, "SPF has an a whose name has no address", "Every a refers to a host with an address", "5.3",
		"Remove the term, or give the name an address.", "%s has neither an A nor an AAAA record, so that %q never matches."),
	voidRule("spf.mx.void", eval.MX, 2, "SPF has an mx whose domain has no MX records", "Every mx refers to a domain with MX records",
		"5.4", "Remove the term, or use a: mx does not fall back to the address of the domain.",
		"%s has no MX records, so that %q never matches."),
	thorough(diag.Rule[*evidence]{
		Code: "spf.mx.null", Severity: diag.Warning, Ref: "RFC 7505 section 3",
		Title:       "SPF has an mx whose domain has a null MX",
		Requirement: "Every mx refers to a domain that receives mail",
		Advice:      "Remove the term: a domain with a null MX has no MX hosts.", When: online,
		Fails: inTree(func(_ *evidence, n *Node, t *ResolvedTerm) diag.Failures {
			return blameIf(t.Name == eval.MX && t.MXCount != 0 && len(t.Hosts) == 0 && t.Err == nil && !t.Cut, n, t,
				"The MX record of %s names no host.", diag.Quote(t.Target))
		}),
	}),
	voidRule("spf.exists.void", eval.Exists, 1, "SPF has an exists that never matches", "Every exists can match", "5.7",
		"Remove the term, or correct its name: it never matches, and counts as a void lookup.",
		"%s has no A record, so that %q never matches."),
}
