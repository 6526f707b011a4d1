package dnssec

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/cloudflare/circl/sign/ed448"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/miekg/dns"
)

// The bounds of RSA keys.
const (
	minRSABits = 512  // RFC 5702 section 2.1
	maxRSABits = 4096 // RFC 3110 section 2
	maxRSAExp  = 5    // octets of the exponent: more only costs time (CVE-2017-3139 was such a key)
	// smallRSABits is below what crypto/rsa accepts. Such keys can be broken, yet a zone that is
	// signed with one is signed, so they are validated here and warned of.
	smallRSABits = 1024
)

// A publicKey is one that can be used: how it verifies a signature, and its size.
type publicKey struct {
	verify func(data, signature []byte) bool
	bits   int
}

// Why a key cannot be used.
var (
	errKeyForm      = errors.New("its key material is malformed")
	errKeySize      = errors.New("its size is out of bounds")
	errKeyAlgorithm = errors.New("its algorithm is not supported")
)

func parsePublicKey(k *dns.DNSKEY) (*publicKey, error) {
	material, err := base64.StdEncoding.DecodeString(k.PublicKey)
	if err != nil {
		return nil, errKeyForm
	}
	hash, ok := hashes[k.Algorithm]
	if !ok {
		return nil, errKeyAlgorithm
	}
	switch k.Algorithm {
	case dns.ECDSAP256SHA256:
		return parseECDSA(material, elliptic.P256(), hash)
	case dns.ECDSAP384SHA384:
		return parseECDSA(material, elliptic.P384(), hash)
	case dns.ED25519:
		if len(material) != ed25519.PublicKeySize { // RFC 8080 section 3
			return nil, errKeyForm
		}
		return &publicKey{func(data, signature []byte) bool {
			return len(signature) == ed25519.SignatureSize && ed25519.Verify(material, data, signature)
		}, 8 * len(material)}, nil
	case dns.ED448:
		if len(material) != ed448.PublicKeySize {
			return nil, errKeyForm
		}
		return &publicKey{func(data, signature []byte) bool { // the standard library has no Ed448
			return len(signature) == ed448.SignatureSize && ed448.Verify(material, data, signature, "")
		}, 8 * len(material)}, nil
	default:
		return parseRSA(material, hash)
	}
}

type rsaKey struct {
	hash crypto.Hash
	n, e *big.Int
}

// rsaParts reads the length of the exponent in one octet or three, the exponent, and the modulus
// (RFC 3110 section 2). Both come without leading zeros.
func rsaParts(b []byte) (modulus, exponent []byte, ok bool) {
	if len(b) < 3 {
		return nil, nil, false
	}
	length, b := int(b[0]), b[1:]
	if length == 0 {
		length, b = int(b[0])<<8|int(b[1]), b[2:]
	}
	if length == 0 || length >= len(b) {
		return nil, nil, false
	}
	return bytes.TrimLeft(b[length:], "\x00"), bytes.TrimLeft(b[:length], "\x00"), true
}

// RSABits returns the size of an RSA key in bits, even if no validator accepts that size. It returns 0 for
// other algorithms, and for a key that cannot be read.
func RSABits(k *dns.DNSKEY) int {
	material, err := base64.StdEncoding.DecodeString(k.PublicKey)
	if err != nil || !isRSA(k.Algorithm) {
		return 0
	}
	modulus, _, _ := rsaParts(material)
	return new(big.Int).SetBytes(modulus).BitLen()
}

func parseRSA(b []byte, hash crypto.Hash) (*publicKey, error) {
	n, e, ok := rsaParts(b)
	if !ok {
		return nil, errKeyForm
	}
	if len(e) > maxRSAExp || len(n) > maxRSABits/8 {
		return nil, errKeySize
	}
	k := &rsaKey{hash, new(big.Int).SetBytes(n), new(big.Int).SetBytes(e)}
	if k.bits() < minRSABits || k.bits() > maxRSABits {
		return nil, errKeySize
	}
	if k.n.Bit(0) == 0 || k.e.Bit(0) == 0 || k.e.Cmp(big.NewInt(1)) == 0 {
		return nil, errKeyForm // such a key verifies forged data
	}
	return &publicKey{k.verify, k.bits()}, nil
}

func (k *rsaKey) bits() int { return k.n.BitLen() }

func (k *rsaKey) verify(data, signature []byte) bool {
	digest := sum(k.hash, data)
	size := (k.bits() + 7) / 8
	if len(signature) < size { // signers may leave out leading zeros
		signature = append(make([]byte, size-len(signature)), signature...)
	}
	if k.bits() >= smallRSABits && k.e.BitLen() < 32 {
		public := &rsa.PublicKey{N: k.n, E: int(k.e.Int64())}
		return rsa.VerifyPKCS1v15(public, k.hash, digest, signature) == nil
	}
	return k.verifyPlain(digest, signature, size)
}

// prefixes are the DER encodings of the hash algorithms that precede a digest (RFC 8017 section 9.2).
var prefixes = map[crypto.Hash]string{
	crypto.SHA1:   "\x30\x21\x30\x09\x06\x05\x2b\x0e\x03\x02\x1a\x05\x00\x04\x14",
	crypto.SHA256: "\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00\x04\x20",
	crypto.SHA512: "\x30\x51\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x03\x05\x00\x04\x40",
}

// verifyPlain compares the whole padded message with what the signature holds (RFC 8017 section
// 8.2.2), for keys that crypto/rsa refuses.
func (k *rsaKey) verifyPlain(digest, signature []byte, size int) bool {
	s := new(big.Int).SetBytes(signature)
	tail := prefixes[k.hash] + string(digest)
	padding := size - 3 - len(tail)
	if len(signature) != size || s.Cmp(k.n) >= 0 || padding < 8 {
		return false
	}
	want := append([]byte{0, 1}, bytes.Repeat([]byte{0xff}, padding)...)
	want = append(append(want, 0), tail...)
	return bytes.Equal(s.Exp(s, k.e, k.n).FillBytes(make([]byte, size)), want)
}

// parseECDSA reads the two coordinates of a point (RFC 6605 section 4).
func parseECDSA(b []byte, curve elliptic.Curve, hash crypto.Hash) (*publicKey, error) {
	public, err := ecdsa.ParseUncompressedPublicKey(curve, append([]byte{4}, b...))
	if err != nil {
		return nil, errKeyForm
	}
	bits := curve.Params().BitSize
	half := bits / 8
	return &publicKey{func(data, signature []byte) bool {
		if len(signature) != 2*half {
			return false
		}
		r, s := new(big.Int).SetBytes(signature[:half]), new(big.Int).SetBytes(signature[half:])
		return ecdsa.Verify(public, sum(hash, data), r, s)
	}, bits}, nil
}

// sum hashes parts that follow each other.
func sum(hash crypto.Hash, parts ...[]byte) []byte {
	h := hash.New()
	for _, part := range parts {
		h.Write(part)
	}
	return h.Sum(nil)
}

// maxDigests bounds the digests that are computed for one zone: each DS record is compared with the
// keys that have its tag, and an attacker may give all the same tag.
const maxDigests = 256

// A matcher finds the keys of a zone that DS records match.
type matcher struct {
	usable  []*dns.DS // those that count
	zone    name
	digests int // computed
}

// fits reports whether a DS record matches a key.
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
					ds.KeyTag, resolve.AlgorithmName(ds.Algorithm), resolve.AlgorithmName(k.rr.Algorithm))
			}
		}
	}
	return fault(m.zone, codeDSMismatch, "None of the keys of the zone is the one in its DS record, %d (%s)",
		m.usable[0].KeyTag, resolve.AlgorithmName(m.usable[0].Algorithm))
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
	head := append(binary.BigEndian.AppendUint16(nil, k.Flags), k.Protocol, k.Algorithm)
	return bytes.Equal(sum(hash, []byte(z), head, material), want)
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
	z.info.publish = ProposeDS(kit.Map(keys, record), kit.Map(signers, record))
}

// ProposeDS returns DS records for the parent zone, one per line as in a zone file. They are for the keys in
// signers, which sign the DNSKEY set. If keys, the keys of the zone, include secure entry points (RFC 4034
// section 2.1.1), DS records are proposed only for these, because other keys are replaced without updating
// the parent zone. The result may be empty.
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
