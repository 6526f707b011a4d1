package pki

import (
	"crypto/dsa" //lint:ignore SA1019 keys of this kind are described in order to be called weak
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"fmt"
	"math/big"
)

// KeyAlgorithm is the kind of a public key.
type KeyAlgorithm string

// The kinds of public keys.
const (
	RSA      KeyAlgorithm = "rsa"
	ECDSA    KeyAlgorithm = "ecdsa"
	Ed25519  KeyAlgorithm = "ed25519"
	DSA      KeyAlgorithm = "dsa"
	OtherKey KeyAlgorithm = "other"
)

// Values lists the kinds.
func (KeyAlgorithm) Values() []string {
	return []string{string(RSA), string(ECDSA), string(Ed25519), string(DSA), string(OtherKey)}
}

// A PublicKey describes a public key.
type PublicKey struct {
	Algorithm  KeyAlgorithm `json:"algorithm" doc:"kind of key"`
	SizeBits   int          `json:"size_bits" min:"0" doc:"size of the modulus or of the field, in bits; 0 if unknown"`
	Curve      string       `json:"curve,omitempty" doc:"elliptic curve" example:"P-256"`
	Exponent   int64        `json:"exponent,omitempty" doc:"public exponent of an RSA key, if it is below 2^63"`
	Weak       bool         `json:"weak" doc:"whether the key should not be used any more"`
	WeakReason string       `json:"weak_reason,omitempty" doc:"why the key is weak"`
	SPKISHA256 string       `json:"spki_sha256" doc:"SHA-256 of the SubjectPublicKeyInfo, in hex"`
}

// The smallest sizes that still give 112 bits (RSA) and 128 bits (elliptic curves) of security, as the
// CA/Browser Forum's Baseline Requirements ask in section 6.1.5.
const (
	MinRSABits   = 2048
	MinCurveBits = 256
)

// DescribeKey describes a public key of Go's crypto packages. spki is its SubjectPublicKeyInfo in DER
// form; if nil it is made from the key.
func DescribeKey(key any, spki []byte) PublicKey {
	if spki == nil {
		spki, _ = x509.MarshalPKIXPublicKey(key) // without it there is no fingerprint, which is no fault
	}
	k := PublicKey{Algorithm: OtherKey}
	if len(spki) > 0 {
		sum := sha256.Sum256(spki)
		k.SPKISHA256 = hex.EncodeToString(sum[:])
	}
	switch key := key.(type) {
	case *rsa.PublicKey:
		k.Algorithm, k.SizeBits, k.Exponent = RSA, key.N.BitLen(), int64(key.E)
		k.WeakReason = weakRSA(key.N, int64(key.E))
	case *ecdsa.PublicKey:
		k.Algorithm = ECDSA
		if key.Curve != nil {
			k.Curve, k.SizeBits = key.Curve.Params().Name, key.Curve.Params().BitSize
		}
		if k.SizeBits < MinCurveBits {
			k.WeakReason = fmt.Sprintf("the curve %s has fewer than %d bits", k.Curve, MinCurveBits)
		}
	case ed25519.PublicKey:
		k.Algorithm, k.SizeBits, k.Curve = Ed25519, 256, "Ed25519"
	case *dsa.PublicKey:
		k.Algorithm = DSA
		if key.P != nil {
			k.SizeBits = key.P.BitLen()
		}
		k.WeakReason = "DSA keys are no longer accepted for certificates"
	default:
		k.Curve = algorithmOID(spki)
	}
	k.Weak = k.WeakReason != ""
	return k
}

// ParseKey describes a public key in DER form: a SubjectPublicKeyInfo (RFC 5280 section 4.1.2.7). One
// whose algorithm is unknown is described as far as possible; an error means that it is no key at all.
func ParseKey(spki []byte) (PublicKey, error) {
	key, err := x509.ParsePKIXPublicKey(spki)
	switch {
	case err == nil:
		return DescribeKey(key, spki), nil
	case algorithmOID(spki) != "": // key may hold a nil pointer of a known kind, such as a point off its curve
		return DescribeKey(nil, spki), nil
	default:
		return PublicKey{}, fmt.Errorf("reading the public key: %w", err)
	}
}

// algorithmOID returns the algorithm's number out of a SubjectPublicKeyInfo, to name a kind of key
// that is not known otherwise.
func algorithmOID(spki []byte) string {
	var info struct {
		Algorithm struct {
			OID        asn1.ObjectIdentifier
			Parameters asn1.RawValue `asn1:"optional"`
		}
		Key asn1.BitString
	}
	if rest, err := asn1.Unmarshal(spki, &info); err != nil || len(rest) > 0 {
		return ""
	}
	return info.Algorithm.OID.String()
}

// weakRSA says why an RSA key is weak, the gravest reason first; empty if it is not. Only what can be told at
// once is looked for: a search for factors belongs to who has the time.
func weakRSA(n *big.Int, e int64) string {
	switch reason := Factorable(n); {
	case reason != "":
		return reason
	case e < 3 || e%2 == 0:
		return "the public exponent is not an odd number above 2"
	case n.BitLen() < MinRSABits:
		return fmt.Sprintf("the modulus has fewer than %d bits", MinRSABits)
	case e < MinExponent:
		return fmt.Sprintf("the public exponent is below %d", MinExponent)
	default:
		return ""
	}
}

// MinExponent is the smallest public exponent of RSA that is not weak (Baseline Requirements section 6.1.6).
const MinExponent = 1<<16 + 1
