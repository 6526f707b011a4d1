package spf

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
	"golang.org/x/net/publicsuffix"
)

// The bounds of a tree. Trees in use have up to 30 terms on 5 levels, far beyond what receivers follow.
const (
	MaxTerms     = 100 // terms that need the DNS, in all records together
	maxDepth     = 20  // levels below the root
	MaxQuestions = 100 // questions to the DNS
	// maxTreeLength is how much of all records together is read, in bytes. The records of a tree in use
	// have up to 20 KiB.
	maxTreeLength = 64 << 10
)

// Walk fetches the tree of a domain. If record is not empty, it stands for the one that the domain publishes.
//
// The tree does not depend on a mail: of the macros only d and o are known, and it is meant for the
// identity MAIL FROM, for which o is the domain itself. Servers that do not answer leave a mark in the
// tree; the error is that of the context if it ended.
func Walk(ctx context.Context, env *diag.Env, domain diag.Domain, record string) (*Tree, error) {
	lookups, cancel := diag.Within(ctx, Timeout)
	defer cancel()
	tree := walk(newLookups(lookups, env, MaxQuestions), domain.String(), record)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("walking over the SPF records of %s: %w", domain, err)
	}
	return tree, nil
}

// walk fetches a tree with all that the lookups may ask; without them, when nil, it is what the text of
// the record alone tells.
func walk(l *lookups, domain, record string) *Tree {
	var g diag.Group
	w := &walker{
		dns: l, group: &g, v4: true, v6: true, terms: MaxTerms, room: maxTreeLength, known: "do", thorough: true, examined: domain,
	}
	w.value = func(letter byte, current string) string {
		if letter == 'o' {
			current = domain
		}
		return cmp.Or(current, "unknown.invalid") // a record without a domain is looked at, not looked up
	}
	root := &Node{Domain: domain, Via: ViaRoot, State: NodeCut}
	switch {
	case record != "":
		root.Parsed, root.Faults = Parse(record)
		w.read(root, record)
	case l.reserve(domain, dns.TypeTXT):
		w.fetch(root)
	}
	g.Wait()
	root.sum()
	return &Tree{Root: root, Questions: l.asked()}
}

// lookAhead asks at once for what the rest of an evaluation will probably need. What depends on the
// host names of the client is left out.
func (e *evaluation) lookAhead(record *Record, domain string) {
	if e.ahead == nil {
		return
	}
	w := &walker{
		dns: e.dns, group: e.ahead, v4: e.ip.Is4(), v6: e.ip.Is6(), terms: MaxLookups, room: maxTreeLength,
		known: strings.ReplaceAll(explanationLetters, "p", ""), value: e.value,
	}
	e.ahead = nil // the walk goes on into other records by itself
	root := &Node{Domain: domain, State: NodeFound, Parsed: record}
	w.follow(root)
}

// A walker fetches the records of a tree. Each record is followed as soon as it is there.
type walker struct {
	dns    *lookups
	group  *diag.Group
	known  string // letters of the macros that can be expanded
	value  func(letter byte, domain string) string
	v4, v6 bool // families of addresses that are asked for

	examined string // the domain, which exists
	thorough bool   // explanations and unregistered domains are asked for

	mu    sync.Mutex
	terms int // that may still be followed
	room  int // for records, in bytes
}

// fetch asks for the record of a node and follows it.
func (w *walker) fetch(n *Node) {
	p := w.dns.published(n.Domain)
	switch {
	case p.answer.Err() != nil:
		n.State, n.Error = NodeUnknown, failure(p.answer).Error()
	case len(p.records) == 0:
		n.State, n.Error, n.void = NodeNone, "there is no SPF record", len(p.answer.Records) == 0
		if n.absent = p.answer.NXDomain(); n.absent {
			n.Error = "the name does not exist"
			n.dangling, n.unsure = w.unregistered(n.Domain)
		}
		w.confirm(n)
	case len(p.records) > 1:
		n.State, n.Error = NodeMultiple, fmt.Sprintf("there are %d SPF records", len(p.records))
	default:
		n.Parsed, n.Faults = p.parsed, p.faults
		w.read(n, p.records[0])
	}
}

// read follows the record of a node, which has been parsed.
func (w *walker) read(n *Node, text string) {
	w.mu.Lock()
	w.room -= len(text)
	full := w.room < 0
	w.mu.Unlock()
	if full {
		n.State, n.Error, n.Parsed, n.Faults = NodeCut, tooLarge, nil, nil
		return
	}
	n.State, n.Record = NodeFound, text
	if len(n.Faults) > 0 {
		n.Error = n.Faults[0].Text
	}
	w.follow(n)
}

// follow asks for what the terms of a record need, all at once.
func (w *walker) follow(n *Node) {
	n.Terms = make([]ResolvedTerm, len(n.Parsed.Terms))
	final := n.Parsed.find(All) != nil
	behind := false
	for i := range n.Terms {
		t := &n.Terms[i]
		t.Term = &n.Parsed.Terms[i]
		t.Reached = t.Valid && !(t.Kind == Mechanism && behind) && !(t.Name == Redirect && final)
		behind = behind || t.Name == All && t.Valid
		if t.Reached {
			w.resolve(n, t)
		}
	}
}

// resolve finds out what a term stands for.
func (w *walker) resolve(n *Node, t *ResolvedTerm) {
	switch t.Name {
	case All:
		t.Everyone = true
		return
	case ip4, ip6:
		t.Networks = append(t.Networks, t.Network.Masked())
		return
	case PTR:
		t.Dynamic = true
	case Exp:
		w.explanation(n, t)
	}
	if !t.Name.Counted() {
		return
	}
	fixed := w.target(n, t)
	t.Dynamic = t.Dynamic || !fixed
	w.mu.Lock()
	if w.terms--; w.terms < 0 {
		t.Cut = true
	}
	w.mu.Unlock()
	if t.Name == Include || t.Name == Redirect {
		w.descend(n, t, fixed)
		return
	}
	if t.Dynamic || t.Cut || malformed(t.Target) != "" {
		return
	}
	qtypes := []uint16{dns.TypeMX}
	switch t.Name {
	case a:
		qtypes = w.families()
	case Exists:
		qtypes = []uint16{dns.TypeA}
	}
	if t.Cut = !w.dns.reserve(t.Target, qtypes...); t.Cut {
		return
	}
	w.group.Go(func() {
		switch t.Name {
		case a:
			w.resolveA(t)
		case MX:
			w.resolveMX(t)
		default:
			w.resolveExists(t)
		}
	})
}

// explanation asks for the text of exp. That of a record that is included is never used (RFC 7208 section
// 6.2).
func (w *walker) explanation(n *Node, t *ResolvedTerm) {
	fixed := w.target(n, t)
	t.Dynamic = !fixed
	for at := n; at != nil; at = at.parent {
		if at.Via == viaInclude {
			return
		}
	}
	if !w.thorough || !fixed || malformed(t.Target) != "" || !w.dns.reserve(t.Target, dns.TypeTXT) {
		return
	}
	w.group.Go(func() {
		p := w.dns.published(t.Target)
		t.Err, t.Texts, t.Asked = failure(p.answer), p.texts, true
	})
}

func (w *walker) families() []uint16 {
	var qtypes []uint16
	if w.v4 {
		qtypes = append(qtypes, dns.TypeA)
	}
	if w.v6 {
		qtypes = append(qtypes, dns.TypeAAAA)
	}
	return qtypes
}

// target finds the name that a term is about, and reports whether it is known.
func (w *walker) target(n *Node, t *ResolvedTerm) bool {
	if t.Value == "" {
		t.Target = n.Domain
		return true
	}
	for _, m := range t.spec {
		if m.letter != 0 && strings.IndexByte(w.known, m.letter) < 0 {
			t.Target = t.Value
			return false
		}
	}
	t.Target = fit(t.spec.expand(func(letter byte) string { return w.value(letter, n.Domain) }))
	return true
}

// descend goes to the record that a term leads to.
func (w *walker) descend(n *Node, t *ResolvedTerm, fixed bool) {
	c := &Node{Domain: t.Target, Via: Via(t.Name), Depth: n.Depth + 1, State: NodeFound, parent: n}
	if c.lead = n.lead; c.lead == nil {
		c.lead = t.Term
	}
	t.Child = c
	n.Children = append(n.Children, c)
	switch {
	case !fixed:
		c.State = NodeDynamic
	case undomain(t.Target) != "":
		c.State, c.Error = NodeMalformed, "that is no domain: "+undomain(t.Target)
	case c.leadsBack():
		c.State, c.Error = NodeLoop, "it leads back to itself: "+strings.Join(c.path(), " > ")
	case t.Cut || c.Depth > maxDepth || !w.dns.reserve(c.Domain, dns.TypeTXT):
		c.State, c.Error, t.Cut = NodeCut, tooLarge, true
	default:
		c.State = NodeUnknown
		near := w.near(c.Domain)
		if c.near = near; near != "" {
			w.group.Go(func() { w.dns.published(near) }) // so that nobody waits for it later
		}
		w.group.Go(func() {
			w.fetch(c)
			t.Void, t.Void4, t.Void6 = c.void, c.void, c.void
			t.Dangling = c.dangling
		})
	}
}

// tooLarge says why a record was not looked at.
const tooLarge = "it was not looked at: the tree is too large"

// leadsBack reports whether the domain of the node is that of one above.
func (n *Node) leadsBack() bool {
	for at := n.parent; at != nil; at = at.parent {
		if strings.EqualFold(at.Domain, n.Domain) {
			return true
		}
	}
	return false
}

// near returns the domain of a service that a name was probably meant to be, if it may be asked about.
func (w *walker) near(name string) string {
	if meant := meantProvider(name); w.thorough && meant != "" && w.dns.reserve(meant, dns.TypeTXT) {
		return meant
	}
	return ""
}

// confirm keeps the domain of a service that a name without a record was probably meant to be only if that one has a
// record.
func (w *walker) confirm(n *Node) {
	if n.near == "" {
		return
	}
	p := w.dns.published(n.near)
	n.unsure = n.unsure || p.answer.Err() != nil
	if len(p.records) != 1 || len(p.faults) > 0 {
		n.near = ""
		return
	}
	for i := range p.parsed.Terms {
		n.nearCost += p.parsed.Terms[i].cost()
	}
}

// unregistered reports whether the domain above a name that can be registered does not exist, so that
// anybody may register it, or whether that is not known. Evaluations do not ask.
func (w *walker) unregistered(name string) (yes, unsure bool) {
	if !w.thorough {
		return false, false
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(strings.ToLower(name))
	if err != nil || targetFault(domain) != "" || within(w.examined, domain) {
		return false, false
	}
	suffix, icann := publicsuffix.PublicSuffix(domain)
	if !icann && !strings.Contains(suffix, ".") || !w.dns.reserve(domain, dns.TypeSOA) {
		return false, false
	}
	answer := ask[*dns.SOA](w.dns, domain, dns.TypeSOA)
	return answer.NXDomain(), answer.Err() != nil
}

func (w *walker) resolveA(t *ResolvedTerm) {
	a := w.dns.addressesOf(t.Target, w.v4, w.v6)
	t.host(t.Target, a)
	t.Err = a.err
	if a.err == nil {
		t.Void4, t.Void6 = len(a.v4) == 0, len(a.v6) == 0
		t.Void = t.Void4 && t.Void6
		w.dangle(t)
	}
}

// dangle finds out whether anybody may register the domain of a term that finds nothing.
func (w *walker) dangle(t *ResolvedTerm) {
	if t.Void {
		t.Dangling, t.unsure = w.unregistered(t.Target)
	}
}

// host adds the addresses of a host.
func (t *ResolvedTerm) host(name string, a addresses) {
	h := Host{Name: name, Addresses: append(a.v4, a.v6...), Err: a.err}
	for _, ip := range h.Addresses {
		t.Networks = append(t.Networks, t.around(ip))
	}
	t.Hosts = append(t.Hosts, h)
}

// resolveMX finds the addresses of as many MX hosts as receivers look at.
func (w *walker) resolveMX(t *ResolvedTerm) {
	answer := ask[*dns.MX](w.dns, t.Target, dns.TypeMX)
	t.Err, t.MXCount = failure(answer), len(answer.Records)
	if t.Err != nil {
		return
	}
	t.Void = t.MXCount == 0
	t.Void4, t.Void6 = t.Void, t.Void
	w.dangle(t)
	names := mxHosts(answer)
	names = names[:min(len(names), MaxMX)]
	found := make([]addresses, len(names))
	var g diag.Group
	for i, name := range names {
		if t.Cut = t.Cut || !w.dns.reserve(name, w.families()...); !t.Cut {
			g.Go(func() { found[i] = w.dns.addressesOf(name, w.v4, w.v6) })
		}
	}
	g.Wait()
	for i, name := range names {
		t.host(name, found[i])
		if t.Err == nil {
			t.Err = found[i].err
		}
	}
}

// resolveExists finds out whether a name that does not depend on the mail exists: then it matches all.
func (w *walker) resolveExists(t *ResolvedTerm) {
	a := w.dns.addressesOf(t.Target, true, false)
	t.Err = a.err
	t.Everyone = len(a.v4) > 0
	t.Void = a.err == nil && !t.Everyone
	t.Void4, t.Void6 = t.Void, t.Void
	w.dangle(t)
}
