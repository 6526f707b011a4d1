package hostedspf

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

var everyone = spf.SetOf(netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0"))

// An outline is the meaning of a record, without the DNS as far as possible: items that are tried in order, of which
// the first match decides, and the result without a match.
type outline struct {
	items []item
	all   eval.Qualifier // of the result without a match; empty if the record does not specify it
	last  *keptTerm      // redirect, where it is kept; then all is empty
	exp   string         // the modifier exp, or empty
	// relative is the term of the source record itself that means something else in any other, or nil.
	relative *spf.ResolvedTerm
}

// An item matches addresses, or whatever a kept term matches.
type item struct {
	qualifier eval.Qualifier
	set       spf.Set
	kept      *keptTerm // nil: the item is the set
}

// A keptTerm is a term that cannot be replaced by addresses.
type keptTerm struct {
	name    eval.Name
	text    string // the term to publish, without a sign
	written string // as it was written
	domain  string // whose record has it
	reason  reason
	lookups int  // that it costs, with all that it leads to
	atLeast bool // it leads to a record that depends on the mail, which costs more
}

type reason string

const (
	byMacro   reason = "macro"   // its target depends on the message
	byExists  reason = "exists"  // it must be queried each time
	byPTR     reason = "ptr"     // it depends on the names of the client
	byContent reason = "content" // the record that it includes has such terms, and cannot be taken apart
)

func outlineOf(tree *spf.Tree) outline {
	var o outline
	if i := slices.IndexFunc(tree.Root.Terms, relative); i >= 0 {
		o.relative = tree.Root.Terms[i]
	}
	o.follow(tree.Root)
	o.tidy()
	return o
}

// relative reports whether a kept term means something else in another record: it has the macro p.
func relative(t *spf.ResolvedTerm) bool {
	decides := t.Kind == eval.Mechanism || t.Name == eval.Redirect
	return t.Reached && decides && t.Uses("p")
}

// mustKeep returns why a term by itself cannot be replaced by addresses. Only the macro d does not depend on the
// message: o is the domain of the sender, which is another one where the record is included.
func mustKeep(t *spf.ResolvedTerm) (reason, bool) {
	switch {
	case t.Uses("slopihvcrt"):
		return byMacro, true
	case t.Name == eval.Exists:
		return byExists, true
	case t.Name == eval.PTR:
		return byPTR, true
	default:
		return "", false
	}
}

// keep converts a term of the record of a domain for use in any other.
func keep(domain string, t *spf.ResolvedTerm, why reason) *keptTerm {
	bound := t.Bind(domain)
	bound.Qualifier = eval.QualifierPass
	return &keptTerm{
		name: t.Name, text: bound.String(), written: t.Raw, domain: domain, reason: why, lookups: t.Lookups(),
		atLeast: t.Child != nil && t.Child.State == spf.NodeDynamic,
	}
}

// follow adds a record that decides for the outline: the source record itself, or the target of a redirect.
func (o *outline) follow(n *spf.Node) {
	o.items = append(o.items, alternatives(n)...)
	if t := n.Modifier(eval.Exp); t != nil && o.exp == "" {
		o.explain(n.Domain, t)
	}
	if t := n.Modifier(eval.Redirect); t != nil {
		o.redirect(n, t)
	}
}

// alternatives returns items with the signs of the mechanisms of a record: the first item that matches
// decides as the first mechanism does that matches. Addresses in a row with the same sign are one item.
func alternatives(n *spf.Node) []item {
	var items []item
	var run []netip.Prefix
	var sign eval.Qualifier
	flush := func() {
		if len(run) > 0 {
			items = append(items, item{qualifier: sign, set: spf.SetOf(run...)})
		}
		run = nil
	}
	for _, t := range n.Terms {
		why, kept := mustKeep(t)
		if !t.Reached || t.Kind != eval.Mechanism {
			continue
		}
		if sign != t.Qualifier {
			flush()
			sign = t.Qualifier
		}
		switch {
		case kept:
			flush()
			items = append(items, item{sign, spf.Set{}, keep(n.Domain, t, why)})
		case t.Name == eval.All:
			flush()
			items = append(items, item{qualifier: sign, set: everyone})
		case t.Name == eval.Include:
			flush()
			inner, ok := passing(t.Child) // of which at least one matches if and only if the include does
			if !ok {
				inner = []item{{kept: keep(n.Domain, t, byContent)}}
			}
			for _, one := range inner {
				one.qualifier = sign
				items = append(items, one)
			}
		default:
			run = append(run, t.Networks...)
		}
	}
	flush()
	return items
}

// maxExp bounds the modifier exp, in bytes, because it is in each record that can fail. A longer one is dropped: it
// does not affect the result.
const maxExp = 100

func (o *outline) explain(domain string, t *spf.ResolvedTerm) {
	bound := t.Bind(domain)
	if text := bound.String(); len(text) <= maxExp {
		o.exp = text
	}
}

// redirect continues with the target record of a redirect, or keeps the term.
func (o *outline) redirect(n *spf.Node, t *spf.ResolvedTerm) {
	why, kept := mustKeep(t)
	if slices.ContainsFunc(t.Child.Terms, relative) {
		why, kept = byContent, true
	}
	if kept {
		o.last = keep(n.Domain, t, why)
		return
	}
	o.follow(t.Child)
}

// passing returns items of which at least one matches if and only if the record of a node passes (RFC 7208 section
// 5.2), and false without such a list.
//
// Addresses that the record fails first are removed from those that it passes later. Kept terms cannot be cut like
// this: if one would have to be cut, or removed from later addresses, there is no list.
func passing(n *spf.Node) ([]item, bool) {
	var p passage
	if slices.ContainsFunc(n.Terms, relative) {
		return nil, false
	}
	for _, one := range alternatives(n) {
		p.add(one)
	}
	if t := n.Modifier(eval.Redirect); t != nil {
		for _, one := range handover(n, t) {
			p.add(one)
		}
	}
	return p.items, !p.impossible
}

// handover returns items for a redirect in a record that is included: there it is the same as an include at
// the end, for all that counts is whether it passes.
func handover(n *spf.Node, t *spf.ResolvedTerm) []item {
	why, kept := mustKeep(t)
	if !kept {
		if items, ok := passing(t.Child); ok {
			return items
		}
		why = byContent
	}
	one := keep(n.Domain, t, why)
	one.name, one.text = eval.Include, "include:"+strings.TrimPrefix(one.text, "redirect=")
	return []item{{eval.QualifierPass, spf.Set{}, one}}
}

// A passage collects the items that a record passes, term by term.
type passage struct {
	items      []item
	passed     spf.Set
	blocked    spf.Set // addresses that got another result before they could pass
	open       bool    // a kept term may have come to another result before
	impossible bool
}

func (p *passage) add(one item) {
	pass := one.qualifier == eval.QualifierPass
	switch {
	case one.kept != nil && !pass:
		p.open = true
		// It could end in permerror: the record that it includes may be missing, or mx find too many exchangers. Left out,
		// it would be missed.
		p.impossible = p.impossible || one.kept.name == eval.Include || one.kept.name == eval.MX
		return
	case one.kept != nil:
		p.impossible = p.impossible || p.open || !p.blocked.IsEmpty()
	case !pass:
		p.blocked = p.blocked.Union(one.set.Minus(p.passed))
		return
	default:
		one.set = one.set.Minus(p.blocked)
		if one.set.IsEmpty() {
			return
		}
		p.impossible = p.impossible || p.open
		p.passed = p.passed.Union(one.set)
		if n := len(p.items); n > 0 && p.items[n-1].kept == nil {
			p.items[n-1].set = p.items[n-1].set.Union(one.set)
			return
		}
	}
	p.items = append(p.items, one)
}

type fault struct {
	kind   faultKind
	name   string // of the domain or host concerned
	detail string // a clause that names it
}

type faultKind string

const (
	silent faultKind = "silent" // name servers did not say
	broken faultKind = "broken" // receivers end in permerror
	large  faultKind = "large"  // the tree is too large
	own    faultKind = "own"    // the source record refers to its own flattened records
)

const maxFaults = 20

// faultsOf lists the faults of a tree. Those of explanations do not matter: they do not affect the result.
func faultsOf(tree *spf.Tree, host string) []fault {
	var list []fault
	for _, n := range tree.Nodes() {
		if f, ok := nodeFault(n, host); ok {
			list = append(list, f)
		}
		for _, t := range n.Terms {
			if f, ok := termFault(t); ok {
				list = append(list, f)
			}
		}
		if len(list) >= maxFaults {
			return list[:maxFaults]
		}
	}
	return list
}

func nodeFault(n *spf.Node, host string) (fault, bool) {
	name := phrase.Quote(n.Domain)
	switch {
	case n.Via != spf.ViaRoot && belongs(n.Domain, host):
		return fault{own, name, "the flat records themselves are published at " + name}, true
	case n.State == spf.NodeUnknown:
		return fault{silent, name, "the SPF record of " + name + " could not be looked up: " + n.Error}, true
	case n.State == spf.NodeCut:
		return fault{large, name, "there is too much to look up: " + name + " was not examined"}, true
	case n.State == spf.NodeFound && len(n.Faults) > 0:
		return fault{broken, name, "the SPF record of " + name + " has an error: " + n.Faults[0].Text}, true
	case n.State == spf.NodeNone:
		return fault{broken, name, "there is no SPF record at " + name + ": " + n.Error}, true
	case n.State == spf.NodeMultiple, n.State == spf.NodeLoop, n.State == spf.NodeMalformed:
		return fault{broken, name, "the record of " + name + " cannot be evaluated: " + n.Error}, true
	default:
		return fault{}, false
	}
}

var partLabel = kit.Regexp(`^_[a-z2-7]{8}$`)

func belongs(name, host string) bool {
	name = strings.ToLower(name)
	first, rest, _ := strings.Cut(name, ".")
	return name == host || rest == host && partLabel().MatchString(first)
}

func termFault(t *spf.ResolvedTerm) (fault, bool) {
	name := phrase.Quote(t.Target)
	switch {
	case !t.Reached || t.Kind != eval.Mechanism || t.Child != nil: // that of a child is one of its node
		return fault{}, false
	case t.Err != nil:
		for _, h := range t.Hosts {
			if h.Err != nil {
				name = phrase.Quote(h.Name)
			}
		}
		detail := fmt.Sprintf("the lookup of %s for %s failed: %v", name, phrase.Quote(t.Raw), t.Err)
		return fault{silent, name, detail}, true
	case t.Cut:
		return fault{large, name, "there is too much to look up: " + phrase.Quote(t.Raw) + " was not examined"}, true
	case t.MXCount > eval.MaxMX: // RFC 7208 section 4.6.4
		detail := fmt.Sprintf("there are %d mail exchangers behind %s, and receivers accept %d", t.MXCount, name, eval.MaxMX)
		return fault{broken, name, detail}, true
	default:
		return fault{}, false
	}
}

func (o *outline) kept() []*keptTerm {
	var list []*keptTerm
	for _, one := range o.items {
		if one.kept != nil {
			list = append(list, one.kept)
		}
	}
	if o.last != nil {
		list = append(list, o.last)
	}
	return list
}

// tidy makes the outline as short as it can be with the same result for every address: consecutive sets with the same
// sign are merged, and items that can never decide are removed.
func (o *outline) tidy() {
	var items []item
	var decided spf.Set // addresses that do not come further
	for _, one := range o.items {
		if one.kept != nil {
			items = append(items, one)
			continue
		}
		rest := one.set.Minus(decided)
		if rest.IsEmpty() {
			continue
		}
		if n := len(items); n > 0 && items[n-1].kept == nil && items[n-1].qualifier == one.qualifier {
			items[n-1].set = items[n-1].set.Union(one.set)
			one = items[n-1]
		} else {
			items = append(items, one)
		}
		if decided = decided.Union(one.set); decided.Equal(everyone) {
			o.all, o.last = one.qualifier, nil // all that is left comes here
			break
		}
	}
	for o.last == nil && len(items) > 0 {
		if last := items[len(items)-1]; last.kept != nil || last.qualifier.Outcome() != o.otherwise() {
			break
		}
		items = items[:len(items)-1]
	}
	o.items = items
}

// otherwise is the result if nothing matches (RFC 7208 section 4.7).
func (o *outline) otherwise() eval.Outcome {
	if o.all == "" {
		return eval.Neutral
	}
	return o.all.Outcome()
}
