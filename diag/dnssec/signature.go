package dnssec

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/miekg/dns"
)

type key struct {
	rr     *dns.DNSKEY
	tag    uint16
	public *publicKey // nil if it cannot be used
	fault  error      // why not
	proven bool       // a signature of it was right, so it is the first to try of those with its tag
}

func newKey(rr *dns.DNSKEY) *key {
	k := &key{rr: rr, tag: rr.KeyTag()}
	k.public, k.fault = parsePublicKey(rr)
	return k
}

// forZone reports whether a key may sign records: it is a zone key of DNSSEC and not revoked
// (RFC 4034 sections 2.1.1 and 2.1.2, RFC 5011 section 2.1).
func (k *key) forZone() bool {
	return k.rr.Flags&dns.ZONE != 0 && k.rr.Protocol == 3 && k.rr.Flags&dns.REVOKE == 0
}

// verify looks for a signature over a set that one of the keys of a zone made. Those examined are added to log, if
// it is not nil, where further signatures may be by other keys of the zone.
func (v *engine) verify(set *rrset, z name, keys, others []*key, log *[]Signature) (*dns.RRSIG, *ChainFault) {
	all := slices.Concat(keys, others)
	var fit, unfit []*dns.RRSIG
	var reason *ChainFault
	for _, sig := range set.sigs {
		f := v.examine(sig, set, z, all)
		switch {
		case f != nil:
			reason = telling(reason, f)
			v.note(log, set, sig, f)
		case slices.ContainsFunc(keys, func(k *key) bool { return k.made(sig) }):
			fit = append(fit, sig)
		default:
			unfit = append(unfit, sig)
		}
	}
	var proof *dns.RRSIG
	for len(fit) > 0 && proof == nil {
		sig := fit[0]
		f := v.checkAll(sig, set, z, keys, &v.needed)
		v.note(log, set, sig, f)
		if fit = fit[1:]; f == nil {
			proof = sig
		} else {
			reason = telling(reason, f)
		}
	}
	if len(unfit) > 0 {
		reason = telling(reason, fault(z, codeKeysSigner, "%s is signed with the key %d and not with the key %d, which the "+
			"DS record or trust anchor is for", set, unfit[0].KeyTag, keys[0].tag))
	}
	v.verifyMore(set, z, all, append(fit, unfit...), log)
	switch {
	case proof != nil:
		return proof, nil
	case reason == nil:
		reason = fault(z, codeSigMissing, "There is no signature over %s", set)
	}
	return nil, reason
}

// checkSet decides whether a zone vouches for a set of records of an answer (RFC 4035 section 5.3). The denials are
// those that permit the expansion of a wildcard, if there was one.
func (v *engine) checkSet(msg *message, set *rrset, z name, keys []*key, log *[]Signature) (statusCause, *denials) {
	sig, f := v.verify(set, z, keys, nil, log)
	if f != nil {
		return bogus(f), nil
	}
	set.proof = sig
	labels := int(sig.Labels)
	switch {
	case labels == set.owner.signedLabels():
		return secure, nil
	case set.rrtype == dns.TypeDS, set.rrtype == dns.TypeDNAME:
		// RFC 4592 sections 4.4 and 4.6: neither means anything at a wildcard, so no server that is in
		// order makes such an answer.
		return bogus(fault(z, codeWildcard, "A wildcard stood in for %s", set)), nil
	}
	d := v.denials(msg, z, keys)
	return d.wildcard(set.owner, labels), d
}

// verifyMore judges the signatures that do not decide whether a set is valid: a resolver may pick any of them first.
// They have a separate budget, and checking them causes no further failures.
func (v *engine) verifyMore(set *rrset, z name, keys []*key, sigs []*dns.RRSIG, log *[]Signature) {
	for _, sig := range sigs {
		f := fault(z, codeWork, "It was not checked, because another one is right")
		if v.thorough {
			f = v.checkAll(sig, set, z, keys, &v.spare)
		}
		v.note(log, set, sig, f)
	}
}

// explanation orders the reasons why no signature of a set is right by how much they explain.
var explanation = map[diag.Code]int{
	codeSigUnsupported: 1, codeSigSigner: 2, codeSigLabels: 3, codeSigKey: 4, codeKeysSigner: 4, codeSigPeriod: 5,
	codeSigEarly: 6, codeSigExpired: 7, codeKeyUnusable: 8, codeSigInvalid: 9, codeWork: 10,
}

func telling(a, b *ChainFault) *ChainFault {
	if a == nil || explanation[b.Code] > explanation[a.Code] {
		return b
	}
	return a
}

// examine says what is wrong with a signature as far as that can be seen without cryptography (RFC 4035 section 5.3.1).
func (v *engine) examine(sig *dns.RRSIG, set *rrset, z name, keys []*key) *ChainFault {
	signer, _ := parseName(sig.SignerName)
	labels := int(sig.Labels)
	switch {
	case signer != z:
		return fault(z, codeSigSigner, "The signature over %s names %s as its signer instead of the zone %s",
			set, quoteName(sig.SignerName), z)
	case labels > set.owner.signedLabels() || labels < z.labels():
		return fault(z, codeSigLabels, "The signature over %s has a label count of %d, which cannot be right", set, labels)
	case !supports(sig.Algorithm):
		return fault(z, codeSigUnsupported, "The signature over %s has the algorithm %s, which cannot be checked",
			set, resolve.AlgorithmName(sig.Algorithm))
	}
	if f := v.examinePeriod(sig, set, z); f != nil {
		return f
	}
	if !slices.ContainsFunc(keys, func(k *key) bool { return k.made(sig) }) {
		return fault(z, codeSigKey, "The signature over %s was made with a key with the tag %d and algorithm %s, "+
			"which is not among those of the zone that may sign it", set, sig.KeyTag, resolve.AlgorithmName(sig.Algorithm))
	}
	return nil
}

// examinePeriod compares the times of a signature with the clock. They are numbers of 32 bits that wrap around (RFC
// 4034 section 3.1.5, RFC 1982). Both ends belong to the period, and no clock skew is allowed for.
func (v *engine) examinePeriod(sig *dns.RRSIG, set *rrset, z name) *ChainFault {
	now := uint32(v.now.Unix())
	begin, end := resolve.SerialTime(sig.Inception, v.now), resolve.SerialTime(sig.Expiration, v.now)
	switch {
	case int32(sig.Expiration-sig.Inception) < 0:
		return fault(z, codeSigPeriod, "The signature over %s by the key %d ends before it begins: %s, %s",
			set, sig.KeyTag, instant(end), instant(begin))
	case int32(sig.Expiration-now) < 0:
		return fault(z, codeSigExpired, "The signature over %s by the key %d expired at %s", set, sig.KeyTag, instant(end))
	case int32(now-sig.Inception) < 0:
		return fault(z, codeSigEarly, "The signature over %s by the key %d is not valid before %s",
			set, sig.KeyTag, instant(begin))
	}
	return nil
}

// made reports whether a signature may be of a key.
func (k *key) made(sig *dns.RRSIG) bool {
	return k.tag == sig.KeyTag && k.rr.Algorithm == sig.Algorithm
}

// checkAll checks a signature with each key that may have made it.
func (v *engine) checkAll(sig *dns.RRSIG, set *rrset, z name, keys []*key, b *budget) *ChainFault {
	invalid := fault(z, codeSigInvalid, "The signature over %s does not match the records and the key %d", set, sig.KeyTag)
	data := signedData(sig, z, set)
	signature, err := base64.StdEncoding.DecodeString(sig.Signature)
	if err != nil || data == nil {
		return invalid
	}
	candidates := slices.DeleteFunc(slices.Clone(keys), func(k *key) bool { return !k.made(sig) })
	slices.SortStableFunc(candidates, func(a, b *key) int { return rank(a) - rank(b) })
	for _, k := range candidates {
		if b.exhausted(v.limits) {
			return fault(z, codeWork, "The keys and signatures for %s ask for more checks than any real zone does", set)
		}
		if k.public == nil {
			b.failures++
			invalid = fault(z, codeKeyUnusable, "The key %d of algorithm %s, which signed %s, cannot be used: %v",
				k.tag, resolve.AlgorithmName(k.rr.Algorithm), set, k.fault)
			continue
		}
		b.checks, b.total = b.checks+1, b.total+1
		v.work.Signatures++
		if v.memo.check(k, data, signature) {
			k.proven = true
			return nil
		}
		b.failures++
	}
	return invalid
}

// rank orders keys with the same tag: those that have proven themselves first, useless ones last.
func rank(k *key) int {
	switch {
	case k.proven:
		return 0
	case k.public != nil:
		return 1
	default:
		return 2
	}
}

func (s *rrset) String() string { return s.setKey.String() }

func (k setKey) String() string { return fmt.Sprintf("%s %s", dns.Type(k.rrtype), k.owner) }

func quoteName(s string) string {
	if n, ok := parseName(s); ok {
		return n.String()
	}
	return fmt.Sprintf("%.100q", s)
}

func instant(t time.Time) string { return t.Format("2006-01-02 15:04:05 UTC") }

// A Checker validates the signatures of one zone, and its proofs of absence, with given keys. It sends no
// queries. It must not be used by several goroutines concurrently.
//
//	c := dnssec.NewChecker("example.com.", keys, env.Now())
//	reply := c.Read(msg)
//	result := reply.Records("www.example.com.", dns.TypeA)
//
// The caller must check that the parent zone has a DS record for one of the keys; see [MatchesDS].
type Checker struct {
	zone   name
	keys   []*key
	engine engine
}

// checkerLimits are those of an audit, which sees the answers of many servers: for each the limit of a
// validation, and the time of half a second for all.
var checkerLimits = limits{checks: maxSignatures, failures: 96, total: 1024}

// NewChecker returns a checker for a zone with the given keys, which compares validity periods with now. Keys
// that must not sign the zone are ignored; see [ForZone].
func NewChecker(zone string, keys []*dns.DNSKEY, now time.Time) *Checker {
	c := &Checker{engine: engine{now: now, memo: &shared, thorough: true, limits: checkerLimits}}
	c.zone, _ = parseName(zone)
	for _, rr := range keys[:min(len(keys), maxKeys)] {
		if k := newKey(rr); k.forZone() {
			c.keys = append(c.keys, k)
		}
	}
	return c
}

// A Reply is a parsed message of a server of the zone.
type Reply struct {
	c   *Checker
	msg *message
}

// Read parses a message from a server of the zone.
func (c *Checker) Read(m *dns.Msg) Reply { return Reply{c, newMessage(m, nil)} }

// A Judgement is the result of validating the signatures over one record set, or over a proof of absence.
type Judgement struct {
	// Signatures are the signatures over the records, each validated separately because resolvers may pick
	// any of them; at most 32.
	Signatures []Signature
	// Fault is the reason that a validator refuses the records. It is nil if at least one signature is valid
	// (RFC 6840 section 5.11).
	Fault *ChainFault
	// Denial describes the proof of absence; nil if none was needed or found.
	Denial *Denial
}

// Checked reports whether validation was completed. It is false if that would take more signature checks than
// the limit.
func (j Judgement) Checked() bool { return j.Fault == nil || j.Fault.Code != codeWork }

// Records validates the records of a name and type in the answer section; the bool is false if there are
// none. If the records were expanded from a wildcard, the proof that permits it is validated too.
func (r Reply) Records(owner string, rrtype uint16) (Judgement, bool) {
	n, _ := parseName(owner)
	set := r.msg.answer[setKey{n, rrtype}]
	if set == nil {
		return Judgement{}, false
	}
	var j Judgement
	r.c.engine.begin()
	f, d := r.c.engine.checkSet(r.msg, set, r.c.zone, r.c.keys, &j.Signatures)
	j.conclude(f, d)
	return j, true
}

// Denial validates the proof that a name does not exist, if the message is an NXDOMAIN, or that it has no
// records of a type.
func (r Reply) Denial(owner string, rrtype uint16) Judgement {
	n, _ := parseName(owner)
	var j Judgement
	r.c.engine.begin()
	f, d := r.c.engine.checkDenial(r.msg, n, rrtype, r.c.zone, r.c.keys, &j.Signatures)
	j.conclude(f, d)
	return j
}

func (j *Judgement) conclude(f statusCause, d *denials) {
	if f.status == diag.Bogus {
		j.Fault = f.why
	}
	if d == nil {
		return
	}
	for _, s := range d.log {
		if len(j.Signatures) < maxListed {
			j.Signatures = append(j.Signatures, s)
		}
	}
	if d.any() {
		j.Denial = d.facts(f.status != diag.Bogus)
	}
}

// ForZone reports whether a key may sign the records of its zone: it is a zone key and not revoked (RFC 4034
// section 2.1.1, RFC 5011 section 2.1).
func ForZone(k *dns.DNSKEY) bool { return (&key{rr: k}).forZone() }

// MatchesDS reports whether a DS record is the digest of a key that may sign its zone.
func MatchesDS(ds *dns.DS, k *dns.DNSKEY) bool {
	zone, ok := parseName(k.Hdr.Name)
	return ok && ForZone(k) && ds.KeyTag == k.KeyTag() && ds.Algorithm == k.Algorithm && digestFits(ds, k, zone)
}

// NewDS returns the DS record for a key, with a SHA-256 digest as RFC 9904 recommends. It returns nil if the
// key cannot be read.
func NewDS(k *dns.DNSKEY) *dns.DS {
	ds := k.ToDS(dns.SHA256)
	if ds != nil {
		ds.Hdr.Name, ds.Digest = strings.ToLower(ds.Hdr.Name), strings.ToUpper(ds.Digest)
	}
	return ds
}
