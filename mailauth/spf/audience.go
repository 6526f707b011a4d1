package spf

import (
	"net/netip"
	"slices"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

// An Audience describes which hosts get the result pass for a domain.
type Audience string

// The audiences.
const (
	Nobody    Audience = "nobody"    // no host: the record lists none that exists, or there is no record
	Some      Audience = "some"      // the hosts that the record lists
	Everybody Audience = "everybody" // every host, or every host of one address family but for those that are excluded
	Unknown   Audience = "unknown"   // an error hides the answer: see [LookupReport.Passes]
)

// Values lists the audiences.
func (Audience) Values() []string { return kit.Values(Nobody, Some, Everybody, Unknown) }

// Passes returns which hosts get the result pass (RFC 7208 section 2.6.3) from a receiver that evaluates the
// published record. It says nothing about the other hosts: whether they are refused depends on all, and without a
// record, for which Passes is Nobody and Found is false, they are not.
//
// It is Unknown where receivers reach an error before any host passes: a temperror, because a name server did not
// answer or the tree of records is too large to be examined, or a permerror, as of a syntax error, of several records
// or of an included name without a record. With a permerror no host passes today, which is what DMARC sees, and SPF
// refuses none; which hosts the domain intends to authorize is unknown. [LookupReport.Broken] identifies such a
// record.
func (r *LookupReport) Passes() Audience {
	if r.passes == "" { // the report was not made by Lookup
		return Unknown
	}
	return r.passes
}

// Broken reports whether every evaluation of the record ends in permerror, for every host: none passes, and none is
// refused.
func (r *LookupReport) Broken() bool { return r.broken }

// audience returns which hosts pass, and whether all evaluations end in permerror.
func (e *evidence) audience() (a Audience, broken bool) {
	root := e.tree.Root
	a, stops := root.audience()
	exceeded := root.CumulativeLookups > eval.MaxLookups || len(e.tree.voids(void)) > eval.MaxVoids
	switch {
	case a == Unknown:
		return a, root.fails()
	case exceeded && a != Some:
		return Unknown, false
	case stops || exceeded || a != Some:
		return a, false
	case e.complete && e.authorized.IsEmpty() && !root.dynamic(): // earlier terms exclude those that later ones list
		return Nobody, false
	case slices.ContainsFunc(e.authorized.Prefixes(), whole):
		return Everybody, false
	default:
		return Some, false
	}
}

func whole(p netip.Prefix) bool { return p.Bits() == 0 }

// audience returns which hosts pass by a record, and whether evaluations for the other hosts end in an error. It is
// Unknown if the error comes first.
func (n *Node) audience() (passed Audience, stops bool) {
	switch {
	case n.State == NodeNone && n.parent == nil:
		return Nobody, false
	case n.State == NodeDynamic && !n.unsure:
		return Some, false
	case n.State != NodeFound || len(n.Faults) > 0:
		return Unknown, true
	}
	passed = Nobody
	for _, t := range n.inOrder() {
		matched, stops := t.audience()
		if matched != Nobody && matched != Unknown && (t.Qualifier == eval.QualifierPass || t.Name == eval.Redirect) {
			passed = matched
		}
		switch {
		case stops && passed == Nobody:
			return Unknown, true
		case stops || matched == Everybody:
			return passed, stops
		}
	}
	return passed, false
}

// inOrder lists the terms that receivers evaluate, in evaluation order.
func (n *Node) inOrder() []*ResolvedTerm {
	var list []*ResolvedTerm
	for _, t := range n.Terms {
		if t.Reached && t.Kind == eval.Mechanism {
			list = append(list, t)
		}
	}
	if t := n.Modifier(eval.Redirect); t != nil {
		list = append(list, t)
	}
	return list
}

// audience returns which hosts a term matches, and whether evaluations for the other hosts end in an error.
func (t *ResolvedTerm) audience() (matched Audience, stops bool) {
	switch {
	case t.Everyone || slices.ContainsFunc(t.Networks, whole):
		return Everybody, false
	case t.Child != nil:
		return t.Child.audience()
	case t.open() || t.MXCount > eval.MaxMX || t.Dynamic && t.unsure:
		return Unknown, true
	case t.Dynamic || len(t.Networks) > 0:
		return Some, false
	default:
		return Nobody, false
	}
}

// fails reports whether every evaluation of a record ends in permerror, given that it ends in an error before any host
// passes.
func (n *Node) fails() bool {
	switch n.State {
	case NodeUnknown, NodeCut, NodeDynamic:
		return false
	case NodeFound:
		if len(n.Faults) > 0 {
			return true
		}
	default:
		return n.broken()
	}
	for _, t := range n.inOrder() {
		matched, stops := t.audience()
		switch {
		case stops && t.Child != nil:
			return matched == Unknown && t.Child.fails()
		case stops:
			return t.MXCount > eval.MaxMX && !t.open()
		case matched != Nobody: // hosts that it matches get another result
			return false
		}
	}
	return false
}
