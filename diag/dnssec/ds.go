package dnssec

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// maxDigests bounds the digests that are computed for one zone: each DS record is compared with the
// keys that have its tag, and an attacker may give all the same tag.
const maxDigests = 256

// A matcher finds the keys of a zone that DS records stand for.
type matcher struct {
	usable  []*dns.DS // those that count
	zone    name
	digests int // computed
}

// fits reports whether a DS record stands for a key.
func (m *matcher) fits(k *key) bool {
	for _, ds := range m.usable {
		if ds.KeyTag != k.tag || ds.Algorithm != k.rr.Algorithm || m.digests == maxDigests {
			continue
		}
		m.digests++
		if digestFits(ds, k.rr, m.zone) {
			return true
		}
	}
	return false
}

// explain says why no key fits.
func (m *matcher) explain(keys []*key) *ChainFault {
	if m.digests == maxDigests {
		return fault(m.zone, codeWork, "The DS records and keys ask for more than %d digests, which real zones never do",
			maxDigests)
	}
	for _, ds := range m.usable {
		for _, k := range keys {
			if ds.KeyTag != k.tag {
				continue
			}
			switch same := ds.Algorithm == k.rr.Algorithm; {
			case same && k.rr.Flags&dns.REVOKE != 0:
				return fault(m.zone, codeDSRevoked, "The DS record is for the key %d, which is revoked", ds.KeyTag)
			case same && !k.forZone():
				return fault(m.zone, codeKeyUnusable, "The key %d is not a zone key (flags %d, protocol %d)",
					ds.KeyTag, k.rr.Flags, k.rr.Protocol)
			case same:
				return fault(m.zone, codeDSMismatch, "The digest in the DS record for the key %d is not that of the key", ds.KeyTag)
			default:
				return fault(m.zone, codeDSMismatch, "The DS record for the key %d says %s, but the key is for %s",
					ds.KeyTag, AlgorithmName(ds.Algorithm), AlgorithmName(k.rr.Algorithm))
			}
		}
	}
	return fault(m.zone, codeDSMismatch, "None of the keys of the zone is the one in its DS record, %d (%s)",
		m.usable[0].KeyTag, AlgorithmName(m.usable[0].Algorithm))
}

// digestFits reports whether the digest of a DS record is that of a key: of the owner and the data of
// the DNSKEY record (RFC 4034 section 5.1.4).
func digestFits(ds *dns.DS, k *dns.DNSKEY, z name) bool {
	hash, known := digests[ds.DigestType]
	want, err := hex.DecodeString(strings.ReplaceAll(ds.Digest, " ", ""))
	if err != nil || !known || len(want) != hash.Size() {
		return false
	}
	material, err := base64.StdEncoding.DecodeString(k.PublicKey)
	if err != nil {
		return false
	}
	h := hash.New()
	h.Write([]byte(z))
	h.Write(append(binary.BigEndian.AppendUint16(nil, k.Flags), k.Protocol, k.Algorithm))
	h.Write(material)
	return string(h.Sum(nil)) == string(want)
}

// maxDS bounds the DS records that are proposed for a zone: one for each key that signs its keys.
const maxDS = 4

// selfSigned examines keys of a zone that the parent zone does not vouch for, and keeps for a report
// the DS records that would make it do so: of the keys that signed all keys, those with the flag of a
// secure entry point if there are any (RFC 4034 section 2.1.1).
func (v *validation) selfSigned(z *zone, msg *message, keys []*key) {
	set := msg.answer[setKey{z.name, dns.TypeDNSKEY}]
	if !v.thorough || set == nil {
		return
	}
	v.begin()
	var signers []*key
	for _, sig := range set.sigs {
		f := v.examine(sig, set, z.name, keys)
		if f == nil {
			f = v.checkAll(sig, set, z.name, keys, &v.spare)
		}
		v.note(&z.info.Signatures, set, sig, f)
		for _, k := range keys {
			if f == nil && k.proven && k.made(sig) && k.forZone() && !slices.Contains(signers, k) {
				signers = append(signers, k)
			}
		}
	}
	record := func(k *key) *dns.DNSKEY { return k.rr }
	z.info.publish = ProposeDS(diag.Map(keys, record), diag.Map(signers, record))
}

// ProposeDS returns the DS records with which the parent zone would vouch for keys that sign the DNSKEY records of
// their zone, one a line as in a zone file: of those with the flag of a secure entry point if the zone has such keys
// (RFC 4034 section 2.1.1), for the others are replaced without a word to the parent zone. Of no keys that is nothing.
func ProposeDS(keys, signers []*dns.DNSKEY) string {
	entry := func(k *dns.DNSKEY) bool { return k.Flags&dns.SEP != 0 && ForZone(k) }
	some := slices.ContainsFunc(keys, entry)
	var lines []string
	for _, k := range signers {
		if ds := NewDS(k); ds != nil && (entry(k) || !some) && len(lines) < maxDS {
			lines = append(lines, fmt.Sprintf("%s IN DS %d %d %d %s", ds.Hdr.Name, ds.KeyTag, ds.Algorithm, ds.DigestType,
				ds.Digest))
		}
	}
	return strings.Join(lines, "\n")
}
