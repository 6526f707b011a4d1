package spf

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
	"github.com/miekg/dns"
	"golang.org/x/net/publicsuffix"
)

// The bounds of a tree. Trees in use have up to 30 terms on 5 levels, far beyond what receivers follow.
const (
	maxDepth     = 20  // levels below the root
	MaxQuestions = 100 // DNS queries
	// maxTreeLength bounds the total size of the records that are read, in bytes. Trees in use have up to 20 KiB.
	maxTreeLength = 64 << 10
)

// Walk fetches the tree of a domain. If record is not empty, it replaces the published one.
//
// The tree does not depend on a message: only the macros d and o are known, and it applies to the identity MAIL FROM,
// for which o is the domain itself. Unanswered queries are marked in the tree; the error is that of the context if it
// ended.
func Walk(ctx context.Context, env *diag.Env, domain diag.Domain, record string) (*Tree, error) {
	bounded, cancel := diag.Within(ctx, eval.Timeout)
	defer cancel()
	tree := newWalker(eval.NewLookups(bounded, env), domain.String()).walk(record)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("walking over the SPF records of %s: %w", domain, err)
	}
	return tree, nil
}

// newWalker returns a walker that uses the lookups; if they are nil, trees are built from the text of the record
// alone.
func newWalker(l *eval.Lookups, domain string) *walker {
	return &walker{
		dns: l, domain: domain, terms: eval.MaxTerms, byteBudget: maxTreeLength, queryBudget: MaxQuestions,
		reserved: map[string]bool{},
	}
}

// walk fetches the tree of a record, or of the published one.
func (w *walker) walk(record string) *Tree {
	root := &Node{Domain: w.domain, Via: ViaRoot, State: NodeCut}
	switch {
	case record != "":
		root.Parsed, root.Faults = eval.Parse(record)
		w.read(root, record)
	case w.reserve(w.domain, dns.TypeTXT):
		w.fetch(root)
	}
	w.group.Wait()
	root.sum()
	return &Tree{Root: root}
}

// A walker fetches the records of a tree. Each record is followed as soon as it arrives.
type walker struct {
	dns    *eval.Lookups
	group  diag.Group
	domain string // of the root, which exists
	macros bool   // whether the parent names of those with macros are queried

	mu          sync.Mutex
	terms       int // that may still be followed
	byteBudget  int // for records, in bytes
	queryBudget int // queries that may still be sent
	reserved    map[string]bool
}

// reserve takes queries from the budget, and reports whether that was possible: not beyond the bound, and not without
// the DNS. Queries reserved earlier cost nothing.
func (w *walker) reserve(name string, qtypes ...uint16) bool {
	if w.dns == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var missing []string
	for _, t := range qtypes {
		if q := strings.ToLower(name) + " " + dns.Type(t).String(); !w.reserved[q] {
			missing = append(missing, q)
		}
	}
	if len(missing) > w.queryBudget {
		return false
	}
	w.queryBudget -= len(missing)
	for _, q := range missing {
		w.reserved[q] = true
	}
	return true
}

func (w *walker) fetch(n *Node) {
	p := published(w.dns, n.Domain)
	switch {
	case p.answer.Err() != nil:
		n.State, n.Error = NodeUnknown, eval.AnswerError(p.answer).Error()
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
		n.Parsed, n.Faults = eval.Parse(p.records[0])
		w.read(n, p.records[0])
	}
}

func (w *walker) read(n *Node, text string) {
	w.mu.Lock()
	w.byteBudget -= len(text)
	full := w.byteBudget < 0
	w.mu.Unlock()
	if full {
		n.State, n.Error, n.Parsed, n.Faults = NodeCut, tooLarge, nil, nil
		return
	}
	n.State, n.Record = NodeFound, text
	if len(n.Faults) > 0 {
		n.Error = n.Faults[0].Text
	}
	// The queries of all terms run concurrently.
	final, behind := n.Parsed.Find(eval.All) != nil, false
	for i := range n.Parsed.Terms {
		t := &ResolvedTerm{Term: &n.Parsed.Terms[i]}
		n.Terms = append(n.Terms, t)
		t.Reached = t.Valid && !(t.Kind == eval.Mechanism && behind) && !(t.Name == eval.Redirect && final)
		behind = behind || t.Name == eval.All && t.Valid
		if t.Reached {
			w.resolve(n, t)
		}
	}
}

func (w *walker) resolve(n *Node, t *ResolvedTerm) {
	fixed := w.target(n, t)
	t.Dynamic = !fixed || t.Name == eval.PTR
	switch t.Name {
	case eval.All:
		t.Everyone = true
	case eval.IP4, eval.IP6:
		t.Networks = append(t.Networks, t.Network.Masked())
	case eval.Exp:
		w.explanation(n, t)
	}
	if !t.Name.Counted() {
		return
	}
	w.mu.Lock()
	if w.terms--; w.terms < 0 {
		t.Cut = true
	}
	w.mu.Unlock()
	if t.Name == eval.Include || t.Name == eval.Redirect {
		w.descend(n, t)
		return
	}
	switch {
	case t.Cut || !t.Dynamic && eval.NameFault(t.Target) != "":
		return
	case t.Dynamic:
		w.queryParent(n, t, func(_ string, absent, known bool) {
			if t.unsure = !known; absent {
				t.Dynamic = false
				w.found(t, false, false)
			}
		})
		return
	}
	qtypes, ask := []uint16{dns.TypeA, dns.TypeAAAA}, w.resolveA
	switch t.Name {
	case eval.MX:
		qtypes, ask = []uint16{dns.TypeMX}, w.resolveMX
	case eval.Exists:
		qtypes, ask = []uint16{dns.TypeA}, w.resolveExists
	}
	if t.Cut = !w.reserve(t.Target, qtypes...); !t.Cut {
		w.group.Go(func() { ask(t) })
	}
}

// unknownDomain is the placeholder for the domain of a text without one, which is examined but not looked up.
const unknownDomain = "unknown.invalid"

func (w *walker) target(n *Node, t *ResolvedTerm) bool {
	switch {
	case !t.Name.Counted() && t.Name != eval.Exp:
		return true
	case t.Uses(varying):
		t.Target = t.Value
		return false
	}
	t.Target = t.Expand(n.Domain, w.value(n))
	return true
}

// varying are the macros whose values depend on the message.
const varying = "slipvhcrt"

// value returns the values of the other macros of a record.
func (w *walker) value(n *Node) func(letter byte) string {
	return func(letter byte) string {
		domain := n.Domain
		if letter == 'o' {
			domain = w.domain
		}
		return cmp.Or(domain, unknownDomain)
	}
}

// queryParent queries the common parent of all possible target names of a term with macros. If it does not exist,
// none of them does (RFC 8020 section 2), unless it is an alias, because the reply is then about another name.
func (w *walker) queryParent(n *Node, t *ResolvedTerm, found func(name string, absent, known bool)) {
	// Some servers answer wrongly for names in between, so the labels behind all macros are queried, if there are
	// any.
	name := cmp.Or(t.FixedEnd(varying+"do", nil), t.FixedEnd(varying, w.value(n)))
	exists := eval.Below(n.Domain, name) || eval.Below(w.domain, name) // their records were found
	if !w.macros || name == "" || exists || targetFault(name) != "" || t.Name == eval.PTR ||
		!w.reserve(name, dns.TypeTXT) {
		return
	}
	w.group.Go(func() {
		answer := eval.Ask[*dns.TXT](w.dns, name)
		found(name, answer.NXDomain() && len(answer.Aliases) == 0, answer.Err() == nil)
	})
}

// explanation queries the text of exp. That of an included record is never used (RFC 7208 section
// 6.2).
func (w *walker) explanation(n *Node, t *ResolvedTerm) {
	for at := n; at != nil; at = at.parent {
		if at.Via == ViaInclude {
			return
		}
	}
	if t.Dynamic || eval.NameFault(t.Target) != "" || !w.reserve(t.Target, dns.TypeTXT) {
		return
	}
	w.group.Go(func() {
		p := published(w.dns, t.Target)
		t.Err, t.Texts, t.Asked = eval.AnswerError(p.answer), p.texts, true
	})
}

func (w *walker) descend(n *Node, t *ResolvedTerm) {
	c := &Node{Domain: t.Target, Via: Via(t.Name), Depth: n.Depth + 1, State: NodeFound, parent: n}
	if c.lead = n.lead; c.lead == nil {
		c.lead = t.Term
	}
	t.Child = c
	n.Children = append(n.Children, c)
	switch {
	case t.Dynamic:
		c.State = NodeDynamic
		w.queryParent(n, t, func(name string, absent, known bool) {
			if c.unsure = !known; absent {
				c.State, c.Error, c.absent, t.Dynamic = NodeNone, "no name below "+name+" exists", true, false
				c.dangling, c.unsure = w.unregistered(name)
				t.Dangling, t.Void, t.Void4, t.Void6 = c.dangling, true, true, true
			}
		})
	case eval.DomainFault(t.Target) != "":
		c.State, c.Error = NodeMalformed, "that is not a domain name: "+eval.DomainFault(t.Target)
	case c.leadsBack():
		c.State, c.Error = NodeLoop, "it leads back to itself: "+strings.Join(c.path(), " > ")
	case t.Cut || c.Depth > maxDepth || !w.reserve(c.Domain, dns.TypeTXT):
		c.State, c.Error, t.Cut = NodeCut, tooLarge, true
	default:
		c.State = NodeUnknown
		// The probably intended name is queried concurrently, so that it causes no delay later.
		if near := cmp.Or(meantProvider(c.Domain), meantName(t)); near != "" && w.reserve(near, dns.TypeTXT) {
			c.near = near
			w.group.Go(func() { published(w.dns, near) })
		}
		w.group.Go(func() {
			w.fetch(c)
			t.Void, t.Void4, t.Void6 = c.void, c.void, c.void
			t.Dangling = c.dangling
		})
	}
}

// meantName returns the domain in a malformed term, as in include:https://_spf.example.net; empty if the term is
// well-formed.
func meantName(t *ResolvedTerm) string {
	text, _ := correctRecord(version + " " + t.Raw)
	record, _ := eval.Parse(text)
	if len(record.Terms) == 0 || record.Terms[0].Name != t.Name || strings.EqualFold(record.Terms[0].Value, t.Target) ||
		eval.DomainFault(record.Terms[0].Value) != "" {
		return ""
	}
	return record.Terms[0].Value
}

const tooLarge = "it was not examined: the tree is too large"

// confirm keeps the service domain that a name without a record was probably meant to be only if that domain has a
// record.
func (w *walker) confirm(n *Node) {
	if n.near == "" {
		return
	}
	p := published(w.dns, n.near)
	n.unsure = n.unsure || p.answer.Err() != nil
	if len(p.records) == 1 {
		if record, faults := eval.Parse(p.records[0]); len(faults) == 0 {
			for i := range record.Terms {
				n.nearCost += record.Terms[i].Cost()
			}
			return
		}
	}
	n.near = ""
}

// unregistered reports whether the registrable domain of a name does not exist, so that anyone may register it, or
// whether that is unknown.
func (w *walker) unregistered(name string) (yes, unsure bool) {
	domain, err := publicsuffix.EffectiveTLDPlusOne(strings.ToLower(name))
	if err != nil || targetFault(domain) != "" || eval.Below(w.domain, domain) {
		return false, false
	}
	if hasUnknownTLD(domain) || !w.reserve(domain, dns.TypeSOA) {
		return false, false
	}
	answer := eval.Ask[*dns.SOA](w.dns, domain)
	return answer.NXDomain(), answer.Err() != nil
}

// found records whether a term has results for clients of each family, and whether anyone may register the domain of
// a term without results.
func (w *walker) found(t *ResolvedTerm, v4, v6 bool) {
	t.Void4, t.Void6, t.Void = !v4, !v6, !v4 && !v6
	if t.Void {
		t.Dangling, t.unsure = w.unregistered(t.Target)
	}
}

func (w *walker) resolveA(t *ResolvedTerm) {
	h := w.host(t.Target)
	t.addHost(h)
	if t.Err = h.Err; t.Err == nil {
		w.found(t, h.v4 > 0, len(h.Addresses) > h.v4)
	}
}

func (w *walker) host(name string) Host {
	var a *diag.Answer[*dns.A]
	var aaaa *diag.Answer[*dns.AAAA]
	var g diag.Group
	g.Go(func() { a = eval.Ask[*dns.A](w.dns, name) })
	g.Go(func() { aaaa = eval.Ask[*dns.AAAA](w.dns, name) })
	g.Wait()
	h := Host{Name: name, Err: cmp.Or(eval.AnswerError(a), eval.AnswerError(aaaa))}
	for _, r := range a.Records[:min(len(a.Records), eval.MaxAddresses)] {
		if ip, ok := netip.AddrFromSlice(r.A.To4()); ok {
			h.Addresses = append(h.Addresses, ip)
		}
	}
	h.v4 = len(h.Addresses)
	for _, r := range aaaa.Records[:min(len(aaaa.Records), eval.MaxAddresses)] {
		if ip, ok := netip.AddrFromSlice(r.AAAA.To16()); ok {
			h.Addresses = append(h.Addresses, ip)
		}
	}
	return h
}

func (w *walker) resolveMX(t *ResolvedTerm) {
	answer := eval.Ask[*dns.MX](w.dns, t.Target)
	if t.Err = eval.AnswerError(answer); t.Err != nil {
		return
	}
	t.MXCount = len(answer.Records)
	w.found(t, t.MXCount > 0, t.MXCount > 0)
	names := eval.MXHosts(answer)
	found := make([]Host, min(len(names), eval.MaxMX))
	var g diag.Group
	for i := range found {
		found[i].Name = names[i]
		if t.Cut = t.Cut || !w.reserve(names[i], dns.TypeA, dns.TypeAAAA); !t.Cut {
			g.Go(func() { found[i] = w.host(names[i]) })
		}
	}
	g.Wait()
	for _, h := range found {
		t.addHost(h)
		t.Err = cmp.Or(t.Err, h.Err)
	}
}

// resolveExists checks whether a name that does not depend on the message exists: then the term matches every host.
func (w *walker) resolveExists(t *ResolvedTerm) {
	answer := eval.Ask[*dns.A](w.dns, t.Target)
	if t.Err = eval.AnswerError(answer); t.Err == nil {
		t.Everyone = len(answer.Records) > 0
		w.found(t, t.Everyone, t.Everyone)
	}
}

type publication struct {
	answer  *diag.Answer[*dns.TXT]
	texts   []string // of all TXT records
	records []string // the SPF records
}

// published queries the TXT records of a name, and selects those of SPF (RFC 7208 sections 4.4 and 4.5).
func published(l *eval.Lookups, name string) *publication {
	p := &publication{answer: eval.Ask[*dns.TXT](l, name)}
	for _, r := range p.answer.Records {
		text := dnsmsg.TXT(r)
		if p.texts = append(p.texts, text); eval.IsRecord(text) {
			p.records = append(p.records, text)
		}
	}
	return p
}
