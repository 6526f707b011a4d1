package spf

import (
	"cmp"
	"iter"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

// Via is the way in which the record of a domain is reached: root, include or redirect.
type Via string

// The ways.
const (
	ViaRoot     Via = "root"     // it is the examined record
	ViaInclude  Via = "include"  // from a record that includes it
	ViaRedirect Via = "redirect" // from a record that redirects to it
)

// Values lists the ways.
func (Via) Values() []string { return kit.Values(ViaRoot, ViaInclude, ViaRedirect) }

// A NodeState is the lookup result at a node of the tree.
type NodeState string

// The states of a node.
const (
	NodeFound     NodeState = "found"     // a record, though it may have errors
	NodeNone      NodeState = "none"      // no record
	NodeMultiple  NodeState = "multiple"  // several records
	NodeUnknown   NodeState = "unknown"   // the name servers did not answer
	NodeLoop      NodeState = "loop"      // the domain is being evaluated already
	NodeMalformed NodeState = "malformed" // the name is not a domain name
	NodeDynamic   NodeState = "dynamic"   // the name depends on the message
	NodeCut       NodeState = "cut"       // not examined: the tree is too large
)

// A Node is the record of one domain in the tree of all records that one record leads to.
type Node struct {
	Domain            string // or a placeholder where it depends on the message
	Via               Via
	Depth             int    // levels below the examined record
	Record            string // as published, if there is exactly one
	DNSLookups        int    // of the terms of this record
	CumulativeLookups int    // those of this record and all below
	Error             string // why it cannot be evaluated
	Children          []*Node

	State  NodeState
	Parsed *eval.Record       // nil unless State is NodeFound
	Faults []eval.SyntaxError // of Parsed
	Terms  []*ResolvedTerm    // those of Parsed

	parent   *Node
	lead     *eval.Term // of the root, which leads here; nil at the root
	void     bool       // the name has no TXT records at all
	absent   bool       // the name does not exist
	dangling bool       // nor does its registrable domain
	nearCost int        // DNS lookups of the terms of that record
	near     string     // the probably intended name, such as of a service, if it has a record; may be empty
	unsure   bool       // the name servers did not answer whether that domain exists, or what near has
}

// A ResolvedTerm is a term with its DNS results, independent of the message.
type ResolvedTerm struct {
	*eval.Term
	// Reached means that receivers reach the term if no earlier one matches: it is valid, not behind all, and not a
	// redirect beside all.
	Reached bool

	Target   string         // its target domain; empty for ip4, ip6, all and unknown modifiers
	Dynamic  bool           // its target depends on the message: macros, ptr
	Dangling bool           // the registrable domain of Target does not exist
	Networks []netip.Prefix // that it matches: of ip4 and ip6, or around the addresses that were found
	Everyone bool           // it matches every address: all, or exists with a name that does exist
	Hosts    []Host         // of a and mx
	MXCount  int            // records that mx found
	Void     bool           // it is a void lookup
	Void4    bool           // likewise for clients with IPv4; implied by Void
	Void6    bool           // likewise for clients with IPv6; implied by Void
	unsure   bool           // the name servers did not answer whether it is dangling
	Err      error          // the name servers did not answer
	Cut      bool           // not examined: the tree is too large
	Child    *Node          // of include and redirect
	Asked    bool           // of exp: its text was queried, which does not happen in included records
	Texts    []string       // of exp: the TXT records at the target
}

// A Host is a host whose addresses a term matches.
type Host struct {
	Name      string
	Addresses []netip.Addr
	Err       error // why it is unknown whether it has more

	v4 int // addresses of IPv4, which are the first ones
}

func (t *ResolvedTerm) addHost(h Host) {
	for _, ip := range h.Addresses {
		t.Networks = append(t.Networks, t.Around(ip))
	}
	t.Hosts = append(t.Hosts, h)
}

// withoutAddress names the MX hosts of mx that have no address.
func (t *ResolvedTerm) withoutAddress() (names []string) {
	for _, h := range t.Hosts {
		if t.Name == eval.MX && len(h.Addresses) == 0 && h.Err == nil && !t.Cut {
			names = append(names, h.Name)
		}
	}
	return names
}

// Lookups returns how many DNS lookups the term counts: its own, and those of its subtree.
func (t *ResolvedTerm) Lookups() int {
	if !t.Reached {
		return 0
	}
	if t.Child != nil {
		return t.Cost() + t.Child.CumulativeLookups
	}
	return t.Cost()
}

// A Tree is all the records that one record leads to, independent of the message.
type Tree struct{ Root *Node }

// Nodes lists the nodes in order, parents before children.
func (t *Tree) Nodes() []*Node {
	var list []*Node
	var add func(*Node)
	add = func(n *Node) {
		list = append(list, n)
		for _, c := range n.Children {
			add(c)
		}
	}
	add(t.Root)
	return list
}

// terms are those of all nodes, in order.
func (t *Tree) terms() iter.Seq2[*Node, *ResolvedTerm] {
	return func(yield func(*Node, *ResolvedTerm) bool) {
		for _, n := range t.Nodes() {
			for _, r := range n.Terms {
				if !yield(n, r) {
					return
				}
			}
		}
	}
}

// voids names the terms that count as a void lookup by one of the fields Void, Void4, Void6.
func (t *Tree) voids(is func(*ResolvedTerm) bool) (list []string) {
	for n, r := range t.terms() {
		switch text := phrase.Quote(r.Raw); {
		case !is(r):
		case n.Depth > 0:
			list = append(list, text+" of "+phrase.Quote(n.Domain))
		default:
			list = append(list, text)
		}
	}
	return list
}

func void(t *ResolvedTerm) bool { return t.Void }

// complete reports whether the tree holds all DNS data that is independent of the message: no query went unanswered,
// and no part was cut. Data that depends on the message is not part of a tree.
func (t *Tree) complete() bool {
	return !slices.ContainsFunc(t.Nodes(), func(n *Node) bool {
		return n.State == NodeUnknown || n.State == NodeCut || slices.ContainsFunc(n.Terms, (*ResolvedTerm).open)
	})
}

// isUnsure reports whether a lookup of names other than those in the record went unanswered.
func (n *Node) isUnsure() bool {
	return n.unsure || n.find(func(t *ResolvedTerm) bool { return t.unsure }) != nil
}

// open reports whether the targets of the term are unknown.
func (t *ResolvedTerm) open() bool { return t.Err != nil || t.Cut }

// authorized returns the addresses that pass, as far as that does not depend on the message: terms that do are
// assumed not to match. Earlier terms that fail remove addresses, as in an evaluation; limits and errors are ignored.
func (t *Tree) authorized() Set { return t.Root.passing() }

func (n *Node) passing() Set {
	var passed Set
	left := everything
	for i := 0; i < len(n.Terms); {
		// Consecutive terms of one sign count as one.
		sign := n.Terms[i].Qualifier
		var hit Set
		var networks []netip.Prefix
		for ; i < len(n.Terms) && n.Terms[i].Qualifier == sign; i++ {
			switch t := n.Terms[i]; {
			case !t.Reached || t.Kind != eval.Mechanism:
			case t.Everyone:
				hit = everything
			case t.Name == eval.Include:
				hit = hit.Union(t.Child.passing())
			default:
				networks = append(networks, t.Networks...)
			}
		}
		hit = hit.Union(SetOf(networks...))
		if sign == eval.QualifierPass {
			passed = passed.Union(left.intersect(hit))
		}
		left = left.Minus(hit)
	}
	if t := n.Modifier(eval.Redirect); t != nil && t.Child != nil {
		passed = passed.Union(left.intersect(t.Child.passing()))
	}
	return passed
}

func (n *Node) sum() {
	n.DNSLookups, n.CumulativeLookups = 0, 0
	for _, c := range n.Children {
		c.sum()
	}
	for _, t := range n.Terms {
		if t.Reached {
			n.DNSLookups += t.Cost()
			n.CumulativeLookups += t.Lookups()
		}
	}
}

func (n *Node) path() []string {
	var list []string
	for at := n; at != nil; at = at.parent {
		list = append(list, at.Domain)
	}
	slices.Reverse(list)
	return list
}

// broken reports whether an evaluation that reaches the record of the node certainly ends in permerror.
func (n *Node) broken() bool {
	switch n.State {
	case NodeNone, NodeMultiple, NodeLoop, NodeMalformed:
		return true
	default:
		return len(n.Faults) > 0
	}
}

func (n *Node) leadsBack() bool {
	for at := n.parent; at != nil; at = at.parent {
		if strings.EqualFold(cmp.Or(at.Domain, unknownDomain), n.Domain) {
			return true
		}
	}
	return false
}

// Modifier returns the modifier of a record that receivers use, or nil.
func (n *Node) Modifier(name eval.Name) *ResolvedTerm {
	return n.find(func(t *ResolvedTerm) bool { return t.Reached && t.Kind == eval.Modifier && t.Name == name })
}

func (n *Node) find(is func(*ResolvedTerm) bool) *ResolvedTerm {
	if i := slices.IndexFunc(n.Terms, is); i >= 0 {
		return n.Terms[i]
	}
	return nil
}

// breaks reports whether a record, or one in its tree, makes evaluations end in permerror, or authorizes every host.
func (n *Node) breaks() bool {
	everyone := func(t *ResolvedTerm) bool { return t.Everyone && t.Reached && t.Qualifier == eval.QualifierPass }
	return n.broken() || slices.ContainsFunc(n.Terms, everyone) || slices.ContainsFunc(n.Children, (*Node).breaks)
}

func (n *Node) holds(other *Node) bool {
	return slices.ContainsFunc(n.Children, func(c *Node) bool {
		return c.Via == ViaInclude && strings.EqualFold(c.Domain, other.Domain) || c.holds(other)
	})
}

func (n *Node) dynamic() bool {
	depends := func(t *ResolvedTerm) bool { return t.Reached && t.Dynamic && t.Name.Counted() }
	return slices.ContainsFunc(n.Terms, depends) || slices.ContainsFunc(n.Children, (*Node).dynamic)
}

// plainInclude reports whether a term includes a record that was found, with the sign +.
func plainInclude(t *ResolvedTerm) bool {
	return t.Name == eval.Include && t.Reached && t.Child != nil && t.Child.State == NodeFound &&
		t.Qualifier == eval.QualifierPass
}

// matches returns the addresses that the term matches, as far as that does not depend on the message.
func (t *ResolvedTerm) matches() Set {
	switch {
	case t.Everyone:
		return everything
	case t.Name == eval.Include && t.Child != nil:
		return t.Child.passing()
	default:
		return SetOf(t.Networks...)
	}
}

// known reports whether the addresses that pass by a record are known, except for those that depend on the message.
func (n *Node) known() bool {
	unknown := func(c *Node) bool { return !c.known() }
	return n.State != NodeUnknown && n.State != NodeCut && n.State != NodeDynamic &&
		!slices.ContainsFunc(n.Terms, (*ResolvedTerm).open) && !slices.ContainsFunc(n.Children, unknown)
}
