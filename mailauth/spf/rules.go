package spf

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

var (
	factorRecord   = rule.Category{Code: "record", Label: "Record"}
	factorSyntax   = rule.Category{Code: "syntax", Label: "Syntax"}
	factorTerms    = rule.Category{Code: "terms", Label: "Terms"}
	factorPolicy   = rule.Category{Code: "policy", Label: "Policy"}
	factorTree     = rule.Category{Code: "tree", Label: "Includes and redirects"}
	factorLimits   = rule.Category{Code: "limits", Label: "DNS lookup limits"}
	factorNetworks = rule.Category{Code: "networks", Label: "Authorized networks"}
	factorHosts    = rule.Category{Code: "hosts", Label: "Hosts"}
)

func on(code diag.Code, tables ...rule.Rules[*evidence]) rule.Rules[*evidence] {
	list := slices.Concat(tables...)
	for i := range list {
		list[i].DependsOn = append([]diag.Code{code}, list[i].DependsOn...)
	}
	return list
}

func lookedUp(e *evidence) bool { return !e.offline }

// acrossRecords makes a rule about all records: a fault in one is a fact regardless of the others. A text alone
// does not pass a check that needs the DNS.
func acrossRecords(r rule.Rule[*evidence]) rule.Rule[*evidence] {
	when, fails := r.When, r.Fails
	r.Reads, r.HoldsWhenUnanswered = append(r.Reads, fromTree, fromOthers), true
	r.When = func(e *evidence) bool {
		return (when == nil || when(e)) && (lookedUp(e) || e.complete || len(fails(e)) > 0)
	}
	return r
}

// locationOf returns the location of a term in the examined record, or of the term that leads to its record.
func locationOf(n *Node, t *eval.Term) *diag.Location {
	if n.lead != nil {
		t = n.lead
	}
	return &diag.Location{Offset: t.Offset, Length: len(t.Raw)}
}

// failTerm returns a failure of a term. Its target is the term, or the domain whose record has it.
func failTerm(n *Node, t *eval.Term, format string, args ...any) rule.Failure {
	f := rule.Failure{Detail: fmt.Sprintf(format, args...), Target: phrase.Quote(t.Raw), Location: locationOf(n, t)}
	if n.Depth > 0 {
		f.Detail = "In the SPF record of " + phrase.Quote(n.Domain) + ": " + f.Detail
		f.Target = phrase.Quote(n.Domain)
	}
	return f
}

func failTermIf(failed bool, n *Node, t *ResolvedTerm, format string, args ...any) rule.Failures {
	if !failed {
		return nil
	}
	return rule.Failures{failTerm(n, t.Term, format, args...)}
}

type termCheck func(e *evidence, n *Node, t *ResolvedTerm) rule.Failures

func inTree(check termCheck) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures { return e.collect(e.nodes, check) }
}

func inRecord(check termCheck) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures { return e.collect(e.nodes[:1], check) }
}

func (e *evidence) collect(nodes []*Node, check termCheck) rule.Failures {
	var list rule.Failures
	for _, n := range nodes {
		for _, t := range n.Terms {
			if t.Err != nil || !e.symptom(n, t.Term) {
				list = append(list, check(e, n, t)...)
			}
		}
	}
	return mergeFailures(list)
}

const maxListed = 3

// mergeFailures merges many failures of a kind into one.
func mergeFailures(list rule.Failures) rule.Failures {
	if len(list) <= maxListed {
		return list
	}
	others := slices.Compact(kit.Map(list[1:], func(f rule.Failure) string { return cmp.Or(f.Target, "an empty term") }))
	return list.Together("%s The same holds in %d other places: %s.", list[0].Detail, len(list)-1,
		phrase.Series(others, maxNamed/2))
}

func inNodes(check func(n *Node) string) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		var list rule.Failures
		for _, n := range e.nodes[1:] {
			if detail := check(n); detail != "" && (n.State == NodeUnknown || !e.symptom(n, nil)) {
				list = append(list, rule.Failure{Detail: detail, Target: phrase.Quote(n.Domain), Location: locationOf(n, nil)})
			}
		}
		return mergeFailures(list)
	}
}

func suggesting(fails func(*evidence) rule.Failures) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures { return fails(e).Suggesting(e.suggested) }
}

var rules = sync.OnceValue(func() rule.Rules[*evidence] {
	return slices.Concat(recordRules, publicationRules,
		on("spf.record.version", formRules, syntaxRules, termRules, policyRules, treeRules, limitRules, hostRules,
			networkRules, explanationRules),
		testRules.Reading(rule.FromRequest)).Reading(fromRecord)
})

var verdicts = rule.Texts{
	"valid": {Headline: "SPF is set up correctly",
		Sub: "Receivers can tell which hosts may send mail for the domain. Check the record again when you add a service."},
}

// verdictsDenyAll are the verdicts on a record that authorizes no host, where a domain without mail should publish
// that, or where nothing else is known.
var verdictsDenyAll = rule.Texts{
	"valid": {Headline: "SPF authorizes no host to send mail for the domain",
		Sub: "Receivers can tell that mail in its name is forged. List every host and service before you send any."},
	"spf.senders.unlisted": {Headline: "SPF authorizes no host to send mail for the domain",
		Sub: "That is right if the domain only receives mail. If it sends any, list every host and service that does."},
}

// The verdicts on a text alone mention the parts that were not examined.
var (
	verdictsAlone = rule.Texts{
		"valid": {Headline: "SPF record is valid as far as its text tells",
			Sub: "What it includes was not examined. Look up the domain once the record is published."},
	}
	verdictsHosts = rule.Texts{
		"valid": {Headline: "SPF record is valid as far as its text tells",
			Sub: "The hosts that it names were not looked up. Look up the domain once the record is published."},
	}
	verdictsWhole = rule.Texts{
		"valid": {Headline: "SPF record is valid",
			Sub: "Publish it as the only SPF record of the domain, and check it again when you add a service."},
	}
	verdictsWholeNobody = rule.Texts{
		"valid": {Headline: "SPF record is valid, and authorizes no host to send mail",
			Sub: "Publish it if the domain sends no mail. If it sends any, list every host and service that does."},
	}
)

// texts returns the verdict texts that fit the evidence.
func (e *evidence) texts() rule.Texts {
	counted := func(t *ResolvedTerm) bool { return t.Reached && t.Name.Counted() }
	leads := func(t *ResolvedTerm) bool { return t.Reached && (t.Name == eval.Include || t.Name == eval.Redirect) }
	switch {
	case !e.offline && e.refusesAll():
		return verdictsDenyAll
	case !e.offline:
		return verdicts
	case e.tree.Root.find(leads) != nil:
		return verdictsAlone
	case e.tree.Root.find(counted) != nil:
		return verdictsHosts
	case e.refusesAll():
		return verdictsWholeNobody
	default:
		return verdictsWhole
	}
}

// refusesAll reports whether the record can be evaluated and authorizes no host.
func (e *evidence) refusesAll() bool {
	passed, _ := e.audience()
	return len(e.records) == 1 && passed == Nobody && len(e.missingSpaces) == 0
}
