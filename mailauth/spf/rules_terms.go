package spf

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

// termRules are about terms with valid syntax that do not have the intended effect.
var termRules = rule.Rules[*evidence]{
	{
		Code: "spf.modifier.mechanism", Severity: diag.Error, Weight: 2, Category: factorTerms,
		Ref: "RFC 7208 section 6", Title: "SPF record has a mechanism with an equals sign",
		Requirement: "No mechanism is written with an equals sign",
		Advice:      "Write mechanisms with a colon: with an equals sign they are unknown modifiers, which receivers ignore.",
		Fails: suggesting(inRecord(func(_ *evidence, n *Node, t *ResolvedTerm) rule.Failures {
			return failTermIf(eval.Name(t.Unknown).IsMechanism(), n, t,
				"Receivers ignore %q; the mechanism is written %s:….", phrase.Quote(t.Raw), t.Unknown)
		})),
	},
	{
		Code: "spf.modifier.version", Severity: diag.Error, Weight: 2, Category: factorTerms,
		Ref:   "RFC 7208 section 4.5",
		Title: "SPF record has v=spf1 twice", Requirement: "v=spf1 appears only at the beginning",
		Advice: "Merge the two records that were joined here into one, with one v=spf1 and one all.",
		Fails:  suggesting(joinedRecords),
	},
	{
		Code: "spf.modifier.unknown", Severity: diag.Info, Ref: "RFC 7208 section 6",
		Title: "SPF record has an unknown modifier", Requirement: "Every modifier is one that SPF defines",
		Advice: "Check the spelling, or remove it: receivers ignore modifiers that they do not know.",
		Fails: inRecord(func(_ *evidence, n *Node, t *ResolvedTerm) rule.Failures {
			known := t.Unknown == "" || t.Unknown == "v" || eval.Name(t.Unknown).IsMechanism() ||
				reportModifiers[t.Unknown] != nil
			return failTermIf(t.Valid && !known, n, t, "SPF does not define the modifier %q.", phrase.Quote(t.Unknown))
		}),
	},
	{
		Code: "spf.modifier.report", Severity: diag.Info, Ref: "RFC 6652 section 3",
		Title: "SPF failure reports are requested in the wrong way", Requirement: "ra, rp and rr have valid values",
		Advice: "Write ra= with the local part of a mailbox of the domain, rp= with 0 to 100, and rr= with all or letters " +
			"of e, f, s, n.",
		Fails: inRecord(func(_ *evidence, n *Node, t *ResolvedTerm) rule.Failures {
			check := reportModifiers[t.Unknown]
			if !t.Valid || check == nil {
				return nil
			}
			fault := check(t.Value)
			return failTermIf(fault != "", n, t, "Receivers ignore %q: %s.", phrase.Quote(t.Raw), fault)
		}),
	},
	{
		Code: "spf.term.repeated", Severity: diag.Warning, Weight: 1, Category: factorTerms,
		Ref:   "RFC 7208 section 4.6.2",
		Title: "SPF record has a mechanism twice", Requirement: "No mechanism appears twice",
		Advice: "Remove the second one: it never matches what the first did not, and may cost a DNS lookup.",
		Fails:  suggesting(repeatedTerms),
	},
	{
		Code: "spf.term.target", Severity: diag.Error, Weight: 1, Category: factorTerms, Ref: "RFC 7208 section 4.8",
		Title: "SPF record has a name that cannot exist", Requirement: "Every name in the record can exist",
		Advice: "Correct the name: labels have 1 to 63 letters, digits, hyphens and underscores.",
		Fails: suggesting(inRecord(func(_ *evidence, n *Node, t *ResolvedTerm) rule.Failures {
			fault := termFault(t.Term)
			return failTermIf(fault != "", n, t, "%q cannot be the name of a host or domain: %s.", phrase.Quote(t.Value), fault)
		})),
	},
	{
		Code: "spf.term.unreached", Severity: diag.Warning, Weight: 2, Category: factorTerms,
		Ref:   "RFC 7208 section 5.1",
		Title: "SPF record has mechanisms after all", Requirement: "No mechanism follows all",
		Advice: "Move all to the end of the record: it always matches, so receivers never evaluate what follows it.",
		Fails: suggesting(inRecord(func(_ *evidence, n *Node, t *ResolvedTerm) rule.Failures {
			return failTermIf(!t.Reached && t.Valid && t.Kind == eval.Mechanism, n, t,
				"Receivers never evaluate %q, since it follows all.", phrase.Quote(t.Raw))
		})),
	},
	{
		Code: "spf.term.shadowed", Severity: diag.Warning, Weight: 2, Category: factorTerms,
		Reads: []rule.Source{fromTree}, Ref: "RFC 7208 section 4.6.2",
		Title:       "SPF record lists a sender that an earlier term excludes",
		Requirement: "No sender is excluded by an earlier term",
		Advice:      "Move the term before the one that excludes it: the first match decides.", Fails: suggesting(shadowed),
	},
	{
		Code: "spf.redirect.ignored", Severity: diag.Warning, Weight: 1, Category: factorTerms,
		Ref:   "RFC 7208 section 6.1",
		Title: "SPF redirect is ignored because of all", Requirement: "redirect and all are not used together",
		Advice: "Remove all to use the redirect, or use include in place of redirect: beside all, redirect is ignored.",
		Fails: suggesting(inRecord(func(_ *evidence, n *Node, t *ResolvedTerm) rule.Failures {
			return failTermIf(!t.Reached && t.Valid && t.Name == eval.Redirect, n, t,
				"Receivers ignore %q, since the record has an all.", phrase.Quote(t.Raw))
		})),
	},
	acrossRecords(rule.Rule[*evidence]{
		Code: "spf.ptr", Severity: diag.Warning, Weight: 5, Category: factorTerms, Ref: "RFC 7208 section 5.5",
		Title: "SPF record uses the ptr mechanism", Requirement: "No record uses ptr",
		Advice: "Replace ptr with ip4, ip6, a or mx: it is slow and unreliable, and some receivers do not evaluate it.",
		Fails: inTree(func(_ *evidence, n *Node, t *ResolvedTerm) rule.Failures {
			return failTermIf(t.Reached && t.Name == eval.PTR, n, t, "%q should no longer be used.", phrase.Quote(t.Raw))
		}),
	}),
	acrossRecords(rule.Rule[*evidence]{
		Code: "spf.macro.ptr", Severity: diag.Warning, Weight: 2, Category: factorTerms, Ref: "RFC 7208 section 7.2",
		Title: "SPF record uses the macro p", Requirement: "No record uses the macro p",
		Advice: "Use %{i} in place of %{p}: the host name of a client is slow to look up and often unknown.",
		Fails: inTree(func(_ *evidence, n *Node, t *ResolvedTerm) rule.Failures {
			return failTermIf(t.Reached && t.Uses("p"), n, t, "%q depends on the host name of the client.", phrase.Quote(t.Raw))
		}),
	}),
}

// reportModifiers are those by which a domain requests failure reports (RFC 6652 section 3), each with a function
// that returns why a value is invalid; empty if valid.
var reportModifiers = map[string]func(value string) string{
	"ra": func(value string) string {
		switch {
		case value == "":
			return "it names no mailbox"
		case strings.Contains(value, "@"):
			return "it is a local part alone, and the domain is that of the record"
		case strings.HasPrefix(value, ".") || strings.HasSuffix(value, ".") || strings.Contains(value, "..") ||
			strings.ContainsAny(value, "()<>[]:;,\\\"%"): // RFC 5321 section 4.1.2
			return "it is not the local part of an address"
		}
		return ""
	},
	"rp": func(value string) string {
		if n, err := strconv.ParseUint(value, 10, 8); err != nil || n > 100 {
			return "it is not a percentage from 0 to 100"
		}
		return ""
	},
	"rr": func(value string) string {
		for _, one := range strings.Split(strings.ToLower(value), ":") {
			if !slices.Contains([]string{"all", "e", "f", "s", "n"}, one) {
				return fmt.Sprintf("%q is not one of all, e, f, s and n", phrase.Quote(one))
			}
		}
		return ""
	},
}

// repeatedTerms finds mechanisms that appear twice. Another rule covers includes, if they are looked up.
func repeatedTerms(e *evidence) rule.Failures {
	first := map[string]*ResolvedTerm{}
	return inRecord(func(e *evidence, n *Node, t *ResolvedTerm) rule.Failures {
		if t.Kind != eval.Mechanism || !t.Valid || t.Name == eval.Include && t.Reached && !e.offline {
			return nil
		}
		key := unsigned(t.Term)
		if other := first[key]; other != nil {
			return rule.Failures{failTerm(n, t.Term, "%q repeats %q of byte %d.", phrase.Quote(t.Raw), phrase.Quote(other.Raw),
				other.Offset)}
		}
		first[key] = t
		return nil
	})(e)
}

// shadowed finds mechanisms of which every address is excluded by the terms before.
func shadowed(e *evidence) rule.Failures {
	var excluded Set
	return inRecord(func(_ *evidence, n *Node, t *ResolvedTerm) rule.Failures {
		if !t.Reached || t.Kind != eval.Mechanism || t.Name == eval.All {
			return nil
		}
		matched := t.matches()
		if t.Qualifier != eval.QualifierPass {
			excluded = excluded.Union(matched)
			return nil
		}
		return failTermIf(!matched.IsEmpty() && matched.Minus(excluded).IsEmpty(), n, t,
			"No host passes by %q: terms before it exclude all its addresses.",
			phrase.Quote(t.Raw))
	})(e)
}

func listsSender(t *ResolvedTerm) bool {
	return t.Kind == eval.Mechanism && t.Name != eval.All && t.Qualifier == eval.QualifierPass ||
		t.Name == eval.Redirect ||
		eval.Name(t.Unknown).IsMechanism() && t.Unknown != string(eval.All)
}

// noHostPasses finds a record by which no host passes although it lists senders, and gives the reason, which
// determines the remedy.
func noHostPasses(e *evidence) rule.Failures {
	if !e.authorized.IsEmpty() || e.tree.Root.find(e.mayPass) != nil {
		return nil
	}
	var reasons, advice []string
	for _, t := range e.tree.Root.Terms {
		if !listsSender(t) {
			continue
		}
		reason, remedy := t.whyNoHost()
		if reason != "" && !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
		if !slices.Contains(advice, remedy) {
			advice = append(advice, remedy)
		}
	}
	f := rule.Failure{Detail: fmt.Sprintf("The record %q lists senders, but no address passes",
		phrase.Quote(e.records[0]))}
	if len(reasons) > 0 {
		f.Detail += ": " + named(reasons)
	}
	f.Detail += "."
	if len(advice) > 0 && !slices.Contains(advice, "") {
		f.Advice = advice[0]
	}
	return rule.Failures{f}
}

// whyNoHost returns why no host passes by a term that lists senders, as a clause, and the advice. Both are empty if
// an earlier term is the reason.
func (t *ResolvedTerm) whyNoHost() (reason, advice string) {
	switch hosts := t.withoutAddress(); {
	case t.Unknown != "":
		return fmt.Sprintf("%q is written with an equals sign", phrase.Quote(t.Raw)),
			"Write the mechanism with a colon: with an equals sign it is an unknown modifier, which receivers ignore."
	case !t.Reached && t.Name == eval.Redirect:
		return fmt.Sprintf("%q is ignored because of all", phrase.Quote(t.Raw)),
			"Remove all to use the redirect, or use include in place of redirect: beside all, redirect is ignored."
	case !t.Reached:
		return fmt.Sprintf("%q follows all", phrase.Quote(t.Raw)), ""
	case len(hosts) > 0 && len(t.Networks) == 0:
		return fmt.Sprintf("%s of %s has no address", named(kit.Map(hosts, phrase.Quote)), phrase.Quote(t.Target)),
			"Give the MX host an A or AAAA record, point the MX record to a host that has one, or list the senders with ip4 " +
				"and ip6."
	case t.Void || t.Name == eval.MX && len(t.Hosts) == 0 && len(t.Networks) == 0 && t.Target != "" && t.MXCount > 0:
		return fmt.Sprintf("the DNS has no host for %q", phrase.Quote(t.Raw)),
			"Correct the name or give it the records that are missing, or list the senders with ip4 and ip6."
	case t.Child != nil && t.Child.passing().IsEmpty():
		return fmt.Sprintf("no host passes by the record of %s", phrase.Quote(t.Child.Domain)),
			"Correct the domain, or list the hosts and services that send: the record to which this one leads lets nobody send."
	default:
		return "", ""
	}
}

// decided reports whether the end of the record is known: its all, or the lack of one.
func decided(e *evidence) bool { return e.last.State == NodeFound && len(e.last.Faults) == 0 }

func ending(sign eval.Qualifier, detail string) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		t := e.last.find(func(t *ResolvedTerm) bool { return t.Name == eval.All && t.Reached && t.Qualifier == sign })
		if t == nil {
			return nil
		}
		f := failTerm(e.last, t.Term, "%s", detail)
		if e.last.Depth == 0 {
			f.Suggested = e.suggested
		}
		return rule.Failures{f}
	}
}

// policyRules are about the decision of the record. Its end is known even if its includes are not.
var policyRules = rule.Rules[*evidence]{
	{
		Code: "spf.senders.none", Severity: diag.Error, Weight: 10, Category: factorPolicy,
		Reads: []rule.Source{fromTree, fromOthers}, Ref: "RFC 7208 section 4.6.2",
		Title: "SPF lists senders, but no host passes", Requirement: "The listed senders pass",
		Advice: "Move the senders before all and before terms that exclude them, or remove those that are not used any more.",
		When: func(e *evidence) bool {
			return slices.ContainsFunc(e.tree.Root.Terms, listsSender) && !slices.ContainsFunc(e.nodes, (*Node).broken) &&
				len(e.missingSpaces) == 0
		},
		Fails: suggesting(noHostPasses),
	},
	{
		Code: "spf.senders.unlisted", Severity: diag.Info, Reads: []rule.Source{fromTree}, Ref: "RFC 7208 section 10.1.2",
		Title:       "SPF authorizes no host, but the domain has mail servers",
		Requirement: "Some host may send mail for a domain with mail servers",
		Advice: "Keep the record if the domain only receives mail; otherwise list every host and service that sends " +
			"mail for it.",
		When: func(e *evidence) bool {
			return len(e.mail.MX.Records) > 0 && !e.mail.NullMX() &&
				!(e.refusesAll() && slices.ContainsFunc(e.tree.Root.Terms, listsSender)) // reported by spf.senders.none
		},
		Fails: func(e *evidence) rule.Failures {
			return rule.FailIf(e.refusesAll(), "%s has MX records, and no host passes by its record %q.", e.domain,
				phrase.Quote(e.records[0]))
		},
	},
	{
		Code: "spf.all.missing", Severity: diag.Warning, Weight: 10, Category: factorPolicy,
		Ref:   "RFC 7208 section 4.7",
		Title: "SPF record does not end with all or redirect", Requirement: "The record ends with all or redirect",
		Advice: "End the record with ~all, and with -all once you are sure that it lists every sender.",
		When:   func(e *evidence) bool { return decided(e) && len(e.missingSpaces) == 0 },
		Fails: func(e *evidence) rule.Failures {
			switch {
			case e.last.Parsed.Find(eval.All) != nil:
				return nil
			case e.last.Depth > 0:
				return rule.Failures{{
					Detail: fmt.Sprintf("The record of %s, to which it redirects, has no all: the result for other hosts is neutral.",
						phrase.Quote(e.last.Domain)), Target: phrase.Quote(e.last.Domain),
				}}
			default:
				return rule.Failures{{
					Detail: "The record has neither all nor redirect: the result for other hosts is neutral.", Suggested: e.suggested,
				}}
			}
		},
	},
	{
		Code: "spf.all.pass", Severity: diag.Critical, Weight: 15, Category: factorPolicy, Ref: "RFC 7208 section 5.1",
		Title: "SPF record lets every host pass (+all)", Requirement: "The record does not let every host pass",
		Advice: "List the senders and replace +all with ~all: anyone can send mail as the domain.",
		When:   decided,
		Fails:  ending(eval.QualifierPass, "The record ends with +all, so every host on the Internet passes."),
	},
	{
		Code: "spf.all.neutral", Severity: diag.Warning, Weight: 10, Category: factorPolicy,
		Ref:   "RFC 7208 section 8.2",
		Title: "SPF record says nothing about other hosts (?all)", Requirement: "The record does not end with ?all",
		Advice: "Replace ?all with ~all, and with -all once the list of senders is complete: ?all says no more than a " +
			"record without all.",
		When:  decided,
		Fails: ending(eval.QualifierNeutral, "The record ends with ?all: the result for other hosts is neutral."),
	},
	{
		Code: "spf.none.form", Severity: diag.Info, Reads: []rule.Source{fromTree},
		DependsOn: []diag.Code{"spf.all.pass"}, Ref: "RFC 7208 section 10.1.2",
		Title:       "No host passes, but the record is not v=spf1 -all",
		Requirement: "A record without senders is v=spf1 -all",
		Advice:      "Publish v=spf1 -all and nothing else if the domain sends no mail.", When: func(e *evidence) bool {
			return e.complete && !e.tree.Root.dynamic() && len(e.missingSpaces) == 0 &&
				!slices.ContainsFunc(e.tree.Root.Terms, listsSender)
		},
		Fails: func(e *evidence) rule.Failures {
			return rule.FailIf(e.authorized.IsEmpty() && e.tree.Root.Parsed.String() != "v=spf1 -all",
				"No host passes by the record %q.", phrase.Quote(e.records[0]))
		},
	},
}.Reading(fromEnd)
