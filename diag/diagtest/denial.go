package diagtest

import (
	"bytes"
	"encoding/base32"
	"maps"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
)

// A chain proves what a zone does not have: a circle of all its names in order, each with its types
// (NSEC, RFC 4034 section 4), or of the hashes of its names (NSEC3, RFC 5155).
type chain struct {
	signer *signer
	params *NSEC3 // nil for NSEC
	links  []link // in order
}

type link struct {
	name  string // canonical; not in the chain itself if hashed
	key   []byte // by which links are ordered
	types []uint16
}

func newChain(s *signer) *chain {
	c := &chain{signer: s, params: s.how.NSEC3}
	for name := range s.zone.exists {
		if types, ok := c.types(name); ok {
			c.links = append(c.links, link{name, c.key(name), types})
		}
	}
	slices.SortFunc(c.links, func(a, b link) int { return bytes.Compare(a.key, b.key) })
	return c
}

// types returns the types of a name that its link lists, and whether it has a link.
func (c *chain) types(name string) (list []uint16, ok bool) {
	z := c.signer.zone
	cut := z.cutAbove(name)
	if cut != "" && cut != name || z.belowDNAME(name) {
		return nil, false
	}
	n := z.nodes[name]
	switch {
	case cut == name: // a delegation: other records at the name belong to the child zone
		list = append(list, dns.TypeNS)
		if len(n[dns.TypeDS]) > 0 {
			list = append(list, dns.TypeDS)
		} else if c.params != nil && c.params.OptOut {
			return nil, false // RFC 5155 section 6
		}
	case len(n) == 0 && (c.params == nil || !c.needed(name)):
		return nil, false // NSEC has no links for empty non-terminals
	default:
		list = slices.Collect(maps.Keys(n))
	}
	if c.params == nil {
		list = append(list, dns.TypeRRSIG, dns.TypeNSEC)
	} else if len(list) > 0 && (cut != name || len(n[dns.TypeDS]) > 0) {
		list = append(list, dns.TypeRRSIG)
	}
	slices.Sort(list)
	list = slices.DeleteFunc(list, func(t uint16) bool { return slices.Contains(c.omitted(name), t) })
	return slices.Compact(list), true
}

// omitted returns the types that the link of a name leaves out, see [Signing].
func (c *chain) omitted(name string) []uint16 {
	for owner, types := range c.signer.how.Omit {
		if dns.CanonicalName(owner) == name {
			return types
		}
	}
	return nil
}

// needed reports whether an empty non-terminal has a name with a link below it.
func (c *chain) needed(name string) bool {
	for below, n := range c.signer.zone.nodes {
		if below != name && dns.IsSubDomain(name, below) && len(n) > 0 {
			if _, ok := c.types(below); ok {
				return true
			}
		}
	}
	return false
}

func (z *zone) belowDNAME(name string) bool {
	for n := name; n != z.origin && n != "."; {
		n = resolver.ParentName(n)
		if len(z.nodes[n][dns.TypeDNAME]) > 0 {
			return true
		}
	}
	return false
}

// key returns by what a name is ordered: its hash, or its labels from the right as one string that
// compares as RFC 4034 section 6.1 demands.
func (c *chain) key(name string) []byte {
	if c.params != nil {
		hash := dns.HashName(name, dns.SHA1, c.params.Iterations, c.params.Salt)
		b, err := base32.HexEncoding.DecodeString(hash)
		if err != nil {
			return nil // of a name that is too long for the protocol
		}
		return b
	}
	return canonicalKey(name)
}

// canonicalKey writes each label after its octets 0 and 1 were escaped, so that the end of a label
// sorts before any octet.
func canonicalKey(name string) []byte {
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
	for _, l := range slices.Backward(labels) {
		for _, octet := range bytes.ToLower(l) {
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

// find returns the link of a name, or the one before it.
func (c *chain) find(name string) (i int, match bool) {
	key := c.key(name)
	i, match = slices.BinarySearchFunc(c.links, key, func(l link, k []byte) int { return bytes.Compare(l.key, k) })
	if match {
		return i, true
	}
	return (i + len(c.links) - 1) % len(c.links), false
}

func (c *chain) record(i int) []dns.RR {
	l, next := c.links[i], c.links[(i+1)%len(c.links)]
	soa, ttl := c.signer.zone.apex()[dns.TypeSOA], uint32(300)
	if len(soa) > 0 {
		ttl = min(soa[0].Header().Ttl, soa[0].(*dns.SOA).Minttl) // RFC 9077 section 3
	}
	header := dns.RR_Header{Name: l.name, Rrtype: dns.TypeNSEC, Class: dns.ClassINET, Ttl: ttl}
	if c.params == nil {
		nsec := &dns.NSEC{Hdr: header, NextDomain: next.name, TypeBitMap: l.types}
		return append([]dns.RR{nsec}, c.signer.sign(l.name, dns.TypeNSEC, []dns.RR{nsec})...)
	}
	header.Rrtype = dns.TypeNSEC3
	header.Name = strings.ToLower(hashText(l.key)) + "." + strings.TrimPrefix(c.signer.zone.origin, ".")
	nsec3 := &dns.NSEC3{
		Hdr: header, Hash: dns.SHA1, Iterations: c.params.Iterations, SaltLength: uint8(len(c.params.Salt) / 2),
		Salt: c.params.Salt, HashLength: uint8(len(next.key)), NextDomain: hashText(next.key), TypeBitMap: l.types,
	}
	if c.params.OptOut {
		nsec3.Flags = 1
	}
	return append([]dns.RR{nsec3}, c.signer.sign(header.Name, dns.TypeNSEC3, []dns.RR{nsec3})...)
}

func hashText(b []byte) string {
	return base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(b)
}

// at returns the record of a name's own link, if it has one.
func (c *chain) at(name string) []dns.RR {
	if i, match := c.find(name); match {
		return copied(c.record(i))
	}
	return nil
}

// show adds the link at a name, or the one that spans it, to the authority section, once.
func (c *chain) show(m *dns.Msg, name string) {
	i, _ := c.find(name)
	record := c.record(i)
	for _, rr := range m.Ns {
		if rr.Header().Rrtype == record[0].Header().Rrtype && rr.Header().Name == record[0].Header().Name {
			return
		}
	}
	m.Ns = append(m.Ns, copied(record)...)
}

// prove adds what proves the negative side of a result: that the name or the type does not exist, or
// that nothing nearer than the wildcard does (RFC 4035 section 3.1.3, RFC 5155 section 7.2).
func (c *chain) prove(m *dns.Msg, r result) {
	negative := len(r.answer) == 0
	encloser := r.encloser
	if c.params != nil && encloser != "" {
		encloser = c.provable(encloser)
	}
	switch {
	case len(r.dname) > 0:
	case r.rcode == dns.RcodeNameError:
		c.proveEncloser(m, r.name, encloser)
		c.show(m, "*."+strings.TrimPrefix(encloser, "."))
	case r.wildcard != "" && negative:
		c.proveEncloser(m, r.name, encloser)
		c.show(m, r.wildcard)
	case r.wildcard != "":
		c.show(m, c.nextCloser(r.name, encloser))
	case negative:
		c.proveNoType(m, r.name)
	}
}

// provable returns the closest ancestor of a name, or the name itself, that is in the chain: with opt-out an empty
// non-terminal may not be.
func (c *chain) provable(name string) string {
	for name != c.signer.zone.origin {
		if _, match := c.find(name); match {
			break
		}
		name = resolver.ParentName(name)
	}
	return name
}

// proveNoType shows the link of a name. With NSEC the one before it does for an empty non-terminal;
// with NSEC3 and opt-out the name may have no link, and then neither has anything down to it from its
// closest encloser that can be proved (RFC 5155 section 7.2.4).
func (c *chain) proveNoType(m *dns.Msg, name string) {
	if _, match := c.find(name); match || c.params == nil {
		c.show(m, name)
		return
	}
	c.proveEncloser(m, name, c.provable(resolver.ParentName(name)))
}

// proveEncloser shows that of the names from a name up to its closest encloser only that exists.
func (c *chain) proveEncloser(m *dns.Msg, name, encloser string) {
	if c.params != nil {
		c.show(m, encloser)
	}
	c.show(m, c.nextCloser(name, encloser))
}

// nextCloser returns the name one label longer than the closest encloser (RFC 5155 section 1.3). NSEC
// has no use for it: the name itself is spanned by the same record.
func (c *chain) nextCloser(name, encloser string) string {
	if c.params == nil {
		return name
	}
	for resolver.ParentName(name) != encloser && name != "." {
		name = resolver.ParentName(name)
	}
	return name
}
