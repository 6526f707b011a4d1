package spf

import (
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// nearLimit is a number of look-ups that leaves little room: whoever is included may add one any day.
const nearLimit = 9

// limitRules are about the limits of RFC 7208 section 4.6.4.
var limitRules = diag.Rules[*evidence]{
	{
		Code: "spf.lookups.exceeded", Severity: diag.Critical, Weight: 15, Category: factorLimits,
		Requirement: "No more than 10 terms need the DNS",
		Ref:         "RFC 7208 section 4.6.4",
		Advice:      "Remove includes that are not needed, or put networks in their place: the eleventh ends in permerror.",
		When:        one,
		Fails: func(e *evidence) diag.Failures {
			n := e.tree.Root.CumulativeLookups
			if n <= MaxLookups {
				return nil
			}
			return diag.Fail("%s need the DNS: %s.", counted(e, n), costs(e.tree.Root))
		},
	},
	{
		Code: "spf.lookups.near", Severity: diag.Warning, Weight: 2, Category: factorLimits,
		Requirement: "There is room for another term that needs the DNS",
		Ref:         "RFC 7208 section 4.6.4",
		Advice:      "Remove includes that are not needed, before a change elsewhere takes the record over the limit.",
		When:        func(e *evidence) bool { return followed(e) && e.tree.Root.CumulativeLookups <= MaxLookups },
		Fails: func(e *evidence) diag.Failures {
			n := e.tree.Root.CumulativeLookups
			return diag.FailIf(n >= nearLimit, "%d of %d are used: %s.", n, MaxLookups, costs(e.tree.Root))
		},
	},
	{
		Code: "spf.lookups.estimated", Severity: diag.Info,
		Requirement: "The record alone tells how many terms need the DNS",
		Ref:         "RFC 7208 section 4.6.4",
		Advice:      "Look the domain up once the record is published: what other records add is counted too.",
		When:        func(e *evidence) bool { return e.offline && one(e) },
		Fails: inRecord(func(n *Node, t *ResolvedTerm) diag.Failures {
			if t.Child == nil {
				return nil
			}
			return diag.Failures{blame(n, t.Term, "%s costs one and what the record there adds.", diag.Quote(t.Raw))}
		}),
	},
	{
		Code: "spf.voids.exceeded", Severity: diag.Error, Weight: 10, Category: factorLimits,
		Requirement: "The DNS has something for all but 2 terms",
		Ref:         "RFC 7208 section 4.6.4",
		Advice:      "Remove terms whose names have no records: at the third, receivers end in permerror.",
		When:        followed,
		Fails: func(e *evidence) diag.Failures {
			n := e.tree.Voids()
			if n <= MaxVoids {
				return nil
			}
			return diag.Fail("It has nothing for %d: %s.", n, voids(e, func(t *ResolvedTerm) bool { return t.Void }))
		},
	},
	{
		Code: "spf.voids.family", Severity: diag.Warning, Weight: 2, Category: factorLimits,
		Requirement: "The limit of 2 holds for clients with IPv4 and IPv6 alike",
		Ref:         "RFC 7208 section 4.6.4",
		Advice:      "Write the addresses as ip4 or ip6: receivers ask for those of the client's family, and count names without.",
		When:        func(e *evidence) bool { return followed(e) && e.tree.Voids() <= MaxVoids },
		Fails: func(e *evidence) diag.Failures {
			var list diag.Failures
			if n := e.tree.Voids4(); n > MaxVoids && len(e.authorized.v4) > 0 {
				list = append(list, diag.Fail("For clients with IPv4 the DNS has nothing for %d: %s.", n,
					voids(e, func(t *ResolvedTerm) bool { return t.Void4 }))...)
			}
			if n := e.tree.Voids6(); n > MaxVoids && len(e.authorized.v6) > 0 {
				list = append(list, diag.Fail("For clients with IPv6 the DNS has nothing for %d: %s.", n,
					voids(e, func(t *ResolvedTerm) bool { return t.Void6 }))...)
			}
			return list
		},
	},
	{
		Code: "spf.mx.exceeded", Severity: diag.Critical, Weight: 3, Category: factorLimits,
		Requirement: "No mx stands for more than 10 mail exchangers",
		Ref:         "RFC 7208 section 4.6.4",
		Advice:      "List their addresses with ip4 and ip6 instead: an mx with more than 10 ends in permerror.",
		When:        followed,
		Fails: inTree(func(n *Node, t *ResolvedTerm) diag.Failures {
			if t.MXCount <= MaxMX {
				return nil
			}
			return diag.Failures{blame(n, t.Term, "%s has %d.", diag.Quote(t.Target), t.MXCount)}
		}),
	},
}

func counted(e *evidence, n int) string {
	if e.offline {
		return fmt.Sprintf("At least %d terms", n)
	}
	return fmt.Sprintf("%d terms", n)
}

// maxNamed bounds the terms that are named in a sentence.
const maxNamed = 12

// costs lists the terms of a record that need the DNS, with what each costs.
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

// voids lists terms of all records.
func voids(e *evidence, is func(*ResolvedTerm) bool) string {
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

// hostRules are about the hosts that terms stand for.
var hostRules = diag.Rules[*evidence]{
	{
		Code: "spf.a.void", Severity: diag.Warning, Weight: 2, Category: factorHosts,
		Requirement: "Every a stands for a host with an address",
		Ref:         "RFC 7208 section 5.3",
		Advice:      "Remove the term, or give the name an address.",
		When:        followed,
		Fails:       voidOf(A, "%s has neither an IPv4 nor an IPv6 address."),
	},
	{
		Code: "spf.mx.void", Severity: diag.Warning, Weight: 2, Category: factorHosts,
		Requirement: "Every mx stands for a domain with MX records",
		Ref:         "RFC 7208 section 5.4",
		Advice:      "Remove the term, or use a: mx does not fall back to the address of the domain.",
		When:        followed,
		Fails:       voidOf(MX, "%s has no MX records."),
	},
	{
		Code: "spf.mx.null", Severity: diag.Warning,
		Requirement: "Every mx stands for a domain that receives mail",
		Ref:         "RFC 7505 section 3",
		Advice:      "Remove the term: a domain with a null MX has no hosts that it could stand for.",
		When:        followed,
		Fails: inTree(func(n *Node, t *ResolvedTerm) diag.Failures {
			if t.Name != MX || t.MXCount == 0 || len(t.Hosts) > 0 || t.Err != nil || t.Cut {
				return nil
			}
			return diag.Failures{blame(n, t.Term, "The MX record of %s names no host.", diag.Quote(t.Target))}
		}),
	},
	{
		Code: "spf.mx.address", Severity: diag.Info,
		Requirement: "Every mail exchanger behind an mx has an address",
		Ref:         "RFC 7208 section 5.4",
		Advice:      "Give the host an address, or remove its MX record.",
		When:        followed,
		Fails: inTree(func(n *Node, t *ResolvedTerm) diag.Failures {
			var list diag.Failures
			for _, h := range t.Hosts {
				if t.Name == MX && len(h.Addresses) == 0 && h.Err == nil && !t.Cut {
					list = append(list, blame(n, t.Term, "%s has none.", diag.Quote(h.Name)))
				}
			}
			return list
		}),
	},
	{
		Code: "spf.exists.void", Severity: diag.Warning, Weight: 1, Category: factorHosts,
		Requirement: "Every exists can match",
		Ref:         "RFC 7208 section 5.7",
		Advice:      "Remove the term, or correct its name: as it is, it never matches, and counts as void.",
		When:        followed,
		Fails:       voidOf(Exists, "%s has no IPv4 address."),
	},
}

func voidOf(name Name, format string) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures {
		return inTree(func(n *Node, t *ResolvedTerm) diag.Failures {
			if t.Name != name || !t.Void {
				return nil
			}
			f := blame(n, t.Term, format, diag.Quote(t.Target))
			f.Suggested = e.without(n, t.Term)
			return diag.Failures{f}
		})(e)
	}
}
