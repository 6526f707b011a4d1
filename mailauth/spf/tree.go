package spf

import (
	"net/netip"
	"slices"
)

// Via says how the record of a domain is reached.
type Via string

// The ways.
const (
	ViaRoot     Via = "root"     // it is the one that is examined
	viaInclude  Via = "include"  // from a record that includes it
	viaRedirect Via = "redirect" // from a record that hands over to it
)

// Values lists the ways.
func (Via) Values() []string {
	return []string{string(ViaRoot), string(viaInclude), string(viaRedirect)}
}

// A NodeState says what was found at a node of the tree.
type NodeState string

// The states of a node.
const (
	NodeFound     NodeState = "found"     // a record, though it may have errors
	NodeNone      NodeState = "none"      // no record
	NodeMultiple  NodeState = "multiple"  // several records
	NodeUnknown   NodeState = "unknown"   // the name servers did not say
	NodeLoop      NodeState = "loop"      // the domain is being evaluated already
	NodeMalformed NodeState = "malformed" // that is no name of a domain
	NodeDynamic   NodeState = "dynamic"   // the name depends on the mail
	NodeCut       NodeState = "cut"       // not looked at: the tree is too large
)

// A Node is the record of one domain in the tree of all records that one record leads to.
type Node struct {
	Domain            string // or what stands for it where that depends on the mail
	Via               Via
	Depth             int    // levels below the record that is examined
	Record            string // as it is published, if there is exactly one
	DNSLookups        int    // of the terms of this record
	CumulativeLookups int    // those of this record and all below
	Error             string // why it cannot be evaluated
	Children          []*Node

	State  NodeState
	Parsed *Record        // nil unless State is NodeFound
	Faults []SyntaxError  // of Parsed
	Terms  []ResolvedTerm // those of Parsed

	parent   *Node
	lead     *Term  // of the root, which leads here; nil at the root
	void     bool   // the name has no TXT records at all
	absent   bool   // the name does not exist
	dangling bool   // nor does the domain above it that can be registered
	nearCost int    // DNS lookups of the terms of that record
	near     string // the domain of a service that differs by one letter, and has a record; may be empty
	unsure   bool   // the name servers did not say whether that domain exists, or what near has
}

// A ResolvedTerm is a term with what the DNS says of it, whatever the mail.
type ResolvedTerm struct {
	*Term
	// Reached says that receivers come to the term, if none before it matches: it is valid, does not
	// stand behind all, and is no redirect beside all.
	Reached bool

	Target   string         // the domain that it is about; empty for ip4, ip6, all and unknown modifiers
	Dynamic  bool           // what it stands for depends on the mail: macros, ptr
	Dangling bool           // the registrable domain of Target does not exist
	Networks []netip.Prefix // that it matches: of ip4 and ip6, or around the addresses that were found
	Everyone bool           // it matches every address: all, or exists with a name that does exist
	Hosts    []Host         // of a and mx
	MXCount  int            // records that mx found
	Void     bool           // the DNS has nothing for it
	Void4    bool           // likewise for clients with IPv4; implied by Void
	Void6    bool           // likewise for clients with IPv6; implied by Void
	unsure   bool           // the name servers did not say whether it is dangling
	Err      error          // the name servers did not say
	Cut      bool           // not looked at: the tree is too large
	Child    *Node          // of include and redirect
	Asked    bool           // of exp: its text was asked for, which is not done in records that are included
	Texts    []string       // of exp: the TXT records at the target
}

// A Host is one whose addresses a term stands for.
type Host struct {
	Name      string
	Addresses []netip.Addr
	Err       error // why it is not known whether it has more
}

// Lookups is how many DNS lookups the term counts: its own, and those of all that it leads to.
func (t *ResolvedTerm) Lookups() int {
	if !t.Reached {
		return 0
	}
	if t.Child != nil {
		return t.cost() + t.Child.CumulativeLookups
	}
	return t.cost()
}

// A Tree is all the records that one record leads to, whatever the mail.
type Tree struct {
	Root      *Node
	Questions int // that were asked of the DNS
}

// Nodes lists the nodes, each before those below it, in order.
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

// Voids counts the terms of the tree for which the DNS has nothing, for clients of either family.
func (t *Tree) Voids() int { return t.count(func(r *ResolvedTerm) bool { return r.Void }) }

// Voids4 and Voids6 count those for which it has nothing for clients of one family, as receivers do.
func (t *Tree) Voids4() int { return t.count(func(r *ResolvedTerm) bool { return r.Void4 }) }

// Voids6 counts the terms for which the DNS has nothing for clients with IPv6.
func (t *Tree) Voids6() int { return t.count(func(r *ResolvedTerm) bool { return r.Void6 }) }

func (t *Tree) count(is func(*ResolvedTerm) bool) int {
	count := 0
	for _, n := range t.Nodes() {
		for i := range n.Terms {
			if is(&n.Terms[i]) {
				count++
			}
		}
	}
	return count
}

// Complete reports whether the tree holds all that the DNS has, independent of the mail: no server was
// silent, nothing was cut. What depends on the mail is not part of a tree.
func (t *Tree) Complete() bool {
	for _, n := range t.Nodes() {
		if n.State == NodeUnknown || n.State == NodeCut {
			return false
		}
		for i := range n.Terms {
			if r := &n.Terms[i]; r.Err != nil || r.Cut {
				return false
			}
		}
	}
	return true
}

// Authorized returns the addresses that pass, as far as that does not depend on the mail: terms that do
// are taken not to match. Terms before others that fail take addresses away, as they do in an
// evaluation; limits and errors are not regarded.
func (t *Tree) Authorized() Set { return t.Root.passing() }

// passing returns the addresses for which the record of the node passes.
func (n *Node) passing() Set {
	var passed Set
	left := everything
	for i := 0; i < len(n.Terms); {
		// Terms of one sign in a row are as one.
		sign := n.Terms[i].Qualifier
		var hit Set
		var networks []netip.Prefix
		for ; i < len(n.Terms) && n.Terms[i].Qualifier == sign; i++ {
			switch t := &n.Terms[i]; {
			case !t.Reached || t.Kind != Mechanism:
			case t.Everyone:
				hit = everything
			case t.Name == Include:
				hit = hit.Union(t.Child.passing())
			default:
				networks = append(networks, t.Networks...)
			}
		}
		hit = hit.Union(SetOf(networks...))
		if sign == QualifierPass {
			passed = passed.Union(left.Intersect(hit))
		}
		left = left.Minus(hit)
	}
	for i := range n.Terms {
		if t := &n.Terms[i]; t.Reached && t.Name == Redirect && t.Child != nil {
			passed = passed.Union(left.Intersect(t.Child.passing()))
		}
	}
	return passed
}

// sum adds up the costs, from the leaves to the root.
func (n *Node) sum() {
	n.DNSLookups, n.CumulativeLookups = 0, 0
	for _, c := range n.Children {
		c.sum()
	}
	for i := range n.Terms {
		if t := &n.Terms[i]; t.Reached {
			n.DNSLookups += t.cost()
			n.CumulativeLookups += t.Lookups()
		}
	}
}

// path lists the domains from the root to the node.
func (n *Node) path() []string {
	var list []string
	for at := n; at != nil; at = at.parent {
		list = append(list, at.Domain)
	}
	slices.Reverse(list)
	return list
}

// broken reports whether the record of the node makes an evaluation that comes to it end in permerror,
// as far as that is certain.
func (n *Node) broken() bool {
	switch n.State {
	case NodeNone, NodeMultiple, NodeLoop, NodeMalformed:
		return true
	default:
		return len(n.Faults) > 0
	}
}
