package spf

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// termRules are about terms that keep to the syntax, and yet do not do what was meant.
var termRules = diag.Rules[*evidence]{
	{
		Code: "spf.modifier.mechanism", Severity: diag.Error, Weight: 2, Category: factorTerms,
		Requirement: "No mechanism is written with an equals sign",
		Ref:         "RFC 7208 section 6",
		Advice:      "Write mechanisms with a colon: with an equals sign they are modifiers without a meaning, and are ignored.",
		When:        one,
		Fails: func(e *evidence) diag.Failures {
			return inRecord(func(n *Node, t *ResolvedTerm) diag.Failures {
				if t.Kind != Modifier || !slices.Contains(mechanisms, t.Name) {
					return nil
				}
				f := blame(n, t.Term, "%s is ignored.", diag.Quote(t.Raw))
				f.Suggested = e.with(n, t.Term, string(t.Name)+":"+t.Value)
				return diag.Failures{f}
			})(e)
		},
	},
	{
		Code: "spf.modifier.version", Severity: diag.Error,
		Requirement: "The version stands at the beginning only",
		Ref:         "RFC 7208 section 4.5",
		Advice:      "Remove the second v=spf1, which probably came with another record that was joined to this one.",
		When:        one,
		Fails: func(e *evidence) diag.Failures {
			return inRecord(func(n *Node, t *ResolvedTerm) diag.Failures {
				if t.Name != "v" {
					return nil
				}
				f := blame(n, t.Term, "%s stands there again.", diag.Quote(t.Raw))
				f.Suggested = e.without(n, t.Term)
				return diag.Failures{f}
			})(e)
		},
	},
	{
		Code: "spf.modifier.unknown", Severity: diag.Info,
		Requirement: "Every modifier has a meaning",
		Ref:         "RFC 7208 section 6",
		Advice:      "Check the spelling, or remove it: receivers ignore modifiers that they do not know.",
		When:        one,
		Fails: inRecord(func(n *Node, t *ResolvedTerm) diag.Failures {
			if t.Kind != Modifier || !t.Valid || t.Name == Redirect || t.Name == Exp || t.Name == "v" ||
				slices.Contains(mechanisms, t.Name) {
				return nil
			}
			return diag.Failures{blame(n, t.Term, "%s is no modifier of SPF.", diag.Quote(string(t.Name)))}
		}),
	},
	{
		Code: "spf.term.repeated", Severity: diag.Warning, Weight: 1, Category: factorTerms,
		Requirement: "No mechanism is repeated",
		Ref:         "RFC 7208 section 4.6.2",
		Advice:      "Remove the second one: it never matches what the first did not, and may cost a look-up.",
		When:        one,
		Fails:       repeatedTerms,
	},
	{
		Code: "spf.term.target", Severity: diag.Error, Weight: 1, Category: factorTerms,
		Requirement: "Every name in the record can be that of a host or domain",
		Ref:         "RFC 7208 section 4.8",
		Advice:      "Correct the name: labels have 1 to 63 letters, digits, hyphens and underscores.",
		When:        one,
		Fails: inRecord(func(n *Node, t *ResolvedTerm) diag.Failures {
			if !t.Valid || t.spec == nil || len(t.spec) != 1 || t.spec[0].letter != 0 {
				return nil
			}
			if fault := targetFault(t.Value); fault != "" {
				return diag.Failures{blame(n, t.Term, "%s never exists: %s.", diag.Quote(t.Value), fault)}
			}
			return nil
		}),
	},
	{
		Code: "spf.term.unreached", Severity: diag.Warning, Weight: 2, Category: factorTerms,
		Requirement: "No mechanism stands behind all",
		Ref:         "RFC 7208 section 5.1",
		Advice:      "Move all to the end of the record: all always matches, so nothing behind it is ever looked at.",
		When:        one,
		Fails: inRecord(func(n *Node, t *ResolvedTerm) diag.Failures {
			if t.Reached || !t.Valid || t.Kind != Mechanism {
				return nil
			}
			return diag.Failures{blame(n, t.Term, "%s stands behind all.", diag.Quote(t.Raw))}
		}),
	},
	{
		Code: "spf.redirect.ignored", Severity: diag.Warning, Weight: 1, Category: factorTerms,
		Requirement: "The record does not have both all and redirect",
		Ref:         "RFC 7208 section 6.1",
		Advice:      "Remove one of them: with all, redirect is ignored.",
		When:        one,
		Fails: func(e *evidence) diag.Failures {
			return inRecord(func(n *Node, t *ResolvedTerm) diag.Failures {
				if t.Reached || !t.Valid || t.Name != Redirect {
					return nil
				}
				f := blame(n, t.Term, "%s is ignored, since there is an all.", diag.Quote(t.Raw))
				f.Suggested = e.without(n, t.Term)
				return diag.Failures{f}
			})(e)
		},
	},
	{
		Code: "spf.redirect.order", Severity: diag.Info,
		Requirement: "redirect stands at the end",
		Ref:         "RFC 7208 section 6.1",
		Advice:      "Move redirect to the end, where it is looked at in any case.",
		When:        one,
		Fails: inRecord(func(n *Node, t *ResolvedTerm) diag.Failures {
			if t.Name != Redirect || !t.Reached {
				return nil
			}
			for i := range n.Terms {
				if later := &n.Terms[i]; later.Kind == Mechanism && later.Offset > t.Offset {
					return diag.Failures{blame(n, t.Term, "Mechanisms stand behind %s, and are looked at before.", diag.Quote(t.Raw))}
				}
			}
			return nil
		}),
	},
	{
		Code: "spf.ptr", Severity: diag.Warning, Weight: 5, Category: factorTerms,
		Requirement: "No record uses ptr",
		Ref:         "RFC 7208 section 5.5",
		Advice:      "Replace ptr by ip4, ip6, a or mx: it is slow, unreliable, and some receivers do not evaluate it.",
		When:        one,
		Fails: inTree(func(n *Node, t *ResolvedTerm) diag.Failures {
			if !t.Reached || t.Name != PTR {
				return nil
			}
			return diag.Failures{blame(n, t.Term, "%s is used.", diag.Quote(t.Raw))}
		}),
	},
	{
		Code: "spf.macro.ptr", Severity: diag.Warning, Weight: 2, Category: factorTerms,
		Requirement: "No record uses the macro p",
		Ref:         "RFC 7208 section 7.2",
		Advice:      "Use %{i} instead of %{p}: the host name of a client is slow to learn, and often unknown.",
		When:        one,
		Fails: inTree(func(n *Node, t *ResolvedTerm) diag.Failures {
			if !t.Reached || !t.spec.uses("p") {
				return nil
			}
			return diag.Failures{blame(n, t.Term, "%s uses it.", diag.Quote(t.Raw))}
		}),
	},
}

// repeatedTerms finds mechanisms that stand twice.
func repeatedTerms(e *evidence) diag.Failures {
	first := map[string]*ResolvedTerm{}
	return inRecord(func(n *Node, t *ResolvedTerm) diag.Failures {
		if t.Kind != Mechanism || !t.Valid {
			return nil
		}
		key := strings.ToLower(strings.TrimLeft(t.String(), "+-~?"))
		if other := first[key]; other != nil {
			f := blame(n, t.Term, "%s stands at byte %d already.", diag.Quote(other.Raw), other.Offset)
			f.Suggested = e.without(n, t.Term)
			return diag.Failures{f}
		}
		first[key] = t
		return nil
	})(e)
}

// decided reports whether it is known how the record ends: with which all, or without.
func decided(e *evidence) bool { return one(e) && e.last != nil && len(e.last.Faults) == 0 }

// ending returns failures if the record ends with an all of the given sign.
func ending(sign Qualifier, detail string) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures {
		for i := range e.last.Terms {
			t := &e.last.Terms[i]
			if t.Name != All || !t.Reached {
				continue
			}
			if t.Qualifier != sign {
				return nil
			}
			f := blame(e.last, t.Term, "%s", detail)
			f.Suggested = e.with(e.last, t.Term, "-all")
			return diag.Failures{f}
		}
		return nil
	}
}

// allRules are about how the record ends.
var allRules = diag.Rules[*evidence]{
	{
		Code: "spf.all.missing", Severity: diag.Warning, Weight: 10, Category: factorPolicy,
		Requirement: "The record says what is to be thought of all other hosts",
		Ref:         "RFC 7208 section 4.7",
		Advice:      "End the record with -all, or with ~all while you are not sure that the list of hosts is complete.",
		When:        decided,
		Fails: func(e *evidence) diag.Failures {
			if e.last.Parsed.find(All) != nil {
				return nil
			}
			f := diag.Failure{Detail: "It ends without all and redirect, so that the result is neutral."}
			if e.last.Depth > 0 {
				f.Detail, f.Target = "The record of "+diag.Quote(e.last.Domain)+", where it hands over to, has no all.",
					diag.Quote(e.last.Domain)
			} else {
				f.Suggested = valid(strings.TrimRight(e.last.raw, " ") + " -all")
			}
			return diag.Failures{f}
		},
	},
	{
		Code: "spf.all.pass", Severity: diag.Critical, Weight: 15, Category: factorPolicy,
		Requirement: "The record does not let every host pass",
		Ref:         "RFC 7208 section 5.1",
		Advice:      "Replace it by -all: as it is, everybody may send in the name of the domain.",
		When:        decided,
		Fails:       ending(QualifierPass, "It ends with all, and the sign + or none."),
	},
	{
		Code: "spf.all.neutral", Severity: diag.Warning, Weight: 10, Category: factorPolicy,
		Requirement: "The record takes a stand on all other hosts",
		Ref:         "RFC 7208 section 8.2",
		Advice:      "Replace it by -all or ~all: ?all is as good as no record.",
		When:        decided,
		Fails:       ending(QualifierNeutral, "It ends with ?all."),
	},
	{
		Code: "spf.all.softfail", Severity: diag.Info,
		Requirement: "The record rules out all other hosts",
		Ref:         "RFC 7208 section 8.5",
		Advice:      "Change to -all once all hosts are listed, or keep it and publish a DMARC policy, which treats both alike.",
		When:        decided,
		Fails:       ending(QualifierSoftfail, "It ends with ~all: other hosts are suspicious, not ruled out."),
	},
	{
		Code: "spf.none.form", Severity: diag.Info,
		Requirement: "A domain that sends no mail says so plainly",
		Ref:         "RFC 7208 section 10.1.2",
		Advice:      "Publish v=spf1 -all and nothing else, if the domain really sends no mail.",
		When: func(e *evidence) bool {
			return decided(e) && !e.offline && e.valid() && e.tree.Complete() && !e.dynamic()
		},
		Fails: func(e *evidence) diag.Failures {
			if !e.authorized.IsEmpty() || strings.EqualFold(strings.TrimSpace(e.records[0]), "v=spf1 -all") {
				return nil
			}
			return diag.Failures{{Detail: "No host passes, and the record is not v=spf1 -all.", Suggested: "v=spf1 -all"}}
		},
	},
}

// dynamic reports whether a part of the tree depends on the mail.
func (e *evidence) dynamic() bool {
	for _, n := range e.nodes {
		for i := range n.Terms {
			if t := &n.Terms[i]; t.Reached && t.Dynamic && t.Name.Counted() {
				return true
			}
		}
	}
	return false
}
