package spf

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/internal/reception"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
	"github.com/miekg/dns"
)

// evidence is the input of the rules; only gather, outline and suggest write it.
type evidence struct {
	domain  diag.Name // zero in a validation without a domain
	now     time.Time
	offline bool // only the text of the record is known

	published     *publication
	records       []string // those of SPF
	strays        []string // those that receivers discard, although probably intended as SPF records
	fragments     []string // TXT records of terms without v=spf1
	senderIDs     []string // those of Sender ID
	opaque        int      // TXT records that are not text
	type99        diag.Answer[*dns.SPF]
	wildcard      string // the SPF record that a wildcard publishes for subdomains
	elsewhere     []place
	lookupFailed  bool           // the lookup of a name at which records are published by mistake failed
	strings       []string       // character-strings of the record, if there is exactly one
	missingSpaces []missingSpace // where a space is missing in it
	mail          reception.Reception

	tree      *Tree
	separated *Tree // of the record with its missing spaces, or of several merged into one; nil without such a fault
	ip        netip.Addr
	result    *eval.Result // for ip; nil without ip
	// Values computed from the rest, once.
	nodes      []*Node
	last       *Node // the node whose all decides: the root, or the target of its redirect
	authorized Set
	complete   bool   // everything is known that does not depend on the message
	suggested  string // the corrected record; empty if unknown
}

var misplaced = []string{"spf", "_spf"}

type place struct {
	name   string
	record string
}

// isHelperName reports whether the name is one that only other records refer to, such as _spf.example.com.
func (e *evidence) isHelperName() bool { return strings.Contains(e.domain.String(), "_") }

// classifyTexts classifies the TXT records of the domain.
func (e *evidence) classifyTexts(p *publication) {
	e.published = p
	for i, text := range e.published.texts {
		switch {
		case eval.IsRecord(text):
			e.records = append(e.records, text)
			e.strings = dnsmsg.TXTStrings(e.published.answer.Records[i])
		case strings.HasPrefix(strings.ToLower(text), "spf2.0/"): // RFC 4406 section 3.1
			e.senderIDs = append(e.senderIDs, text)
		case resembles(text):
			e.strays = append(e.strays, text)
		case isFragment(text):
			e.fragments = append(e.fragments, text)
		case strings.ToValidUTF8(text, "") != text:
			e.opaque++
		}
	}
	switch len(e.records) {
	case 0:
		e.strays, e.fragments = append(e.strays, e.fragments...), nil
	case 1:
		e.missingSpaces = findMissingSpaces(e.records[0], e.strings)
	}
}

// locate classifies the records at other names. Answers of a wildcard are not records at those names.
func (e *evidence) locate(elsewhere []diag.Answer[*dns.TXT]) {
	for i := range elsewhere {
		e.lookupFailed = e.lookupFailed || elsewhere[i].Err() != nil
		for _, r := range elsewhere[i].Records {
			switch text := dnsmsg.TXT(r); {
			case !eval.IsRecord(text):
			case i == 0:
				e.wildcard = text
			case text != e.wildcard:
				e.elsewhere = append(e.elsewhere, place{misplaced[i-1] + "." + e.domain.String(), text})
			}
		}
	}
}

func (e *evidence) compute() {
	e.nodes = e.tree.Nodes()
	e.authorized = e.tree.authorized()
	e.complete = e.tree.complete()
	e.last = e.tree.Root
	for t := e.last.Modifier(eval.Redirect); t != nil; t = e.last.Modifier(eval.Redirect) {
		e.last = t.Child
	}
}

const (
	fromRecord rule.Source = "record"      // the TXT records of the domain
	fromPlaces rule.Source = "places"      // other names at which the record may be, if it is not there
	fromType99 rule.Source = "type99"      // the record of type SPF
	fromMail   rule.Source = "mail"        // whether a domain without a record receives mail
	fromTree   rule.Source = "tree"        // the records that the record leads to
	fromEnd    rule.Source = "end"         // the records that it redirects to
	fromOthers rule.Source = "other names" // the intended targets of names without a record
)

// Unanswered implements [rule.Unanswerer]. A validation sends no queries.
func (e *evidence) Unanswered() []rule.Source {
	if e.offline {
		return nil
	}
	_, known := e.mail.Receives()
	return rule.Unanswered(map[rule.Source]bool{
		fromRecord: e.published.answer.Err() == nil, fromPlaces: len(e.records) > 0 || !e.lookupFailed,
		fromType99: e.type99.Err() == nil, fromMail: len(e.records)+len(e.strays) > 0 || known || e.isHelperName(),
		fromTree: e.complete, fromEnd: e.last.State != NodeUnknown && e.last.State != NodeCut,
		fromOthers: !slices.ContainsFunc(e.nodes, (*Node).isUnsure),
	})
}

// Meant reports whether a text was published as an SPF record or as a part of one, rightly or not: a corrected record
// replaces it.
func Meant(text string) bool { return eval.IsRecord(text) || resembles(text) || isFragment(text) }

// resembles reports whether a text was probably meant as a record, although receivers discard it.
func resembles(text string) bool {
	squeezed := strings.ToLower(strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\r\n\"'\\\ufeff\u200b\u00a0\u201c\u201d", r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text[:min(len(text), 64)], "")))
	for _, start := range []string{"v=spf", "v:spf", "spf1", "v=fsp", "vspf1", "v=sfp", "spf=v1", "spf=1", "v.spf",
		"v==spf", "v-spf1", "v=psf", "v=sp1", "version=spf"} {
		if strings.HasPrefix(squeezed, start) {
			return !eval.IsRecord(text)
		}
	}
	return false
}

// redundant returns another include of the record that passes every host that t passes, or nil. If held is set it
// must include the same record.
func (e *evidence) redundant(t *ResolvedTerm, held bool) *ResolvedTerm {
	if !plainInclude(t) || t.Child.dynamic() {
		return nil
	}
	passed := t.Child.passing()
	for _, other := range e.tree.Root.Terms {
		if other == t || !plainInclude(other) || strings.EqualFold(other.Target, t.Target) ||
			other.Child.holds(t.Child) != held || !held && t.Child.holds(other.Child) || passed.IsEmpty() ||
			!passed.Minus(other.Child.passing()).IsEmpty() {
			continue
		}
		if same := passed.Equal(other.Child.passing()); (!same || held || other.Offset < t.Offset) && e.allPass() {
			return other
		}
	}
	return nil
}

// allPass reports whether all mechanisms of the record other than all have the sign +.
func (e *evidence) allPass() bool {
	return e.tree.Root.find(func(t *ResolvedTerm) bool {
		return t.Kind == eval.Mechanism && t.Name != eval.All && t.Qualifier != eval.QualifierPass
	}) == nil
}

func (e *evidence) resolved(t *eval.Term) *ResolvedTerm {
	is := func(r *ResolvedTerm) bool {
		return r.Reached && r.Kind == eval.Mechanism && unsigned(r.Term) == unsigned(t)
	}
	if r := e.tree.Root.find(is); r != nil || e.separated == nil {
		return r
	}
	return e.separated.Root.find(is)
}

func (e *evidence) mayPass(t *ResolvedTerm) bool {
	switch {
	case !t.Reached || t.Kind == eval.Mechanism && t.Qualifier != eval.QualifierPass:
		return false
	case t.Everyone || t.Dynamic || t.Cut || t.Err != nil:
		return true
	case t.Child != nil && (t.Child.dynamic() || t.Child.State == NodeDynamic || t.Child.State == NodeCut):
		return true
	default:
		return e.offline && t.Name.Counted()
	}
}

// unsigned is the canonical form of a mechanism without its sign, by which it is compared with others.
func unsigned(t *eval.Term) string { return strings.ToLower(strings.TrimLeft(t.String(), "+-~?")) }

// gather runs all queries concurrently; only those of the tree wait for the record.
func (e *evidence) gather(ctx context.Context, env *diag.Env, sender, helo string) error {
	name := e.domain.String()
	bounded, cancel := diag.Within(ctx, eval.Timeout)
	defer cancel()
	l := eval.NewLookups(bounded, env)
	var g diag.Group
	g.Go(func() {
		w := newWalker(l, name)
		w.macros = true
		e.tree = w.walk("")
	})
	g.Go(func() {
		e.classifyTexts(published(l, name))
		if len(e.missingSpaces) == 0 && len(e.records) < 2 {
			return
		}
		if text, _ := correctRecord(e.intended()); text != "" {
			w := newWalker(l, name)
			w.macros = true
			e.separated = w.walk(withoutAll(text))
		}
	})
	g.Go(func() { e.type99 = diag.Lookup[*dns.SPF](bounded, env, e.domain.FQDN()) })
	g.Go(func() { e.mail.MX = *eval.Ask[*dns.MX](l, name) }) // which the record may need, too
	g.Go(func() { e.mail.Addresses.V4 = *eval.Ask[*dns.A](l, name) })
	g.Go(func() { e.mail.Addresses.V6 = *eval.Ask[*dns.AAAA](l, name) })
	elsewhere := make([]diag.Answer[*dns.TXT], 1+len(misplaced))
	for i, label := range append([]string{"*"}, misplaced...) {
		g.Go(func() { elsewhere[i] = diag.Lookup[*dns.TXT](bounded, env, e.domain.Sub(label)) })
	}
	if e.ip.IsValid() {
		g.Go(func() {
			e.result = l.Check(eval.Request{IP: e.ip, Sender: cmp.Or(sender, name), HELO: cmp.Or(helo, name), Domain: name})
		})
	}
	g.Wait()
	err := ctx.Err() // before unneeded queries are aborted
	cancel()
	l.Wait()
	if err != nil {
		return fmt.Errorf("examining SPF of %s: %w", e.domain, err)
	}
	if e.silent(elsewhere) {
		return fmt.Errorf("examining SPF of %s: %w", e.domain,
			diag.Unavailable(diag.DefaultResolver, e.published.answer.Err()))
	}
	e.locate(elsewhere)
	e.compute()
	return nil
}

func (e *evidence) silent(elsewhere []diag.Answer[*dns.TXT]) bool {
	answered := func(a diag.Answer[*dns.TXT]) bool { return a.Err() == nil }
	return !slices.ContainsFunc(elsewhere, answered) && e.published.answer.Err() != nil && e.type99.Err() != nil &&
		e.mail.MX.Err() != nil && e.mail.Addresses.V4.Err() != nil && e.mail.Addresses.V6.Err() != nil
}

func newOffline(record string, domain diag.Name, ip netip.Addr) *evidence {
	e := &evidence{domain: domain, offline: true, ip: ip, published: &publication{answer: new(diag.Answer[*dns.TXT])}}
	e.strings = pasted(record)
	text := strings.Join(e.strings, "")
	if eval.IsRecord(text) {
		e.records, e.missingSpaces = []string{text}, findMissingSpaces(text, e.strings)
	} else {
		e.strays = []string{text}
	}
	e.tree = newWalker(nil, domain.String()).walk(text) // nothing is looked up
	root := e.tree.Root
	if len(e.strays) > 0 && !resembles(text) { // whose words are not terms
		root.Terms, root.Children, root.Parsed, root.Faults = nil, nil, &eval.Record{}, root.Faults[:1]
		root.Faults[0].Length, root.Faults[0].End = len(text), len(text)
		root.sum()
	}
	if ip.IsValid() && len(e.records) == 1 {
		e.result = root.Parsed.Decide(domain.String(), ip)
		if f := root.Faults; len(f) > 0 {
			e.result = &eval.Result{Outcome: eval.Permerror, Reason: f[0].Text}
		}
	}
	e.compute()
	return e
}
