package zonecheck

import (
	"encoding/base64"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// A security is what the audit makes of the signatures of the zone.
type security struct {
	*checker
	signed  bool       // a server has keys
	bare    []*address // servers that have no keys, or no signatures
	differ  bool       // servers have different keys
	ds      dsView
	cds     []*dns.DS
	cdnskey []*dns.DNSKEY
	cdsOK   bool            // CDS and CDNSKEY records are signed by a key that the DS records vouch for
	param   *dns.NSEC3PARAM // nil without
	optOut  bool
	algs    map[uint8]bool // of the signatures over the SOA records
	keyAlgs map[uint8]bool // of the keys
	proofs  int            // negative replies with a proof that were looked at
}

// A dsView compares the DS records of the zone above with the keys.
type dsView struct {
	usable  int       // records with an algorithm and a digest that are known
	matched []*dns.DS // those that stand for a key which signs the keys
	standby []*dns.DS // the other usable ones
}

// signedProbes are the probes whose answers at the apex must be signed.
func signedProbes() map[probe]uint16 {
	return map[probe]uint16{
		probeIdentity: dns.TypeSOA, probeKeys: dns.TypeDNSKEY, probeNS: dns.TypeNS, probeA: dns.TypeA,
		probeAAAA: dns.TypeAAAA, probeMX: dns.TypeMX, probeTXT: dns.TypeTXT,
	}
}

// secure examines all signatures that came along.
func (e *evidence) secure() security {
	keys := e.keys()
	s := security{
		checker: newChecker(e.zone, keys, e.now), signed: len(keys) > 0,
		algs: map[uint8]bool{}, keyAlgs: map[uint8]bool{},
	}
	for _, k := range keys {
		if usable(k) {
			s.keyAlgs[k.Algorithm] = true
		}
	}
	s.cds, s.cdnskey = e.wishes()
	if !s.signed {
		return s
	}
	s.compareKeys(e)
	var signers []uint16
	for _, ad := range e.serving {
		if slices.Contains(s.bare, ad) {
			continue // that it has nothing of it is said once
		}
		signers = append(signers, s.checkApex(e, ad)...)
		s.checkNames(e, ad)
	}
	s.compareDS(e.cut.ds, signers)
	s.checkContent(e)
	return s
}

// keys returns the keys of all servers.
func (e *evidence) keys() []*dns.DNSKEY {
	var keys []*dns.DNSKEY
	seen := map[string]bool{}
	for _, ad := range e.serving {
		for _, rr := range e.records(ad, probeKeys, dns.TypeDNSKEY) {
			if text := contentOf(rr); !seen[text] && len(keys) < MaxServers {
				seen[text] = true
				keys = append(keys, rr.(*dns.DNSKEY))
			}
		}
	}
	return keys
}

// compareKeys finds servers that have other keys than the first one that has any, and servers that
// have no keys or answer without signatures although others have them.
func (s *security) compareKeys(e *evidence) {
	first := ""
	var bare []*address
	for _, ad := range e.serving {
		if !ad.replies[probeKeys].ok() {
			continue
		}
		var lines []string
		for _, rr := range e.records(ad, probeKeys, dns.TypeDNSKEY) {
			lines = append(lines, contentOf(rr))
		}
		slices.Sort(lines)
		text := strings.Join(lines, "\n")
		switch {
		case text == "":
			s.bare = append(s.bare, ad)
		case unsignedReply(ad.replies[probeKeys]) && unsignedReply(ad.replies[probeIdentity]):
			bare = append(bare, ad)
		case first == "":
			first = text
		case text != first:
			s.differ = true
		}
	}
	if first != "" {
		s.bare = append(s.bare, bare...)
	}
}

// unsignedReply reports whether a reply has no signature at all.
func unsignedReply(r reply) bool {
	signature := func(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeRRSIG }
	return !r.ok() || !slices.ContainsFunc(r.msg.Answer, signature)
}

// checkApex verifies the signatures at the apex, and returns the tags of the keys that sign the keys,
// whether or not these signatures are valid.
func (s *security) checkApex(e *evidence, ad *address) (signers []uint16) {
	probes := signedProbes()
	for p := range probe(probeCount) {
		qtype, ok := probes[p]
		r := ad.replies[p]
		if !ok || r.rcode() != dns.RcodeSuccess || optOf(r) == nil {
			continue
		}
		v := s.check(r.msg.Answer, e.zone, qtype, e.target(ad))
		switch p {
		case probeIdentity:
			for _, alg := range v.algs {
				s.algs[alg] = true
			}
		case probeKeys:
			for _, sig := range signaturesOf(r.msg.Answer, e.zone, qtype) {
				signers = append(signers, sig.KeyTag)
			}
		}
		if len(r.msg.Answer) == 0 {
			s.checkProof(e, e.target(ad), r, e.zone, qtype)
		}
	}
	return signers
}

// checkNames examines the replies about names below the apex: one that is usual, and one that does not
// exist.
func (s *security) checkNames(e *evidence, ad *address) {
	if r := ad.replies[probeWWW]; r.ok() && optOf(r) != nil {
		s.checkName(e, r, "www."+e.zone, dns.TypeA, e.target(ad))
	}
	if r := ad.replies[probeAbsent]; r.ok() && optOf(r) != nil {
		s.checkName(e, r, absentLabel+"."+e.zone, dns.TypeA, e.target(ad))
	}
}

// checkName examines the reply about a name, unless it is that of a zone below.
func (s *security) checkName(e *evidence, r reply, name string, qtype uint16, target string) {
	switch {
	case !r.msg.Authoritative:
		return
	case len(r.msg.Answer) == 0:
		s.checkProof(e, target, r, name, qtype)
		return
	}
	for _, t := range []uint16{qtype, dns.TypeCNAME} {
		s.check(r.msg.Answer, name, t, target)
		if wildcardUnproven(r.msg, name, t, proofOf(r.msg, e.zone)) {
			s.note(noProof, target, "For an answer made from a wildcard there is no proof that %s does not exist.",
				bareName(name))
		}
	}
}

// checkProof examines the proof of a negative reply, and the signatures over it.
func (s *security) checkProof(e *evidence, target string, r reply, name string, qtype uint16) {
	if rcode := r.rcode(); rcode != dns.RcodeSuccess && rcode != dns.RcodeNameError {
		return
	}
	s.proofs++
	p := proofOf(r.msg, e.zone)
	if what := p.missing(r.msg, name, qtype); what != "" {
		s.note(noProof, target, "For %s %s: %s.", bareName(name), dns.Type(qtype), what)
	}
	s.check(r.msg.Ns, e.zone, dns.TypeSOA, target)
	for _, n := range p.nsec {
		s.check(r.msg.Ns, n.Hdr.Name, dns.TypeNSEC, target)
	}
	for _, n := range p.nsec3 {
		s.check(r.msg.Ns, n.Hdr.Name, dns.TypeNSEC3, target)
		s.optOut = s.optOut || n.Flags&1 != 0
	}
}

// compareDS finds out which DS records stand for keys that sign the keys (RFC 4035 section 5.2).
func (s *security) compareDS(list []*dns.DS, signers []uint16) {
	for _, ds := range list {
		if !knownAlgorithm(ds.Algorithm) || !knownDigest(ds.DigestType) {
			continue
		}
		s.ds.usable++
		stands := func(k *dns.DNSKEY) bool { return standsFor(ds, k) && slices.Contains(signers, k.KeyTag()) }
		if slices.ContainsFunc(s.keys, stands) {
			s.ds.matched = append(s.ds.matched, ds)
		} else {
			s.ds.standby = append(s.ds.standby, ds)
		}
	}
}

// standsFor reports whether a DS record is the digest of a key.
func standsFor(ds *dns.DS, k *dns.DNSKEY) bool {
	if ds.KeyTag != k.KeyTag() || ds.Algorithm != k.Algorithm || !usable(k) {
		return false
	}
	made := k.ToDS(ds.DigestType)
	return made != nil && strings.EqualFold(made.Digest, ds.Digest)
}

// knownAlgorithm reports whether validators are expected to know an algorithm (RFC 9904).
func knownAlgorithm(n uint8) bool {
	switch n {
	case dns.RSASHA1, dns.RSASHA1NSEC3SHA1, dns.RSASHA256, dns.RSASHA512, dns.ECDSAP256SHA256,
		dns.ECDSAP384SHA384, dns.ED25519, dns.ED448:
		return true
	}
	return false
}

// knownDigest reports whether validators are expected to know a digest of a DS record.
func knownDigest(n uint8) bool { return n == dns.SHA1 || n == dns.SHA256 || n == dns.SHA384 }

// wishes returns what the zone would have the zone above publish (RFC 7344).
func (e *evidence) wishes() (cds []*dns.DS, cdnskey []*dns.DNSKEY) {
	if r := e.at(e.zone, dns.TypeCDS); r.ok() {
		for _, rr := range set[*dns.CDS](r.msg.Answer, e.zone) {
			cds = append(cds, &rr.DS)
		}
	}
	if r := e.at(e.zone, dns.TypeCDNSKEY); r.ok() {
		for _, rr := range set[*dns.CDNSKEY](r.msg.Answer, e.zone) {
			cdnskey = append(cdnskey, &rr.DNSKEY)
		}
	}
	return cds[:min(len(cds), maxListed)], cdnskey[:min(len(cdnskey), maxListed)]
}

// checkContent verifies the signatures of what one server was asked, and looks at the parameters.
func (s *security) checkContent(e *evidence) {
	s.cdsOK = true
	for _, qtype := range []uint16{dns.TypeCDS, dns.TypeCDNSKEY, dns.TypeCAA, dns.TypeHTTPS, dns.TypeZONEMD,
		dns.TypeNSEC3PARAM} {
		r := e.at(e.zone, qtype)
		if !s.verifiable(r) {
			continue
		}
		v := s.check(r.msg.Answer, e.zone, qtype, bareName(e.zone))
		wish := qtype == dns.TypeCDS || qtype == dns.TypeCDNSKEY
		if wish && len(rrset(r.msg.Answer, e.zone, qtype)) > 0 {
			s.cdsOK = s.cdsOK && v.ok && s.vouched(v.signers)
		}
		if params := set[*dns.NSEC3PARAM](r.msg.Answer, e.zone); len(params) > 0 {
			s.param = params[0]
		}
	}
	if r := e.at("www."+e.zone, dns.TypeAAAA); s.verifiable(r) {
		s.checkName(e, r, "www."+e.zone, dns.TypeAAAA, "www")
	}
}

// verifiable reports whether a reply should have signatures: it is a good one, of a server that has any.
func (s *security) verifiable(r reply) bool {
	return r.rcode() == dns.RcodeSuccess && optOf(r) != nil && !slices.Contains(s.bare, r.by)
}

// vouched reports whether one of the keys is one that the DS records stand for. Without any nobody
// can tell (RFC 7344 section 4.1).
func (s *security) vouched(signers []uint16) bool {
	if len(s.ds.matched) == 0 {
		return true
	}
	return slices.ContainsFunc(s.ds.matched, func(ds *dns.DS) bool { return slices.Contains(signers, ds.KeyTag) })
}

// keyText names a key.
func keyText(k *dns.DNSKEY) string {
	return fmt.Sprintf("The key with tag %d has algorithm %d (%s)", k.KeyTag(), k.Algorithm, algorithmName(k.Algorithm))
}

func algorithmName(n uint8) string {
	if name, ok := dns.AlgorithmToString[n]; ok {
		return name
	}
	return "unassigned"
}

// modulusBits returns the size of the modulus of an RSA key in base64 (RFC 3110 section 2), or 0 if it
// cannot be read.
func modulusBits(public string) int {
	b, err := base64.StdEncoding.DecodeString(public)
	if err != nil || len(b) < 3 {
		return 0
	}
	length, rest := int(b[0]), b[1:]
	if length == 0 {
		length, rest = int(b[1])<<8|int(b[2]), b[3:]
	}
	if len(rest) <= length {
		return 0
	}
	return new(big.Int).SetBytes(rest[length:]).BitLen()
}
