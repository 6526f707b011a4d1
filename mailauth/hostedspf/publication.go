package hostedspf

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

const (
	// maxWords is more than fit into records: the shortest network has 11 bytes, with the blank before it 12.
	maxWords = eval.MaxLookups * maxLength / 12
	// maxNetworks bounds the networks published in any form.
	maxNetworks = 4096
	// maxExpanded is how long a name with macros may be (RFC 7208 section 7.3), and longestClient how long
	// the longest expansion of the macro i is: that of an IPv6 address, as nibbles with dots.
	maxExpanded   = 253
	longestClient = 63
)

type span struct {
	qualifier eval.Qualifier
	networks  []netip.Prefix
	kept      *keptTerm // nil: the span is the networks
	set       *Part     // if not nil, the name server answers for the networks
}

// spans writes the items down, and reports false if there are so many networks that they are not published. Of a set
// from which addresses that came to a result before are taken away or not, the shorter is taken.
func (o *outline) spans() ([]span, bool) {
	var list []span
	var decided spf.Set
	total := 0
	for _, one := range o.items {
		if one.kept != nil {
			list = append(list, span{qualifier: one.qualifier, kept: one.kept})
			continue
		}
		networks := one.set.Prefixes()
		if rest := one.set.Minus(decided).Prefixes(); len(rest) < len(networks) {
			networks = rest
		}
		networks = slices.DeleteFunc(networks, mapped)
		if total += len(networks); total > maxNetworks {
			return nil, false
		}
		list = append(list, span{qualifier: one.qualifier, networks: networks})
		decided = decided.Union(one.set)
	}
	return list, true
}

// apart arranges the items such that between two kept terms no two spans have the same sign: the spans there hold
// each address at most once, in any order. Items at the end with the result of all are removed.
func (o *outline) apart() []span {
	var list, run []span
	var decided spf.Set
	flush := func() {
		slices.SortStableFunc(run, func(a, b span) int { return len(a.networks) - len(b.networks) })
		list, run = append(list, run...), nil
	}
	for _, one := range o.items {
		if one.kept != nil {
			flush()
			list = append(list, span{qualifier: one.qualifier, kept: one.kept})
			continue
		}
		i := slices.IndexFunc(run, func(s span) bool { return s.qualifier == one.qualifier })
		if i < 0 {
			i, run = len(run), append(run, span{qualifier: one.qualifier})
		}
		all := spf.SetOf(run[i].networks...).Union(one.set.Minus(decided))
		run[i].networks = slices.DeleteFunc(all.Prefixes(), mapped)
		decided = decided.Union(one.set)
	}
	run = slices.DeleteFunc(run, func(s span) bool { return o.last == nil && s.qualifier.Outcome() == o.otherwise() })
	flush()
	return list
}

func words(spans []span) []word {
	var list []word
	for _, s := range spans {
		switch {
		case s.kept != nil:
			list = append(list, word{s.qualifier, s.kept.text})
		case s.set != nil: // RFC 7208 sections 5.7 and 7.2
			list = append(list, word{s.qualifier, "exists:%{i}." + s.set.Name})
		default:
			for _, p := range s.networks {
				list = append(list, word{s.qualifier, spf.NetworkTerm(p)})
			}
		}
	}
	return list
}

func (e *evidence) publication() *Publication {
	spans, ok := e.outline.spans()
	if !ok {
		return nil
	}
	flat, ending := words(spans), e.outline.ending()
	records, lookups, sets := e.pack(flat, ending)
	if records == nil && e.answered {
		records, lookups, sets = e.packSets(e.outline.apart(), ending)
	}
	if records == nil {
		return nil
	}
	text := join(flat, ending)
	passing := authorized(text)
	return &Publication{
		FlattenedRecord: text, Records: records, Sets: sets, RecordHash: hash(records),
		LookupsBefore: e.tree.Root.CumulativeLookups, LookupsAfter: lookups,
		IP4Count: len(passing.Prefixes4()), IP6Count: len(passing.Prefixes6()),
	}
}

// pack divides words among records, unless they cost too many lookups.
func (e *evidence) pack(list []word, ending []string) (records []Record, lookups int, sets []Part) {
	if len(list) > maxWords {
		return nil, 0, nil
	}
	records, lookups = pack(e.host, list, ending)
	if lookups += e.keptLookups(); lookups > maxLookups {
		return nil, 0, nil
	}
	return records, lookups, nil
}

// packSets makes the name server answer for the largest spans, as few as necessary. An address outside a set causes a
// void lookup, of which receivers accept two (RFC 7208 section 4.6.4): sets and kept terms, which may be void too,
// are limited to that number together.
func (e *evidence) packSets(spans []span, ending []string) (records []Record, lookups int, sets []Part) {
	if longestClient+1+partSize(e.host) > maxExpanded {
		return nil, 0, nil
	}
	for range eval.MaxVoids - e.keptLookups() {
		largest := -1
		for i, s := range spans {
			if s.kept == nil && s.set == nil && (largest < 0 || len(s.networks) > len(spans[largest].networks)) {
				largest = i
			}
		}
		if largest < 0 {
			break
		}
		set := newSet(e.host, spans[largest].networks)
		spans[largest].set, sets = &set, append(sets, set)
		records, lookups, _ = e.pack(words(spans), ending)
		if lookups += len(sets); records != nil && lookups <= maxLookups {
			return records, lookups, sets
		}
	}
	return nil, 0, nil
}

func newSet(host string, networks []netip.Prefix) Part {
	var b strings.Builder
	for _, p := range networks {
		b.WriteString(p.String() + "\n")
	}
	return Part{Name: partName(host, b.String()), Networks: networks}
}

// A word is a term of a flat record, without its sign.
type word struct {
	qualifier eval.Qualifier
	text      string
}

// mapped reports whether a network holds IPv4 addresses in the form of IPv6. Clients with such an address
// count as IPv4, so that it never matches (RFC 7208 section 5).
func mapped(p netip.Prefix) bool { return p.Bits() >= 96 && p.Addr().Is4In6() }

// ending returns the terms after the items: all, or the kept redirect, and exp.
func (o *outline) ending() []string {
	var list []string
	switch {
	case o.last != nil:
		list = append(list, o.last.text)
	case o.all != "":
		list = append(list, word{qualifier: o.all, text: "all"}.String())
	}
	if o.exp != "" {
		list = append(list, o.exp)
	}
	return list
}

// authorized returns the addresses that a flat record passes, as far as that does not depend on the mail:
// kept terms are taken not to match. The record is one that [join] has written, of any length.
func authorized(record string) spf.Set {
	var passed, decided spf.Set
	var run []netip.Prefix
	sign := eval.QualifierPass
	flush := func() {
		hit := spf.SetOf(run...)
		if sign == eval.QualifierPass {
			passed = passed.Union(hit.Minus(decided))
		}
		decided, run = decided.Union(hit), nil
	}
	for text := range strings.FieldsSeq(strings.TrimPrefix(record, version)) {
		one, _ := eval.Parse(version + " " + text)
		t := &one.Terms[0]
		if t.Name != eval.All && !t.Network.IsValid() {
			continue
		}
		if t.Qualifier != sign { // terms of one sign in a row are as one
			flush()
			sign = t.Qualifier
		}
		if t.Name == eval.All {
			run = everyone.Prefixes()
		} else {
			run = append(run, t.Network)
		}
	}
	flush()
	return passed
}

// difference lists the networks of a that are not in b, at most maxDifferences.
func difference(a, b spf.Set) []string {
	list := a.Minus(b).Prefixes()
	return kit.Map(list[:min(len(list), maxDifferences)], netip.Prefix.String)
}

func (e *evidence) keptLookups() int {
	n := 0
	for _, s := range e.outline.kept() {
		n += s.lookups
	}
	return n
}
