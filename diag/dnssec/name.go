package dnssec

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/resolve"
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

// wildcard returns the name of the wildcard directly below; empty if that would be too long to exist.
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

// maxData bounds the data of one set of records: what a message can hold.
const maxData = dns.MaxMsgSize

// canonical returns the data of the records in canonical form and order, without duplicates (RFC 4034 sections 6.2 and
// 6.3). It is nil if a record cannot be written, as those made up by a resolver of the user's own may be.
func (s *rrset) canonical() [][]byte {
	if s.data != nil {
		return s.data
	}
	data, total := make([][]byte, 0, len(s.rrs)), 0
	for _, rr := range s.rrs {
		d, ok := rdata(lowered(rr))
		if total += len(d); !ok || total > maxData {
			return nil
		}
		data = append(data, d)
	}
	slices.SortFunc(data, bytes.Compare)
	s.data = slices.CompactFunc(data, bytes.Equal)
	return s.data
}

// rdata packs a record without compression and returns its data.
func rdata(rr dns.RR) ([]byte, bool) {
	buf := make([]byte, dns.Len(rr)+maxWire) // escapes make names look longer, never shorter
	end, err := dns.PackRR(rr, buf, 0, nil, false)
	if err != nil {
		return nil, false
	}
	start := 0
	for buf[start] != 0 {
		start += 1 + int(buf[start])
	}
	return buf[start+11 : end], true // root label, type, class, time to live, length
}

// lowered returns a record with the names in its data in lower case. That is done for the types that RFC 4034 section
// 6.2 lists, without those that RFC 6840 section 5.1 takes off that list; the others are returned as they are.
func lowered(rr dns.RR) dns.RR {
	switch rr.(type) {
	case *dns.NS, *dns.MD, *dns.MF, *dns.CNAME, *dns.SOA, *dns.MB, *dns.MG, *dns.MR, *dns.PTR, *dns.MINFO,
		*dns.MX, *dns.RP, *dns.AFSDB, *dns.RT, *dns.PX, *dns.NAPTR, *dns.KX, *dns.SRV, *dns.DNAME, *dns.SIG, *dns.NXT:
		return resolve.Lowered(rr)
	}
	return rr
}

// signedData returns the data covered by a signature: its own data without the signature, and every record with the
// owner, the class and the original time to live (RFC 4034 section 3.1.8.1). The owner of records expanded from a
// wildcard is that wildcard (RFC 4035 section 5.3.2).
func signedData(sig *dns.RRSIG, signer name, set *rrset) []byte {
	data := set.canonical()
	owner := set.owner
	if int(sig.Labels) < owner.signedLabels() {
		owner = owner.ancestor(int(sig.Labels)).wildcard()
	}
	if data == nil || owner == "" {
		return nil
	}
	size := 18 + len(signer)
	for _, d := range data {
		size += len(owner) + 10 + len(d)
	}
	b := make([]byte, 0, size)
	b = binary.BigEndian.AppendUint16(b, sig.TypeCovered)
	b = append(b, sig.Algorithm, sig.Labels)
	b = binary.BigEndian.AppendUint32(b, sig.OrigTtl)
	b = binary.BigEndian.AppendUint32(b, sig.Expiration)
	b = binary.BigEndian.AppendUint32(b, sig.Inception)
	b = binary.BigEndian.AppendUint16(b, sig.KeyTag)
	b = append(b, signer...)
	for _, d := range data {
		b = append(b, owner...)
		b = binary.BigEndian.AppendUint16(b, set.rrtype)
		b = binary.BigEndian.AppendUint16(b, dns.ClassINET)
		b = binary.BigEndian.AppendUint32(b, sig.OrigTtl)
		b = binary.BigEndian.AppendUint16(b, uint16(len(d)))
		b = append(b, d...)
	}
	return b
}
