package spf

import (
	"cmp"
	"iter"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

// Via says how the record of a domain is reached: root, include or redirect.
type Via string

// The ways.
const (
	ViaRoot     Via = "root"     // it is the one that is examined
	viaInclude  Via = "include"  // from a record that includes it
	viaRedirect Via = "redirect" // from a record that hands over to it
)

// Values lists the ways.
func (Via) Values() []string { return diag.Values(ViaRoot, viaInclude, viaRedirect) }

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
	Parsed *eval.Record       // nil unless State is NodeFound
	Faults []eval.SyntaxError // of Parsed
	Terms  []*ResolvedTerm    // those of Parsed

	parent   *Node
	lead     *eval.Term // of the root, which leads here; nil at the root
	void     bool       // the name has no TXT records at all
	absent   bool       // the name does not exist
	dangling bool       // nor does the domain above it that can be registered
	nearCost int        // DNS lookups of the terms of that record
	near     string     // what was probably meant, as a service that differs by one letter, and has a record; may be empty
	unsure   bool       // the name servers did not say whether that domain exists, or what near has
}

// A ResolvedTerm is a term with what the DNS says of it, whatever the mail.
type ResolvedTerm struct {
	*eval.Term
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

// Lookups is how many DNS lookups the term counts: its own, and those of all that it leads to.
func (t *ResolvedTerm) Lookups() int {
	if !t.Reached {
		return 0
	}
	if t.Child != nil {
		return t.Cost() + t.Child.CumulativeLookups
	}
	return t.Cost()
}

// A Tree is all the records that one record leads to, whatever the mail.
type Tree struct{ Root *Node }

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

// voids names the terms that count as a void lookup, as one of the tests tells: Void, Void4, Void6.
func (t *Tree) voids(is func(*ResolvedTerm) bool) (list []string) {
	for n, r := range t.terms() {
		switch text := diag.Quote(r.Raw); {
		case !is(r):
		case n.Depth > 0:
			list = append(list, text+" of "+diag.Quote(n.Domain))
		default:
			list = append(list, text)
		}
	}
	return list
}

func void(t *ResolvedTerm) bool { return t.Void }

// complete reports whether the tree holds all that the DNS has, independent of the mail: no server was
// silent, nothing was cut. What depends on the mail is not part of a tree.
func (t *Tree) complete() bool {
	return !slices.ContainsFunc(t.Nodes(), func(n *Node) bool {
		return n.State == NodeUnknown || n.State == NodeCut || slices.ContainsFunc(n.Terms, (*ResolvedTerm).open)
	})
}

// isUnsure reports whether the name servers did not say what other names than those in a record have.
func (n *Node) isUnsure() bool {
	return n.unsure || n.find(func(t *ResolvedTerm) bool { return t.unsure }) != nil
}

// open reports whether it is not known what the term stands for.
func (t *ResolvedTerm) open() bool { return t.Err != nil || t.Cut }

// authorized returns the addresses that pass, as far as that does not depend on the mail: terms that do
// are taken not to match. Terms before others that fail take addresses away, as they do in an
// evaluation; limits and errors are not regarded.
func (t *Tree) authorized() Set { return t.Root.passing() }

func (n *Node) passing() Set {
	var passed Set
	left := everything
	for i := 0; i < len(n.Terms); {
		// Terms of one sign in a row are as one.
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

func (n *Node) leadsBack() bool {
	for at := n.parent; at != nil; at = at.parent {
		if strings.EqualFold(cmp.Or(at.Domain, unknownDomain), n.Domain) {
			return true
		}
	}
	return false
}

// Modifier returns the modifier of a record, if it has one that receivers regard.
func (n *Node) Modifier(name eval.Name) *ResolvedTerm {
	return n.find(func(t *ResolvedTerm) bool { return t.Reached && t.Kind == eval.Modifier && t.Name == name })
}

func (n *Node) find(is func(*ResolvedTerm) bool) *ResolvedTerm {
	if i := slices.IndexFunc(n.Terms, is); i >= 0 {
		return n.Terms[i]
	}
	return nil
}

// breaks reports whether a record, or one that it leads to, makes evaluations end in permerror, or lets everybody pass.
func (n *Node) breaks() bool {
	everyone := func(t *ResolvedTerm) bool { return t.Everyone && t.Reached && t.Qualifier == eval.QualifierPass }
	return n.broken() || slices.ContainsFunc(n.Terms, everyone) || slices.ContainsFunc(n.Children, (*Node).breaks)
}

func (n *Node) holds(other *Node) bool {
	return slices.ContainsFunc(n.Children, func(c *Node) bool {
		return c.Via == viaInclude && strings.EqualFold(c.Domain, other.Domain) || c.holds(other)
	})
}

func (n *Node) dynamic() bool {
	depends := func(t *ResolvedTerm) bool { return t.Reached && t.Dynamic && t.Name.Counted() }
	return slices.ContainsFunc(n.Terms, depends) || slices.ContainsFunc(n.Children, (*Node).dynamic)
}

// plainInclude reports whether a term includes a record that was found, with the sign +.
func plainInclude(t *ResolvedTerm) bool {
	return t.Name == eval.Include && t.Reached && t.Child != nil && t.Child.State == NodeFound && t.Qualifier == eval.QualifierPass
}

// matches returns the addresses that the term matches, as far as that does not depend on the mail.
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

// known reports whether it is known which addresses pass by a record, but for what depends on the mail.
func (n *Node) known() bool {
	unknown := func(c *Node) bool { return !c.known() }
	return n.State != NodeUnknown && n.State != NodeCut && n.State != NodeDynamic &&
		!slices.ContainsFunc(n.Terms, (*ResolvedTerm).open) && !slices.ContainsFunc(n.Children, unknown)
}
