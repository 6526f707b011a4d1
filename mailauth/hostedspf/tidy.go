package hostedspf

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/mailauth/spf"
)

// tidy makes the outline as short as it can be with the same result for every address: sets in a row with
// the same sign become one, and what can never decide goes.
func (o *outline) tidy() {
	var items []item
	var decided spf.Set // addresses that do not come further
	for _, one := range o.items {
		if one.stay != nil {
			items = append(items, one)
			continue
		}
		rest := one.set.Minus(decided)
		if rest.IsEmpty() {
			continue
		}
		if n := len(items); n > 0 && items[n-1].stay == nil && items[n-1].qualifier == one.qualifier {
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
		if last := items[len(items)-1]; last.stay != nil || last.qualifier.Outcome() != o.otherwise() {
			break
		}
		items = items[:len(items)-1]
	}
	o.items = items
}

// otherwise is the result if nothing matches (RFC 7208 section 4.7).
func (o *outline) otherwise() spf.Outcome {
	if o.all == "" {
		return spf.Neutral
	}
	return o.all.Outcome()
}

// A word is a term of a flat record, without its sign.
type word struct {
	qualifier spf.Qualifier
	text      string
	lookups   int
}

// String writes the word with its sign.
func (w word) String() string {
	if w.qualifier == spf.QualifierPass {
		return w.text
	}
	return string(w.qualifier) + w.text
}

// words writes the items as terms, and reports false if there are so many that they can never be published.
// Of a set from which addresses that came to a result before are taken away or not, the shorter is taken.
func (o *outline) words() ([]word, bool) {
	var list []word
	var decided spf.Set
	for _, one := range o.items {
		if one.stay != nil {
			list = append(list, word{one.qualifier, one.stay.text, one.stay.lookups})
			continue
		}
		networks := shorter(one.set.Prefixes(), one.set.Minus(decided).Prefixes())
		for _, p := range networks {
			if !mapped(p) {
				list = append(list, word{qualifier: one.qualifier, text: termOf(p)})
			}
			if len(list) > maxWords {
				return nil, false
			}
		}
		decided = decided.Union(one.set)
	}
	return list, true
}

// maxWords is more than can be published: the shortest network has 11 bytes, with the blank before it 12.
const maxWords = spf.MaxLookups * maxLength / 12

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

// ending returns what follows the items: all, or the redirect that stays, and exp.
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
// terms that stay are taken not to match. A text that is no record passes none.
func authorised(record string) spf.Set {
	var passed, decided spf.Set
	parsed, faults := spf.Parse(record)
	if len(faults) > 0 {
		return passed
	}
	for i := 0; i < len(parsed.Terms); {
		q := parsed.Terms[i].Qualifier
		var networks []netip.Prefix
		for ; i < len(parsed.Terms) && parsed.Terms[i].Qualifier == q; i++ { // terms of one sign in a row are as one
			switch t := &parsed.Terms[i]; t.Name {
			case spf.IP4, spf.IP6:
				networks = append(networks, t.Network)
			case spf.All:
				networks = append(networks, everyone.Prefixes()...)
			}
		}
		hit := spf.SetOf(networks...)
		if q == spf.QualifierPass {
			passed = passed.Union(hit.Minus(decided))
		}
		decided = decided.Union(hit)
	}
	return passed
}

// difference lists the networks of a that are not in b, at most [MaxDifferences].
func difference(a, b spf.Set) []string {
	list := []string{}
	for _, p := range a.Minus(b).Prefixes() {
		if len(list) == MaxDifferences {
			break
		}
		list = append(list, p.String())
	}
	return slices.Clip(list)
}
