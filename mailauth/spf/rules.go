package spf

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag"
)

// rules is the table of all that is examined, in the order in which a receiver would meet it.
var rules = slices.Concat(recordRules, syntaxRules, termRules, allRules, treeRules, limitRules, hostRules,
	networkRules, explanationRules, testRules)

// maxListed bounds the findings of one rule.
const maxListed = 20

func online(e *evidence) bool   { return !e.offline }
func answered(e *evidence) bool { return e.offline || e.published.answer.Err() == nil }

// one reports whether there is one record to look at.
func one(e *evidence) bool { return len(e.records) == 1 && e.tree.Root.Parsed != nil }

// followed reports whether what the record leads to was looked at.
func followed(e *evidence) bool { return one(e) && !e.offline }

// at returns where a term stands in the record that is examined, or nil if it is part of another.
func at(n *Node, t *Term) *diag.Location {
	if n.Depth > 0 {
		return nil
	}
	return &diag.Location{Offset: t.Offset, Length: len(t.Raw)}
}

// blame is a failure of a term. Its target is the term, or the domain whose record has it.
func blame(n *Node, t *Term, format string, args ...any) diag.Failure {
	f := diag.Failure{Detail: fmt.Sprintf(format, args...), Target: diag.Quote(t.Raw), Location: at(n, t)}
	if n.Depth > 0 {
		f.Detail = "In the record of " + diag.Quote(n.Domain) + ": " + f.Detail
		f.Target = diag.Quote(n.Domain)
	}
	return f
}

// terms collects failures from the terms of all records that are evaluated, or of the record itself.
func inTree(check func(n *Node, t *ResolvedTerm) diag.Failures) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures { return collect(e.nodes, check) }
}

// inRecord collects failures from the terms of the record that is examined.
func inRecord(check func(n *Node, t *ResolvedTerm) diag.Failures) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures { return collect(e.nodes[:1], check) }
}

func collect(nodes []*Node, check func(n *Node, t *ResolvedTerm) diag.Failures) diag.Failures {
	var list diag.Failures
	for _, n := range nodes {
		for i := range n.Terms {
			if list = append(list, check(n, &n.Terms[i])...); len(list) >= maxListed {
				return list[:maxListed]
			}
		}
	}
	return list
}

// inNodes collects failures from the records below that which is examined.
func inNodes(check func(n *Node) string) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures {
		var list diag.Failures
		for _, n := range e.nodes[1:] {
			if detail := check(n); detail != "" && len(list) < maxListed {
				list = append(list, diag.Failure{Detail: detail, Target: diag.Quote(n.Domain), Location: e.leading(n)})
			}
		}
		return list
	}
}

// leading returns where the term of the record stands that leads to a node.
func (e *evidence) leading(n *Node) *diag.Location {
	for n.Depth > 1 {
		n = n.parent
	}
	root := e.tree.Root
	for i := range root.Terms {
		if root.Terms[i].Child == n {
			return at(root, root.Terms[i].Term)
		}
	}
	return nil
}

// without returns the record without a term, if it is valid then.
func (e *evidence) without(n *Node, t *Term) string { return e.with(n, t, "") }

// with returns the record with another text in place of a term, if it is valid then.
func (e *evidence) with(n *Node, t *Term, text string) string {
	if n.Depth > 0 {
		return ""
	}
	head, tail := n.raw[:t.Offset], n.raw[t.Offset+len(t.Raw):]
	return valid(strings.Join(strings.Fields(head+text+tail), " "))
}

// valid returns a text if it is a record without errors.
func valid(text string) string {
	if _, faults := Parse(text); len(faults) > 0 || !utf8.ValidString(text) {
		return ""
	}
	return text
}

// repaired returns the record with all errors mended for which it is known how, if it is valid then.
func (n *Node) repaired() string {
	text := n.raw
	for i := len(n.Faults) - 1; i >= 0; i-- {
		f := &n.Faults[i]
		if i > 0 && n.Faults[i-1].term == f.term {
			continue // the first error of a term speaks for it
		}
		if f.Suggested == "" {
			return ""
		}
		text = text[:f.term] + f.Suggested + text[f.end:]
	}
	return valid(strings.Join(strings.Fields(text), " "))
}
