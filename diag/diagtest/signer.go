package diagtest

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/miekg/dns"
)

// A signer makes the signatures and the proofs of absence of a zone when they are asked for.
type signer struct {
	zone        *zone
	how         *Signing
	keys        []*signingKey // of the DNSKEY record set
	anchors     []*signingKey // of which the parent zone has DS records
	keySigners  []*signingKey // sign the keys (KSK)
	zoneSigners []*signingKey // sign the rest (ZSK); the same if there is one key

	mu     sync.Mutex
	sigs   map[faultKey][]dns.RR
	denial *chain
}

func newSigner(z *zone, how *Signing) *signer {
	s := &signer{zone: z, how: how, sigs: map[faultKey][]dns.RR{}}
	if k := how.Keys; k != nil {
		s.keys, s.anchors = s.named(k.Published), s.named(k.DS)
		for _, key := range s.named(k.Signing) {
			if key.dnskey.Flags == flagKSK {
				s.keySigners = append(s.keySigners, key)
			} else {
				s.zoneSigners = append(s.zoneSigners, key)
			}
		}
		return s
	}
	s.keys = []*signingKey{newKey(z.origin, "keys", flagKSK, how)}
	s.anchors, s.keySigners, s.zoneSigners = s.keys, s.keys, s.keys
	if !how.OneKey {
		s.zoneSigners = []*signingKey{newKey(z.origin, "zone"+strings.Repeat("+", how.rolls), flagZone, how)}
		s.keys = slices.Concat(s.keySigners, s.zoneSigners)
	}
	return s
}

// named makes keys by their names, see [Keys].
func (s *signer) named(names []string) []*signingKey {
	return kit.Map(names, func(name string) *signingKey {
		if strings.HasPrefix(name, "ksk") {
			return newKey(s.zone.origin, name, flagKSK, s.how)
		}
		return newKey(s.zone.origin, name, flagZone, s.how)
	})
}

// published returns the DS records that the parent zone has.
func (s *signer) published() []*dns.DS { return kit.Map(s.anchors, s.publishedOf) }

func (s *signer) publishedOf(key *signingKey) *dns.DS {
	ds := key.ds(s.how.Digest)
	for _, b := range s.how.Broken {
		switch b.Fault {
		case DSMismatch:
			other := newKey(s.zone.origin, "another", flagKSK, s.how).ds(s.how.Digest)
			ds.Digest = other.Digest
		case DSUnknown:
			ds.Algorithm = 200 // unassigned
		}
	}
	ds.Hdr.Ttl = 3600
	return ds
}

func (s *signer) vouched(rr dns.RR) bool {
	ds := rr.(*dns.DS)
	return slices.ContainsFunc(s.keySigners, func(key *signingKey) bool {
		own := key.ds(ds.DigestType)
		return own != nil && own.Algorithm == ds.Algorithm && strings.EqualFold(own.Digest, ds.Digest)
	})
}

// broken returns why a record set does not validate, or nothing.
func (s *signer) broken(owner string, rrtype uint16) SigningFault {
	if b := s.flaw(owner, rrtype); !b.Beside {
		return b.Fault
	}
	return ""
}

// flaw returns what is wrong with the signature of a record set, if anything.
func (s *signer) flaw(owner string, rrtype uint16) Broken {
	for _, b := range s.how.Broken {
		switch b.Fault {
		case DenialMissing, DSMismatch, DSUnknown:
			continue
		}
		if b.holds(owner, rrtype) {
			return b
		}
	}
	return Broken{}
}

func (s *signer) has(f SigningFault) bool {
	return slices.ContainsFunc(s.how.Broken, func(b Broken) bool { return b.Fault == f })
}

// signatures returns the signatures of the records at a node, with an owner that may be another if
// the node is a wildcard.
func (s *signer) signatures(owner, name string, rrtype uint16) []dns.RR {
	rrset := s.zone.nodes[name][rrtype]
	if len(rrset) == 0 || !s.authoritative(name, rrtype) {
		return nil
	}
	return renamed(s.sign(name, rrtype, rrset), owner)
}

// authoritative reports whether records of a type at a name belong to the zone: not below a
// delegation, and at one only the records of the parent side (RFC 4035 section 2.2).
func (s *signer) authoritative(name string, rrtype uint16) bool {
	switch s.zone.cutAbove(name) {
	case "":
		return true
	case name:
		return rrtype == dns.TypeDS || rrtype == dns.TypeNSEC
	}
	return false
}

// cutAbove returns the delegation at or above a name, or nothing.
func (z *zone) cutAbove(name string) string {
	cut := ""
	for n := name; n != z.origin && n != "."; n = resolver.ParentName(n) {
		if len(z.nodes[n][dns.TypeNS]) > 0 {
			cut = n
		}
	}
	return cut
}

func (z *zone) delegated(name string, qtype uint16) bool {
	cut := z.cutAbove(name)
	return cut != "" && (cut != name || qtype != dns.TypeDS)
}

// sign makes the signatures of a record set (RFC 4034 section 3.1).
func (s *signer) sign(name string, rrtype uint16, rrset []dns.RR) []dns.RR {
	s.mu.Lock()
	defer s.mu.Unlock()
	slot := faultKey{name, rrtype}
	if sigs, ok := s.sigs[slot]; ok {
		return sigs
	}
	keys := s.zoneSigners
	if rrtype == dns.TypeDNSKEY {
		keys = s.keySigners
	}
	flaw := s.flaw(name, rrtype)
	var sigs []dns.RR
	add := func(k *signingKey, fault SigningFault) {
		if fault == SigUnknownKey {
			k = newKey(s.zone.origin, "unknown", flagZone, s.how)
		}
		if fault == SigZoneKey && len(s.zoneSigners) > 0 {
			k = s.zoneSigners[0]
		}
		if sig := s.signature(rrset, k, fault); sig != nil {
			sigs = append(sigs, sig)
		}
	}
	for _, k := range keys {
		if flaw.Fault != SigMissing {
			add(k, flaw.Fault)
		}
		if flaw.Beside {
			add(k, "")
		}
	}
	s.sigs[slot] = sigs
	return sigs
}

func (s *signer) signature(rrset []dns.RR, k *signingKey, fault SigningFault) *dns.RRSIG {
	from, until := s.how.Inception, s.how.Expiration
	switch day := 24 * time.Hour; fault {
	case SigExpired:
		from, until = from.Add(-60*day), from
	case SigNotYetValid:
		from, until = from.Add(2*day), until.Add(2*day)
	}
	header := *rrset[0].Header()
	sig := &dns.RRSIG{
		Hdr:       dns.RR_Header{Name: header.Name, Rrtype: dns.TypeRRSIG, Class: dns.ClassINET, Ttl: header.Ttl},
		Algorithm: k.dnskey.Algorithm, OrigTtl: header.Ttl, Inception: uint32(from.Unix()),
		Expiration: uint32(until.Unix()), KeyTag: k.dnskey.KeyTag(), SignerName: s.zone.origin,
		TypeCovered: header.Rrtype,
	}
	if fault == SigWrongSigner {
		sig.SignerName = "other." + s.zone.origin
		if s.zone.origin == "." {
			sig.SignerName = "other."
		}
	}
	if sign(sig, k, rrset) != nil {
		return nil // a record set that cannot be packed has no signature
	}
	if fault == SigCorrupt {
		sig.Signature = corrupt(sig.Signature)
	}
	return sig
}

func corrupt(signature string) string {
	b, err := base64.StdEncoding.DecodeString(signature)
	if err != nil || len(b) == 0 {
		return signature
	}
	b[len(b)-1] ^= 1
	return base64.StdEncoding.EncodeToString(b)
}

// types lists the types among records, in order of appearance.
func types(rrs []dns.RR) []uint16 {
	return view.Unique(kit.Map(rrs, func(rr dns.RR) uint16 { return rr.Header().Rrtype }))
}

// prove adds to a message what validates the result (RFC 4035 section 3.1).
func (s *signer) prove(m *dns.Msg, r result, qtype uint16) {
	for _, rr := range r.dname[:min(1, len(r.dname))] {
		owner := dns.CanonicalName(rr.Header().Name)
		m.Answer = append(m.Answer, s.signatures(rr.Header().Name, owner, dns.TypeDNAME)...)
	}
	name := r.name
	if r.wildcard != "" {
		name = r.wildcard
	}
	if len(r.dname) == 0 {
		for _, rrtype := range types(r.answer) {
			m.Answer = append(m.Answer, s.signatures(r.answer[0].Header().Name, name, rrtype)...)
		}
	}
	if s.has(DenialMissing) || r.zone.delegated(r.name, qtype) {
		return
	}
	s.chain().prove(m, r)
}

// asked returns the DNSSEC records at a name, for a query of their type.
func (s *signer) asked(name string, qtype uint16) []dns.RR {
	if qtype == dns.TypeNSEC && s.how.NSEC3 == nil {
		return s.chain().at(name)
	}
	var list []dns.RR
	if qtype == dns.TypeRRSIG {
		for _, rrtype := range slices.Sorted(maps.Keys(s.zone.nodes[name])) {
			list = append(list, s.signatures(name, name, rrtype)...)
		}
	}
	return list
}

// proveCut adds to a referral the DS records, or the proof of their absence (RFC 4035 section 3.1.4).
func (s *signer) proveCut(m *dns.Msg, r result) {
	if ds := s.zone.nodes[r.cut][dns.TypeDS]; len(ds) > 0 {
		m.Ns = append(m.Ns, copied(ds)...)
		m.Ns = append(m.Ns, s.signatures(ds[0].Header().Name, r.cut, dns.TypeDS)...)
		return
	}
	if !s.has(DenialMissing) {
		s.chain().proveNoType(m, r.cut)
	}
}

func (s *signer) chain() *chain {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.denial == nil {
		s.denial = newChain(s)
	}
	return s.denial
}

// all lists the signatures and the proofs of absence of the whole zone, for a transfer.
func (s *signer) all() []dns.RR {
	var list []dns.RR
	for _, name := range slices.Sorted(maps.Keys(s.zone.nodes)) {
		for _, rrtype := range slices.Sorted(maps.Keys(s.zone.nodes[name])) {
			list = append(list, s.signatures(name, name, rrtype)...)
		}
	}
	c := s.chain()
	for i := range c.links {
		list = append(list, c.record(i)...)
	}
	return list
}
