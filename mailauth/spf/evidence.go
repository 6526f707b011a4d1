package spf

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/reception"
	"github.com/miekg/dns"
)

// evidence is all that the rules look at; only gather and outline fill it.
type evidence struct {
	domain  diag.Name // zero in a validation without one
	now     time.Time
	offline bool // nothing but the text of the record is known

	published *publication
	records   []string // those of SPF
	strays    []string // those that receivers discard, although they were probably meant
	fragments []string // TXT records of terms without v=spf1
	senderIDs []string // those of Sender ID
	opaque    int      // TXT records that are no text
	type99    diag.Answer[*dns.SPF]
	wildcard  string // the SPF record that a wildcard publishes for subdomains
	elsewhere []place
	unheard   bool     // a name at which records are published by mistake was not answered for
	strings   []string // character-strings of the record, if there is exactly one
	mail      reception.Reception

	tree   *Tree
	ip     netip.Addr
	result *Result // for ip; nil without one
	// What is computed of the rest, once.
	nodes      []*Node
	last       *Node // whose all decides: the root, or where it hands over to
	authorized Set
	complete   bool   // nothing is unknown but what depends on the mail
	suggested  string // the record as it should be; empty if that is not known
}

// A place is a name at which a record was found, and at which no receiver looks.
type place struct {
	name   string
	record string
}

// helper reports whether the name is one that only other records lead to, such as _spf.example.com.
func (e *evidence) helper() bool { return strings.Contains(e.domain.String(), "_") }

// sort tells the TXT records of the domain by what they were meant for.
func (e *evidence) sort() {
	for i, text := range e.published.texts {
		switch {
		case isRecord(text):
			e.records = append(e.records, text)
			e.strings = diag.TXTStrings(e.published.answer.Records[i])
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
	if len(e.records) == 0 {
		e.strays, e.fragments = append(e.strays, e.fragments...), nil
	}
}

// locate sorts the records at other names. What a wildcard answers for every name stands at none of them.
func (e *evidence) locate(elsewhere []diag.Answer[*dns.TXT]) {
	for i := range elsewhere {
		e.unheard = e.unheard || elsewhere[i].Err() != nil
		for _, r := range elsewhere[i].Records {
			switch text := diag.TXT(r); {
			case !isRecord(text):
			case i == 0:
				e.wildcard = text
			case text != e.wildcard:
				e.elsewhere = append(e.elsewhere, place{misplaced[i-1] + "." + e.domain.String(), text})
			}
		}
	}
}

// compute draws from the tree what several rules need.
func (e *evidence) compute() {
	e.nodes = e.tree.Nodes()
	e.authorized = e.tree.Authorized()
	e.complete = e.tree.Complete()
	e.last = e.tree.Root
	for next := e.last.handsOver(); next != nil; next = next.handsOver() {
		e.last = next
	}
}

// What a verdict depends on.
const (
	fromRecord diag.Source = "record"      // the TXT records of the domain
	fromPlaces diag.Source = "places"      // other names at which the record may be, if it is not there
	fromType99 diag.Source = "type99"      // the record of type SPF
	fromMail   diag.Source = "mail"        // whether a domain without a record receives mail
	fromTree   diag.Source = "tree"        // what the record leads to
	fromEnd    diag.Source = "end"         // the records that it redirects to
	fromOthers diag.Source = "other names" // what names without a record stand for
)

// Unanswered implements [diag.Asked]. A validation asks nothing.
func (e *evidence) Unanswered() (open []diag.Source) {
	if e.offline {
		return nil
	}
	_, known := e.mail.Receives()
	unsure := func(n *Node) bool {
		return n.unsure || slices.ContainsFunc(n.Terms, func(t ResolvedTerm) bool { return t.unsure })
	}
	for source, is := range map[diag.Source]bool{
		fromRecord: e.published.answer.Err() != nil,
		fromPlaces: len(e.records) == 0 && e.unheard,
		fromType99: e.type99.Err() != nil,
		fromMail:   len(e.records)+len(e.strays) == 0 && !known && !e.helper(),
		fromTree:   !e.complete,
		fromEnd:    e.last.State == NodeUnknown || e.last.State == NodeCut,
		fromOthers: slices.ContainsFunc(e.nodes, unsure),
	} {
		if is {
			open = append(open, source)
		}
	}
	return open
}

// handsOver returns the node to which a record redirects, or nil.
func (n *Node) handsOver() *Node {
	for _, c := range n.Children {
		if c.Via == viaRedirect {
			return c
		}
	}
	return nil
}
