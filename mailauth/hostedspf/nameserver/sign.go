package nameserver

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

const (
	// resign is how long a signature is used before another is made.
	resign = 24 * time.Hour
	// signAhead is how long before it is made a signature begins, for validators whose clocks are slow.
	signAhead = time.Hour
	// signJitter is the variation of signature expirations, so that they are not all renewed at the same time.
	signJitter = 6 * time.Hour
	// onlineValidity is how long signatures last: records that were replaced can be replayed until then.
	onlineValidity = 3 * 24 * time.Hour
	// transferredValidity is that where there are secondaries: a zone that cannot be refreshed expires before its
	// signatures do (RFC 6781 section 4.4.2.1).
	transferredValidity = expire + resign + signJitter + 24*time.Hour
	// maxSignatures bounds each of the two halves of the signature cache, some 35 MB.
	maxSignatures = 1 << 16
)

type signer struct {
	keys     []SigningKey // all sign the keys, the first all else
	validity time.Duration
	clock    diag.Clock
	log      *slog.Logger

	mu         sync.Mutex
	young, old map[identity]*dns.RRSIG
}

// newSigner returns nil without keys.
func newSigner(c *Config) (*signer, error) {
	for _, k := range c.Signing {
		if k.public == nil || k.public.Hdr.Name != dns.CanonicalName(c.Zone.Name.FQDN()) {
			return nil, fmt.Errorf("zone %s: is to be signed with a key of another zone", c.Zone.Name)
		}
	}
	if len(c.Signing) == 0 {
		return nil, nil
	}
	s := &signer{keys: c.Signing, validity: onlineValidity, clock: c.Clock, log: c.Log, young: map[identity]*dns.RRSIG{}}
	if len(c.Secondaries) > 0 || c.Key != nil {
		s.validity = transferredValidity
	}
	return s, nil
}

func (s *snapshot) signedBy(by *signer) *snapshot {
	if s.signer = by; by != nil {
		for _, k := range by.keys {
			s.add(k.public)
		}
	}
	return s
}

// An identity is a digest of a set of records and its signing key.
type identity [sha256.Size]byte

func identify(k SigningKey, rrs []dns.RR) (id identity, err error) {
	size := 0
	for _, rr := range rrs {
		size = max(size, dns.Len(rr))
	}
	scratch := make([]byte, size)
	h := sha256.New()
	start, err := dns.PackDomainName(dns.CanonicalName(rrs[0].Header().Name), scratch, 0, nil, false)
	if err != nil {
		return id, err
	}
	h.Write(scratch[:start])
	for _, rr := range rrs {
		end, err := dns.PackRR(dns.Copy(rr), scratch, 0, nil, false) // which writes into its argument
		if err != nil {
			return id, err
		}
		h.Write(scratch[start:end]) // without the name, whose letter case is that of the question
	}
	h.Write([]byte(k.public.PublicKey))
	h.Sum(id[:0])
	return id, nil
}

func (s *signer) signatures(rrs []dns.RR) (list []dns.RR) {
	keys := s.keys[:1]
	if rrs[0].Header().Rrtype == dns.TypeDNSKEY {
		keys = s.keys
	}
	for _, k := range keys {
		sig, err := s.signature(k, rrs)
		if err != nil { // only for records that cannot be sent either
			s.log.Error("a record of hosted SPF is not signed", "error", err)
			continue
		}
		named := *sig
		named.Hdr.Name, named.Hdr.Ttl = rrs[0].Header().Name, rrs[0].Header().Ttl
		list = append(list, &named)
	}
	return list
}

func (s *signer) signature(k SigningKey, rrs []dns.RR) (*dns.RRSIG, error) {
	id, err := identify(k, rrs)
	if err != nil {
		return nil, err
	}
	now := s.clock()
	if sig := s.recall(id, now); sig != nil {
		return sig, nil
	}
	jitter := time.Duration(binary.BigEndian.Uint64(id[:])%uint64(signJitter/time.Second)) * time.Second
	sig, err := k.sign(rrs, now.Add(-signAhead), now.Add(s.validity+jitter))
	if err == nil {
		s.remember(id, sig)
	}
	return sig, err
}

func (s *signer) recall(id identity, now time.Time) *dns.RRSIG {
	s.mu.Lock()
	defer s.mu.Unlock()
	sig := s.young[id]
	if sig == nil {
		if sig = s.old[id]; sig == nil {
			return nil
		}
		s.keep(id, sig)
	}
	left := time.Duration(int32(sig.Expiration-uint32(now.Unix()))) * time.Second // RFC 1982 section 3.2
	if left < s.validity-resign || left > s.validity+signJitter {                 // the clock was set back
		return nil
	}
	return sig
}

func (s *signer) remember(id identity, sig *dns.RRSIG) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(id, sig)
}

// keep stores a signature, and drops those not used since the young half began to fill.
func (s *signer) keep(id identity, sig *dns.RRSIG) {
	if len(s.young) >= maxSignatures {
		s.old, s.young = s.young, make(map[identity]*dns.RRSIG, maxSignatures)
	}
	s.young[id] = sig
}

// signed adds their signatures to records, which are grouped by set.
func (s *signer) signed(rrs []dns.RR) (list []dns.RR) {
	for len(rrs) > 0 {
		n, first := 1, rrs[0].Header()
		for n < len(rrs) && rrs[n].Header().Rrtype == first.Rrtype && rrs[n].Header().Name == first.Name {
			n++
		}
		list = append(append(list, rrs[:n]...), s.signatures(rrs[:n])...)
		rrs = rrs[n:]
	}
	return list
}

// prove adds proofs to an answer, if the client requests them: signatures and, for a negative answer, an NSEC record
// made for the queried name (compact denial of existence, RFC 9824). It covers no other name, so that the zone cannot
// be enumerated, and no name is inferred to be absent before it is queried.
func (s *snapshot) prove(m *dns.Msg, q dns.Question, opt *dns.OPT) {
	if q.Qtype == dns.TypeNSEC || q.Qtype == dns.TypeRRSIG {
		nsec := []dns.RR{s.nsec(q.Name)}
		if m.Rcode, m.Answer, m.Ns = dns.RcodeSuccess, nsec, nil; q.Qtype == dns.TypeRRSIG {
			m.Answer = s.signer.signatures(nsec) // one is enough (RFC 8482 section 7)
			return
		}
	}
	if opt == nil || !opt.Do() { // RFC 4035 section 3.1
		return
	}
	if len(m.Ns) > 0 {
		m.Ns = append(s.provenSOA(), s.signer.signed([]dns.RR{s.nsec(q.Name)})...)
		if m.Rcode == dns.RcodeNameError && !opt.Co() { // RFC 9824 sections 3.1 and 5.1
			m.Rcode = dns.RcodeSuccess
		}
	}
	m.Answer, m.Extra = s.signer.signed(m.Answer), s.signer.signed(m.Extra)
}

// provenSOA is the SOA record of negative answers with its signature, which is that of the record itself.
func (s *snapshot) provenSOA() []dns.RR {
	list := append([]dns.RR{s.negative}, s.signer.signatures([]dns.RR{s.soa})...)
	for _, sig := range list[1:] {
		sig.Header().Ttl = s.negative.Hdr.Ttl
	}
	return list
}

func (s *snapshot) nsec(name string) *dns.NSEC {
	nsec := &dns.NSEC{Hdr: header(name, dns.TypeNSEC, s.negative.Hdr.Ttl), NextDomain: successor(dns.CanonicalName(name))}
	nsec.TypeBitMap = append(s.types(dns.CanonicalName(name)), dns.TypeRRSIG, dns.TypeNSEC)
	slices.Sort(nsec.TypeBitMap)
	return nsec
}

// types lists the types of data at a name, which is [dns.TypeNXNAME] if the name does not exist (RFC 9824 section
// 3.1).
func (s *snapshot) types(name string) []uint16 {
	if n, ok := s.nodes[name]; ok {
		return slices.Collect(maps.Keys(n))
	}
	client, set, ok := s.setOf(name)
	if !ok {
		return []uint16{dns.TypeNXNAME}
	}
	if set.has(client) {
		return []uint16{dns.TypeA}
	}
	return nil
}

// successor is the name that follows another in canonical order (RFC 4034 section 6.1, RFC 4471 section 3.1.2). The
// other is in lower case.
func successor(name string) string {
	var wire [maxName]byte
	end, err := dns.PackDomainName(name, wire[:], 0, nil, false)
	if err != nil {
		return name // never, since the name was read out of a message
	}
	if end+2 <= maxName {
		return `\000.` + name
	}
	n := int(wire[0])
	if end < maxName && n < maxLabel { // room for another octet
		label := append(append([]byte{byte(n + 1)}, wire[1:1+n]...), 0)
		return unpacked(append(label, wire[1+n:end]...))
	}
	for start := 0; wire[start] != 0; start += 1 + int(wire[start]) { // the next beside it, or beside a name above it
		for last := start + int(wire[start]); last > start; last-- {
			if wire[last] == 0xff {
				continue
			}
			if wire[last]++; wire[last] == 'A' { // lower case counts
				wire[last] = 'Z' + 1
			}
			label := append([]byte{byte(last - start)}, wire[start+1:last+1]...)
			return unpacked(append(label, wire[start+1+int(wire[start]):end]...))
		}
	}
	return "."
}

const (
	maxName  = 255 // RFC 1035 section 3.1
	maxLabel = 63
)

func unpacked(wire []byte) string {
	name, _, _ := dns.UnpackDomainName(wire, 0) // is one
	return name
}
