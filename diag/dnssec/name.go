package dnssec

import (
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// A name is a domain name in canonical form: its octets on the wire, in lower case and uncompressed
// (RFC 4034 section 6.2). Equal names are equal strings. The empty string is no name.
type name string

const (
	root name = "\x00"

	// maxWire bounds a name on the wire (RFC 1035 section 2.3.4).
	maxWire = 255
	// maxLabels bounds the labels of a name: each takes two octets at least.
	maxLabels = maxWire / 2
)

// parseName reads a name in presentation format; it is absolute with or without the final dot.
func parseName(s string) (name, bool) {
	var wire [maxWire]byte
	end, err := dns.PackDomainName(dns.Fqdn(s), wire[:], 0, nil, false)
	if err != nil || end == 0 || wire[end-1] != 0 {
		return "", false
	}
	for i, c := range wire[:end] { // the lengths of labels are below the letters
		if 'A' <= c && c <= 'Z' {
			wire[i] = c + 'a' - 'A'
		}
	}
	return name(wire[:end]), true
}

// fqdn returns the presentation format with the final dot.
func (n name) fqdn() string {
	s, _, err := dns.UnpackDomainName([]byte(n), 0)
	if err != nil {
		return "."
	}
	return s
}

// String returns the presentation format without the final dot, except for the root.
func (n name) String() string {
	if n == root || n == "" {
		return "."
	}
	return strings.TrimSuffix(n.fqdn(), ".")
}

// parent returns the name without its first label; that of the root is the root.
func (n name) parent() name {
	if n == root {
		return root
	}
	return n[1+n[0]:]
}

// labels counts the labels; the root has none.
func (n name) labels() int {
	count := 0
	for ; n != root; n = n.parent() {
		count++
	}
	return count
}

// ancestor returns the ancestor-or-self with so many labels, which are not more than the name has.
func (n name) ancestor(labels int) name {
	for range n.labels() - labels {
		n = n.parent()
	}
	return n
}

func (n name) within(zone name) bool {
	for len(n) > len(zone) {
		n = n.parent()
	}
	return n == zone
}

func (n name) below(other name) bool { return n != other && n.within(other) }

// isWildcard reports whether the first label is an asterisk.
func (n name) isWildcard() bool { return strings.HasPrefix(string(n), "\x01*") }

// wildcard returns the name of the wildcard directly below. It is empty if that would be too long,
// in which case there is none.
func (n name) wildcard() name {
	if len(n)+2 > maxWire {
		return ""
	}
	return "\x01*" + n
}

// signedLabels counts the labels as the signature of the owner does: the root and the asterisk of a
// wildcard do not count (RFC 4034 section 3.1.3).
func (n name) signedLabels() int {
	if n.isWildcard() {
		return n.labels() - 1
	}
	return n.labels()
}

// split returns where the labels begin, from the last to the first.
func (n name) split(starts []int) []int {
	for i := 0; n[i] != 0; i += 1 + int(n[i]) {
		starts = append(starts, i)
	}
	slices.Reverse(starts)
	return starts
}

// compare orders names canonically: by their labels from the right, as octets, a name before all
// that lie below it (RFC 4034 section 6.1).
func compare(a, b name) int {
	var bufA, bufB [maxLabels]int
	la, lb := a.split(bufA[:0]), b.split(bufB[:0])
	for i := range min(len(la), len(lb)) {
		x, y := a.label(la[i]), b.label(lb[i])
		if c := strings.Compare(x, y); c != 0 {
			return c
		}
	}
	return len(la) - len(lb)
}

func (n name) label(i int) string { return string(n[i+1 : i+1+int(n[i])]) }

// common returns the deepest name that both are within.
func common(a, b name) name {
	for !a.within(b) {
		b = b.parent()
	}
	return b
}

// replace returns the name with the ancestor old replaced by another (RFC 6672 section 2.2). It is
// false if the result would be too long.
func (n name) replace(old, other name) (name, bool) {
	prefix := n[:len(n)-len(old)]
	if len(prefix)+len(other) > maxWire {
		return "", false
	}
	return prefix + other, true
}
