package hostedspf

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

// tidy makes the outline as short as it can be with the same result for every address: sets in a row with
// the same sign become one, and what can never decide goes.
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

// A word is a term of a flat record, without its sign.
type word struct {
	qualifier eval.Qualifier
	text      string
}

// String writes the word with its sign.
func (w word) String() string {
	if w.qualifier == eval.QualifierPass {
		return w.text
	}
	return string(w.qualifier) + w.text
}

func shorter(a, b []netip.Prefix) []netip.Prefix {
	if len(b) < len(a) {
		return b
	}
	return a
}

// mapped reports whether a network holds IPv4 addresses in the form of IPv6. Clients with such an address
// count as IPv4, so that it never matches (RFC 7208 section 5).
func mapped(p netip.Prefix) bool { return p.Bits() >= 96 && p.Addr().Is4In6() }

// termOf writes a network as a term; the length is left out where it is that of an address.
func termOf(p netip.Prefix) string {
	text := "ip6:" + p.String()
	if p.Addr().Is4() {
		text = "ip4:" + p.String()
	}
	if p.IsSingleIP() {
		text, _, _ = strings.Cut(text, "/")
	}
	return text
}

// ending returns what follows the items: all, or the redirect that is kept, and exp.
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

// authorised returns the addresses that a flat record passes, as far as that does not depend on the mail:
// kept terms are taken not to match. The record is one that [join] has written, of any length.
func authorised(record string) spf.Set {
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
		q := eval.QualifierPass
		if strings.ContainsAny(text[:1], "+-~?") {
			q, text = eval.Qualifier(text[:1]), text[1:]
		}
		networks := networksOf(text)
		if len(networks) > 0 && q != sign { // terms of one sign in a row are as one
			flush()
			sign = q
		}
		run = append(run, networks...)
	}
	flush()
	return passed
}

// networksOf reads what [termOf] has written, or all; it returns nil for any other term.
func networksOf(term string) []netip.Prefix {
	if term == "all" {
		return everyone.Prefixes()
	}
	kind, text, _ := strings.Cut(term, ":")
	if kind != "ip4" && kind != "ip6" {
		return nil
	}
	if ip, err := netip.ParseAddr(text); err == nil {
		return []netip.Prefix{netip.PrefixFrom(ip, ip.BitLen())}
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return nil
	}
	return []netip.Prefix{p}
}

// difference lists the networks of a that are not in b, at most maxDifferences.
func difference(a, b spf.Set) []string {
	list := []string{}
	for _, p := range a.Minus(b).Prefixes() {
		if len(list) == maxDifferences {
			break
		}
		list = append(list, p.String())
	}
	return slices.Clip(list)
}
