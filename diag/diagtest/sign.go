package diagtest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
)

// Signing configures how a zone is signed (RFC 4033 to 4035). The zero value means ECDSA, a KSK and a ZSK,
// and NSEC.
type Signing struct {
	Algorithm uint8    // 8 (RSA/SHA-256), 13 (ECDSA P-256), 15 (Ed25519) or 16 (Ed448); 0 means 13
	Bits      int      // size of RSA keys, also weak ones from 512 on; 0 means 2048
	OneKey    bool     // one key signs everything
	NSEC3     *NSEC3   // proves absence by hashed names (RFC 5155); nil means NSEC
	Seed      string   // keys are derived from it and the name of the zone, so they are reproducible
	Island    bool     // the parent zone has no DS record: the delegation is insecure
	Digest    uint8    // digest type of the DS record: 1, 2 or 4; 0 means 2 (SHA-256)
	Broken    []Broken // what is wrong
	Keys      *Keys    // which keys there are, instead of one or two
	// Omit are types, by name, that the NSEC or NSEC3 record of the name omits although the name has them.
	Omit map[string][]uint16
	// Inception and Expiration of the signatures default to a day before and 30 days after the call of Sign.
	Inception, Expiration time.Time

	rolls int // how often the key that signs the rest was replaced
}

// Keys are the keys of a zone by name, as where several providers sign it, each with keys of its own (RFC 8901, see
// [Server.Sign]). Those whose names begin with "ksk" sign the DNSKEY record set, all others the rest of the zone. A
// name identifies the same key at all servers of a zone.
type Keys struct {
	Published []string // keys in the DNSKEY record set
	Signing   []string // keys that sign
	DS        []string // keys with a DS record in the parent zone
}

// NSEC3 are the parameters of hashed names (RFC 5155 section 3.1).
type NSEC3 struct {
	Salt       string // in hexadecimal
	Iterations uint16
	OptOut     bool // insecure delegations are omitted from the chain
}

// A SigningFault is a way in which a signed zone fails to validate.
type SigningFault string

// The faults of signed zones.
const (
	SigExpired     SigningFault = "expired"            // signatures expired the day before
	SigNotYetValid SigningFault = "not yet valid"      // signatures begin the day after
	SigCorrupt     SigningFault = "corrupt"            // signatures do not fit the records
	SigUnknownKey  SigningFault = "unknown key"        // signatures are by a key that is not in the zone
	SigWrongSigner SigningFault = "wrong signer"       // signatures name another zone as the signer
	SigZoneKey     SigningFault = "zone key"           // signatures over the keys are by the key that signs the rest
	SigMissing     SigningFault = "missing signatures" // there are no signatures
	DenialMissing  SigningFault = "missing denial"     // NSEC and NSEC3 records are left out of replies
	DSMismatch     SigningFault = "wrong ds"           // the DS record is that of another key
	DSUnknown      SigningFault = "unknown ds"         // the DS record has an unknown algorithm
)

// Broken is a fault in a signed zone. Faults of signatures may be limited to one name, one type, or both; empty and
// 0 match all.
type Broken struct {
	Fault  SigningFault
	Name   string
	Type   uint16
	Beside bool // the faulty signature is accompanied by a valid one
}

func (b Broken) holds(owner string, rrtype uint16) bool {
	return (b.Name == "" || dns.CanonicalName(b.Name) == owner) && (b.Type == 0 || b.Type == rrtype)
}

// explanations are the extended errors of a validating resolver for faults (RFC 8914 section 4); the others are
// DNSSEC Bogus.
var explanations = map[SigningFault]uint16{
	SigExpired:     dns.ExtendedErrorCodeSignatureExpired,
	SigNotYetValid: dns.ExtendedErrorCodeSignatureNotYetValid,
	SigMissing:     dns.ExtendedErrorCodeRRSIGsMissing,
	DenialMissing:  dns.ExtendedErrorCodeNSECMissing,
	SigUnknownKey:  dns.ExtendedErrorCodeDNSKEYMissing,
	SigZoneKey:     dns.ExtendedErrorCodeDNSKEYMissing,
	DSMismatch:     dns.ExtendedErrorCodeDNSKEYMissing,
}

// Sign signs a zone, and every parent zone up to the root that is not signed yet. Missing zones are created:
// signing example.com. makes com. and example.com. zones with SOA and NS records, and all other names below
// com. unsigned zones.
//
// The world's own resolver and the public resolvers set AD if an answer validates, and answer SERVFAIL with
// an extended error if validation fails, unless CD is set. The keys of the root become the trust anchors of
// [World.Env].
func (w *World) Sign(origin string, s Signing) {
	if !w.completeSigning(origin, &s) {
		return
	}
	above := Signing{Inception: s.Inception, Expiration: s.Expiration}
	w.dns.sign(dns.CanonicalName(origin), &s, &above)
	w.env.TrustAnchors = w.anchors()
}

// completeSigning fills in the usual, and reports whether a zone can be signed like that.
func (w *World) completeSigning(origin string, s *Signing) bool {
	now := w.Now()
	if s.Inception.IsZero() {
		s.Inception = now.AddDate(0, 0, -1)
	}
	if s.Expiration.IsZero() {
		s.Expiration = now.AddDate(0, 0, 30)
	}
	if !strings.Contains(" 0 8 13 15 16 ", fmt.Sprintf(" %d ", s.Algorithm)) {
		w.check(fmt.Errorf("signing %s: unknown algorithm %d", origin, s.Algorithm))
		return false
	}
	return true
}

// Sign makes the server sign a zone in its own way, as one of several providers does, and returns it. The
// zone must be signed with [World.Sign], which still determines the DS records in the parent zone and what
// resolvers see.
func (s *Server) Sign(origin string, how Signing) *Server {
	if !s.world.completeSigning(origin, &how) {
		return s
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.signing == nil {
		s.signing, s.signed = map[string]*Signing{}, map[*zone]*zone{}
	}
	s.signing[dns.CanonicalName(origin)] = &how
	clear(s.signed)
	return s
}

// resign signs a zone of the server in its own way, if it has one.
func (s *Server) resign(z *zone) *zone {
	s.mu.Lock()
	defer s.mu.Unlock()
	how := s.signing[z.origin]
	if how == nil || z.signer == nil {
		return z
	}
	if s.signed[z] == nil {
		bare := z.clone()
		delete(bare.apex(), dns.TypeDNSKEY)
		delete(bare.apex(), dns.TypeNSEC3PARAM)
		s.signed[z] = bare.sign(how)
	}
	return s.signed[z]
}

func (n *names) sign(name string, s, above *Signing) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.signing[name] = s
	if name == "." { // which holds delegations alone, and not the names of the world
		n.implied[name] = true
	} else {
		n.asked[name] = true
	}
	n.implyAbove(name)
	for name != "." {
		if name = resolver.ParentName(name); n.signing[name] == nil {
			n.signing[name] = above
		}
	}
	n.zones = nil
}

// implyAbove makes sure that the parent zones of one exist. The caller holds the lock.
func (n *names) implyAbove(name string) {
	for name != "." {
		name = resolver.ParentName(name)
		n.implied[name] = true
	}
}

// Roll replaces the ZSK of a signed zone. The KSK stays.
func (w *World) Roll(origin string) {
	w.dns.change(func() {
		if how := w.dns.signing[dns.CanonicalName(origin)]; how != nil {
			how.rolls++
		}
	})
}

// signedLike signs what a server of its own has of a zone, as that zone is signed in the world.
func (n *names) signedLike(z *zone) *zone {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.sealed[z] == nil {
		if n.sealed == nil {
			n.sealed = map[*zone]*zone{}
		}
		n.sealed[z] = n.seal(z)
	}
	return n.sealed[z]
}

// Anchors returns the DS records of the root zone: the trust anchors.
func (w *World) Anchors() []*dns.DS { return w.DS(".") }

func (w *World) anchors() []dns.RR {
	return kit.Map(w.Anchors(), func(ds *dns.DS) dns.RR { return ds })
}

// DS returns the DS records for the keys of a signed zone, whether or not the parent zone has them.
func (w *World) DS(zone string) []*dns.DS {
	z := w.dns.current()[dns.CanonicalName(zone)]
	if z == nil || z.signer == nil {
		return []*dns.DS{}
	}
	return kit.Map(z.signer.anchors, func(k *signingKey) *dns.DS { return k.ds(z.signer.how.Digest) })
}

// DNSKEY returns the keys of a signed zone.
func (w *World) DNSKEY(zone string) []*dns.DNSKEY {
	keys := []*dns.DNSKEY{}
	if z := w.dns.current()[dns.CanonicalName(zone)]; z != nil {
		for _, rr := range z.apex()[dns.TypeDNSKEY] {
			keys = append(keys, dns.Copy(rr).(*dns.DNSKEY))
		}
	}
	return keys
}

// build makes the zones of the records. The caller holds the lock.
func (n *names) build() map[string]*zone {
	origins := apexes(n.records)
	made := map[string]bool{} // zones that are not in the records
	for _, set := range []map[string]bool{n.asked, n.implied} {
		for origin := range set {
			made[origin] = !origins[origin] || made[origin]
			origins[origin] = true
		}
	}
	n.carve(origins, made)
	zones := split(n.records, origins)
	for origin, isMade := range made {
		if isMade && len(zones[origin].apex()[dns.TypeSOA]) == 0 {
			zones[origin].add(soaOf(origin))
		}
	}
	for origin := range origins {
		if _, known := made[origin]; known && len(zones[origin].apex()[dns.TypeNS]) == 0 {
			addServers(zones, origin)
		}
	}
	sealed := map[string]*zone{}
	for origin, z := range zones {
		sealed[origin] = n.seal(z)
	}
	n.sealed = nil
	return sealed
}

// carve makes zones of the records below a zone that is made up because it must lie above another:
// such a zone holds delegations alone, and the address of its own server.
func (n *names) carve(origins, made map[string]bool) {
	for _, rr := range n.records {
		child, origin := "", dns.CanonicalName(rr.Header().Name)
		for !origins[origin] && origin != "." {
			child, origin = origin, resolver.ParentName(origin)
		}
		above := made[origin] && n.implied[origin] && !n.asked[origin]
		if above && child != "" && child != hostOf(origin) {
			origins[child], made[child] = true, true
		}
	}
}

func hostOf(origin string) string { return "ns." + strings.TrimPrefix(origin, ".") }

// addServers gives a zone NS records, and its parent zone the delegation.
func addServers(zones map[string]*zone, origin string) {
	if origin == "." {
		for _, rr := range rootServers() {
			zones["."].add(rr)
		}
		return
	}
	header := dns.RR_Header{Name: origin, Rrtype: dns.TypeNS, Class: dns.ClassINET, Ttl: 300}
	ns := &dns.NS{Hdr: header, Ns: hostOf(origin)}
	zones[origin].add(ns)
	enclosing(zones, resolver.ParentName(origin), dns.TypeNS).add(ns)
}

// seal returns a zone with its keys, the DS records of the zones below, and its signer, or the zone
// itself if it is not signed. The caller holds the lock.
func (n *names) seal(z *zone) *zone {
	how := n.signing[z.origin]
	if how == nil {
		return z
	}
	z = z.clone()
	for child, s := range n.signing {
		if child != z.origin && !s.Island && dns.IsSubDomain(z.origin, child) &&
			len(z.nodes[child][dns.TypeNS]) > 0 && len(z.nodes[child][dns.TypeDS]) == 0 {
			for _, ds := range newSigner(newZone(child), s).published() {
				z.add(ds)
			}
		}
	}
	return z.sign(how)
}

// sign gives a zone its keys and its signer, and returns it.
func (z *zone) sign(how *Signing) *zone {
	z.signer = newSigner(z, how)
	for _, key := range z.signer.keys {
		z.add(key.dnskey)
	}
	if p := how.NSEC3; p != nil {
		z.add(&dns.NSEC3PARAM{
			Hdr:  dns.RR_Header{Name: z.origin, Rrtype: dns.TypeNSEC3PARAM, Class: dns.ClassINET},
			Hash: dns.SHA1, Iterations: p.Iterations, SaltLength: uint8(len(p.Salt) / 2), Salt: p.Salt,
		})
	}
	return z
}

// clone copies a zone so that records can be added.
func (z *zone) clone() *zone {
	c := newZone(z.origin)
	for _, n := range z.nodes {
		for _, rrs := range n {
			for _, rr := range rrs {
				c.add(rr)
			}
		}
	}
	return c
}

// A trouble is why a validating resolver refuses an answer.
type trouble struct {
	code uint16 // extended error, RFC 8914
	text string
}

func troubleOf(z *zone, f SigningFault) *trouble {
	code := cmp.Or(explanations[f], dns.ExtendedErrorCodeDNSBogus)
	return &trouble{code, "validating " + z.origin + ": " + string(f)}
}

// status returns how a validating resolver judges a zone: secure if each zone from the root down to it is signed and
// has its DS record in the parent zone, and in trouble if it should be and is not (RFC 4035 section 5).
func status(zones map[string]*zone, z *zone, now time.Time) (secure bool, t *trouble) {
	if z.origin == "." {
		if z.signer == nil {
			return false, nil
		}
		t = z.trouble(now)
		return t == nil, t
	}
	above := enclosing(zones, resolver.ParentName(z.origin), dns.TypeNone)
	if secure, t = status(zones, above, now); !secure {
		return false, t
	}
	var known bool
	records := above.nodes[z.origin][dns.TypeDS]
	for _, rr := range records {
		known = known || rr.(*dns.DS).Algorithm <= dns.ED448
	}
	fault := above.signer.broken(z.origin, dns.TypeDS)
	switch {
	case len(records) > 0 && fault != "":
		return false, troubleOf(above, fault)
	case len(records) == 0 && above.signer.has(DenialMissing):
		return false, troubleOf(above, DenialMissing)
	case !known: // RFC 4035 section 5.2: neither absent nor unknown DS records make it secure
		return false, nil
	case z.signer == nil:
		return false, troubleOf(z, SigMissing)
	case !slices.ContainsFunc(records, z.signer.vouched):
		return false, troubleOf(z, DSMismatch)
	}
	t = z.trouble(now)
	return t == nil, t
}

func (z *zone) trouble(now time.Time) *trouble {
	how := z.signer.how
	switch f := z.signer.broken(z.origin, dns.TypeDNSKEY); {
	case f != "":
		return troubleOf(z, f)
	case now.After(how.Expiration):
		return troubleOf(z, SigExpired)
	case now.Before(how.Inception):
		return troubleOf(z, SigNotYetValid)
	}
	return nil
}

func (z *zone) troubleWith(r result) *trouble {
	if z.signer == nil {
		return nil
	}
	name := r.name
	if r.wildcard != "" {
		name = r.wildcard
	}
	for _, rrtype := range types(r.answer) {
		if f := z.signer.broken(name, rrtype); f != "" && len(r.dname) == 0 {
			return troubleOf(z, f)
		}
	}
	negative := len(r.answer) == 0
	if (negative || r.wildcard != "") && z.signer.has(DenialMissing) {
		return troubleOf(z, DenialMissing)
	}
	if negative {
		if f := z.signer.broken(z.origin, dns.TypeSOA); f != "" {
			return troubleOf(z, f)
		}
	}
	return nil
}
