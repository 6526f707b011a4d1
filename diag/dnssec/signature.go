package dnssec

import (
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// The bounds of the work that signatures may cause. Keys may share a tag and sets have many
// signatures, so that the checks multiply (KeyTrap, CVE-2023-50387). Real zones need one check for a
// set, and one more for each other key with the same tag, of which there are seldom two.
const (
	maxSignatures = 16 // checks for one answer
	maxFailures   = 8  // checks that fail, in a whole validation
	maxExtra      = 3  // checks beyond the first success, so that a report can tell of them
	maxListed     = 32 // signatures, keys and the like that a report lists for a zone
)

// A key is a public key of a zone.
type key struct {
	rr     *dns.DNSKEY
	tag    uint16
	public publicKey // nil if it cannot be used
	fault  error     // why not
	proven bool      // a signature of it was right, so it is the first to try of those with its tag
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

// verify looks for a signature over a set that one of the keys of a zone made. Those that were looked
// at are added to log, if it is not nil, where further signatures may be by other keys of the zone.
func (v *validation) verify(set *rrset, z name, keys, others []*key, log *[]Signature) (*dns.RRSIG, *Failure) {
	all := slices.Concat(keys, others)
	var fit, unfit []*dns.RRSIG
	var reason *Failure
	for _, sig := range set.sigs {
		f := v.examine(sig, set, z, all)
		switch {
		case f != nil:
			reason = telling(reason, f)
			v.note(log, sig, f)
		case slices.ContainsFunc(keys, func(k *key) bool { return k.made(sig) }):
			fit = append(fit, sig)
		default:
			unfit = append(unfit, sig)
		}
	}
	var proof *dns.RRSIG
	for len(fit) > 0 && proof == nil {
		sig := fit[0]
		f := v.checkAll(sig, set, z, keys)
		v.note(log, sig, f)
		if fit = fit[1:]; f == nil {
			proof = sig
		} else {
			reason = telling(reason, f)
		}
	}
	if proof != nil {
		v.verifyMore(set, z, all, append(fit, unfit...), log)
		return proof, nil
	}
	for _, sig := range unfit {
		f := fault(z, codeSigKey, "The signature over %s was made with the key %d, for which nobody vouches", set, sig.KeyTag)
		reason = telling(reason, f)
		v.note(log, sig, f)
	}
	if reason == nil {
		reason = fault(z, codeSigMissing, "There is no signature over %s", set)
	}
	return nil, reason
}

// verifyMore looks at signatures beyond the one that proves a set, for a report to tell of them.
func (v *validation) verifyMore(set *rrset, z name, keys []*key, sigs []*dns.RRSIG, log *[]Signature) {
	for i, sig := range sigs {
		f := fault(z, codeWork, "It was not checked, because another one is right")
		if v.thorough && i < maxExtra && v.failures == 0 {
			f = v.checkAll(sig, set, z, keys)
		}
		v.note(log, sig, f)
	}
}

// explanation orders the reasons why no signature of a set is right by how much they explain.
var explanation = map[diag.Code]int{
	codeSigUnsupported: 1, codeSigSigner: 2, codeSigLabels: 3, codeSigKey: 4, codeSigPeriod: 5,
	codeSigEarly: 6, codeSigExpired: 7, codeKeyUnusable: 8, codeSigInvalid: 9, codeWork: 10,
}

func telling(a, b *Failure) *Failure {
	if a == nil || explanation[b.Code] > explanation[a.Code] {
		return b
	}
	return a
}

// examine says what is wrong with a signature as far as that can be seen without cryptography
// (RFC 4035 section 5.3.1).
func (v *validation) examine(sig *dns.RRSIG, set *rrset, z name, keys []*key) *Failure {
	signer, _ := parseName(sig.SignerName)
	labels := int(sig.Labels)
	switch {
	case signer != z:
		return fault(z, codeSigSigner, "The signature over %s names %s as its signer instead of the zone %s",
			set, quoteName(sig.SignerName), z)
	case labels > set.owner.signedLabels() || labels < z.labels():
		return fault(z, codeSigLabels, "The signature over %s is for a name of %d labels, which cannot be", set, labels)
	case !v.policy.supports(sig.Algorithm):
		return fault(z, codeSigUnsupported, "The signature over %s has the algorithm %s, which cannot be checked",
			set, algorithmName(sig.Algorithm))
	}
	if f := v.examinePeriod(sig, set, z); f != nil {
		return f
	}
	if !slices.ContainsFunc(keys, func(k *key) bool { return k.made(sig) }) {
		return fault(z, codeSigKey, "The signature over %s was made with a key with the tag %d and algorithm %s, "+
			"which is not among those of the zone that may sign it", set, sig.KeyTag, algorithmName(sig.Algorithm))
	}
	return nil
}

// examinePeriod compares the times of a signature with the clock. They are numbers of 32 bits that
// wrap around (RFC 4034 section 3.1.5, RFC 1982). Both ends belong to the period, and no clock skew
// is allowed for.
func (v *validation) examinePeriod(sig *dns.RRSIG, set *rrset, z name) *Failure {
	now := uint32(v.now.Unix())
	begin, end := serialTime(sig.Inception, v.now), serialTime(sig.Expiration, v.now)
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
func (v *validation) checkAll(sig *dns.RRSIG, set *rrset, z name, keys []*key) *Failure {
	invalid := fault(z, codeSigInvalid, "The signature over %s does not fit the records and the key %d", set, sig.KeyTag)
	data := signedData(sig, z, set)
	signature, err := base64.StdEncoding.DecodeString(sig.Signature)
	if err != nil || data == nil {
		return invalid
	}
	candidates := slices.DeleteFunc(slices.Clone(keys), func(k *key) bool { return !k.made(sig) })
	slices.SortStableFunc(candidates, func(a, b *key) int { return rank(a) - rank(b) })
	for _, k := range candidates {
		if v.checks == maxSignatures || v.failures == maxFailures {
			return fault(z, codeWork, "The keys and signatures for %s ask for more checks than any real zone does", set)
		}
		if k.public == nil {
			v.failures++
			invalid = fault(z, codeKeyUnusable, "The key %d of algorithm %s, which signed %s, cannot be used: %v",
				k.tag, algorithmName(k.rr.Algorithm), set, k.fault)
			continue
		}
		v.checks++
		v.work.Signatures++
		if v.memo.check(k, data, signature) {
			k.proven = true
			return nil
		}
		v.failures++
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

// quoteName returns a name from a record for a message.
func quoteName(s string) string {
	if n, ok := parseName(s); ok {
		return n.String()
	}
	return fmt.Sprintf("%.100q", s)
}

func instant(t time.Time) string { return t.Format("2006-01-02 15:04:05 UTC") }

// serialTime returns the time that is meant by a 32-bit number of seconds: the one of all that are
// equal modulo 2^32 that lies next to now (RFC 4034 section 3.1.5).
func serialTime(seconds uint32, now time.Time) time.Time {
	base := now.Unix()
	return time.Unix(base+int64(int32(seconds-uint32(base))), 0).UTC()
}
