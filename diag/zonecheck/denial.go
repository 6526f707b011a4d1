package zonecheck

import (
	"bytes"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// maxIterations is up to how many iterations names are hashed; validators stop at 100 or 150 and take
// the zone for unsigned then (RFC 9276 section 3.2).
const maxIterations = 100

// maxProofs is how many records of a proof are looked at; none needs more than four.
const maxProofs = 8

// A proof is what the authority section of a negative reply says about what does not exist.
type proof struct {
	zone  string
	nsec  []*dns.NSEC
	nsec3 []*dns.NSEC3
}

func proofOf(m *dns.Msg, zone string) proof {
	p := proof{zone: zone}
	for _, rr := range m.Ns {
		switch rr := rr.(type) {
		case *dns.NSEC:
			p.nsec = append(p.nsec, rr)
		case *dns.NSEC3:
			if rr.Hash == dns.SHA1 { // RFC 5155 section 8.1: others are ignored
				p.nsec3 = append(p.nsec3, rr)
			}
		}
	}
	p.nsec = p.nsec[:min(len(p.nsec), maxProofs)]
	p.nsec3 = p.nsec3[:min(len(p.nsec3), maxProofs)]
	return p
}

// excessive reports whether the names would have to be hashed too often.
func (p proof) excessive() bool {
	return slices.ContainsFunc(p.nsec3, func(n *dns.NSEC3) bool { return n.Iterations > maxIterations })
}

// missing returns what the proof lacks for a reply, or nothing.
func (p proof) missing(m *dns.Msg, name string, qtype uint16) string {
	name = dns.CanonicalName(name)
	switch {
	case len(p.nsec)+len(p.nsec3) == 0:
		return "there are neither NSEC nor NSEC3 records"
	case p.excessive():
		return ""
	case m.Rcode == dns.RcodeNameError && !p.noName(name):
		return "the records do not prove that the name does not exist"
	case m.Rcode == dns.RcodeSuccess && !p.noType(name, qtype):
		return "the records do not prove that there are none of the type"
	}
	return ""
}

// noName reports whether neither the name nor a wildcard for it exists (RFC 4035 section 5.4, RFC 5155
// section 8.4).
func (p proof) noName(name string) bool {
	encloser, ok := p.spanned(name)
	return ok && p.covers("*."+strings.TrimPrefix(encloser, "."))
}

// noType reports whether the name, or the wildcard that stands in for it, does not have the type.
func (p proof) noType(name string, qtype uint16) bool {
	if p.lacks(name, qtype) {
		return true
	}
	for _, n := range p.nsec { // an empty non-terminal, RFC 4035 section 5.4
		if covers(n, name, p.zone) && inside(name, n.NextDomain) {
			return true
		}
	}
	encloser, ok := p.spanned(name)
	return ok && p.lacks("*."+strings.TrimPrefix(encloser, "."), qtype)
}

// lacks reports whether a name is shown with its types, and the type is not among them.
func (p proof) lacks(name string, qtype uint16) bool {
	without := func(types []uint16) bool {
		return !slices.Contains(types, qtype) && !slices.Contains(types, dns.TypeCNAME)
	}
	for _, n := range p.nsec {
		if dns.CanonicalName(n.Hdr.Name) == name && without(n.TypeBitMap) {
			return true
		}
	}
	for _, n := range p.nsec3 {
		if n.Match(name) && without(n.TypeBitMap) {
			return true
		}
	}
	return false
}

// spanned reports whether a name falls between two that exist, and returns its closest encloser.
func (p proof) spanned(name string) (encloser string, ok bool) {
	for _, n := range p.nsec {
		if covers(n, name, p.zone) {
			a, b := common(name, n.Hdr.Name), common(name, n.NextDomain)
			if dns.CountLabel(b) > dns.CountLabel(a) {
				a = b
			}
			return a, true
		}
	}
	next := name
	for encloser = above(name); inside(p.zone, encloser); encloser = above(encloser) {
		for _, n := range p.nsec3 {
			if n.Match(encloser) {
				return encloser, p.covers(next)
			}
		}
		if encloser == "." {
			break
		}
		next = encloser
	}
	return "", false
}

// covers reports whether a record shows that a name does not exist.
func (p proof) covers(name string) bool {
	return slices.ContainsFunc(p.nsec, func(n *dns.NSEC) bool { return covers(n, name, p.zone) }) ||
		slices.ContainsFunc(p.nsec3, func(n *dns.NSEC3) bool { return n.Cover(name) })
}

// covers reports whether a name falls between the two of an NSEC record, in canonical order. The last
// record of a zone points back to its apex.
func covers(n *dns.NSEC, name, zone string) bool {
	if !inside(zone, name) {
		return false
	}
	owner, next := orderKey(n.Hdr.Name), orderKey(n.NextDomain)
	key := orderKey(name)
	if bytes.Compare(owner, next) < 0 {
		return bytes.Compare(owner, key) < 0 && bytes.Compare(key, next) < 0
	}
	return bytes.Compare(owner, key) < 0
}

// orderKey writes a name so that bytes compare as names do (RFC 4034 section 6.1): labels from the
// right, each after its octets 0 and 1 were escaped, so that its end sorts before any octet.
func orderKey(name string) []byte {
	wire := make([]byte, 256)
	end, err := dns.PackDomainName(dns.CanonicalName(name), wire, 0, nil, false)
	if err != nil {
		return nil
	}
	var labels [][]byte
	for i := 0; i < end && wire[i] != 0; i += 1 + int(wire[i]) {
		labels = append(labels, wire[i+1:i+1+int(wire[i])])
	}
	var key []byte
	for _, label := range slices.Backward(labels) {
		for _, octet := range label {
			if octet <= 1 {
				key = append(key, 1)
				octet++
			}
			key = append(key, octet)
		}
		key = append(key, 0)
	}
	return key
}

// common returns the longest name that both names end in.
func common(a, b string) string {
	a, b = dns.CanonicalName(a), dns.CanonicalName(b)
	for !inside(a, b) {
		a = above(a)
	}
	return a
}

// wildcardUnproven reports whether a positive reply was made from a wildcard without a proof that the
// name itself does not exist (RFC 4035 section 5.3.4).
func wildcardUnproven(m *dns.Msg, name string, qtype uint16, p proof) bool {
	sigs := signaturesOf(m.Answer, name, qtype)
	if len(sigs) == 0 || int(sigs[0].Labels) >= dns.CountLabel(name) || p.excessive() {
		return false
	}
	next := dns.CanonicalName(name)
	for dns.CountLabel(next) > int(sigs[0].Labels)+1 {
		next = above(next)
	}
	return !p.covers(next) && !p.covers(dns.CanonicalName(name))
}
