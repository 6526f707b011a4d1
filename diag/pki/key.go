package pki

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"math/big"

	"github.com/diagkit/diagkit/diag"
)

// KeyAlgorithm is the kind of a public key.
type KeyAlgorithm string

// The kinds of public keys.
const (
	RSA      KeyAlgorithm = "rsa"
	ECDSA    KeyAlgorithm = "ecdsa"
	Ed25519  KeyAlgorithm = "ed25519"
	dsa      KeyAlgorithm = "dsa"
	OtherKey KeyAlgorithm = "other"
)

// Values lists the kinds.
func (KeyAlgorithm) Values() []string { return diag.Values(RSA, ECDSA, Ed25519, dsa, OtherKey) }

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
	k, err := ReadKey(spki)
	if err != nil { // a key that cannot be encoded
		k = &Key{Algorithm: OtherKey, OID: "unknown", SPKI: spki}
	}
	return k.Describe()
}

// ParseKey describes a public key in DER form: a SubjectPublicKeyInfo (RFC 5280 section 4.1.2.7). One
// whose algorithm is unknown is described as far as possible; an error means that it is no key at all.
func ParseKey(spki []byte) (PublicKey, error) {
	k, err := ReadKey(spki)
	if err != nil {
		return PublicKey{}, fmt.Errorf("reading the public key: %w", err)
	}
	return k.Describe(), nil
}

// Describe describes the key. Whether it is weak is told as far as that takes no list of known keys; see [Key.Checks].
func (k *Key) Describe() PublicKey {
	d := PublicKey{Algorithm: k.Algorithm, SizeBits: k.Size(), WeakReason: k.weakness()}
	if len(k.SPKI) > 0 {
		sum := sha256.Sum256(k.SPKI)
		d.SPKISHA256 = hex.EncodeToString(sum[:])
	}
	switch {
	case k.Algorithm == RSA && k.N == nil, k.Algorithm == Ed25519 && k.Fault != "":
		d.Algorithm, d.Curve = OtherKey, k.OID // the label alone makes no key of a kind
	case k.Algorithm == RSA && k.E.IsInt64():
		d.Exponent = k.E.Int64()
	case k.Algorithm == ECDSA:
		d.Curve = k.CurveName()
	case k.Algorithm == Ed25519, k.Algorithm == OtherKey:
		d.Curve = k.Name
	}
	d.Weak = d.WeakReason != ""
	return d
}

// CurveName is the name of the curve, its number if it has no name here, or empty.
func (k *Key) CurveName() string {
	if k.Curve != nil {
		return k.Curve.Name
	}
	return k.CurveOID
}

// Size is the size of the modulus or of the field, in bits; 0 if it is unknown.
func (k *Key) Size() int {
	switch {
	case k.N != nil:
		return k.N.BitLen()
	case k.P != nil:
		return k.P.BitLen()
	case k.Curve != nil:
		return k.Curve.Bits
	case k.OID == oidEd25519 && k.Fault == "":
		return 256
	case k.OID == oidEd448 && k.Fault == "":
		return 448
	default:
		return 0
	}
}

// weakness says why a key is weak, the gravest reason first; empty if it is not.
func (k *Key) weakness() string {
	switch {
	case k.Algorithm == RSA && k.N != nil && k.N.Sign() > 0:
		return k.weakRSA()
	case k.Algorithm == dsa:
		return "DSA keys are no longer accepted for certificates"
	case k.Algorithm != ECDSA:
		return ""
	case k.Fault != "" && k.Curve != nil:
		return k.Fault
	case k.Curve != nil && k.Curve.Bits < MinCurveBits:
		return fmt.Sprintf("the curve %s has fewer than %d bits", k.Curve.Name, MinCurveBits)
	default:
		return ""
	}
}

// weakRSA says why an RSA key is weak, the gravest reason first; empty if it is not.
func (k *Key) weakRSA() string {
	switch reason := Factorable(k.N); {
	case reason != "":
		return reason
	case k.E.Cmp(big.NewInt(3)) < 0 || k.E.Bit(0) == 0:
		return "the public exponent is not an odd number above 2"
	case k.N.BitLen() <= maxFactorBits && k.E.Cmp(k.N) < 0 && smallSecret(k.N, k.E):
		return "the private exponent is so small that it follows from the public one"
	case k.N.BitLen() < MinRSABits:
		return fmt.Sprintf("the modulus has fewer than %d bits", MinRSABits)
	case k.E.Cmp(big.NewInt(MinExponent)) < 0:
		return fmt.Sprintf("the public exponent is below %d", MinExponent)
	default:
		return ""
	}
}

// MinExponent is the smallest public exponent of RSA that is not weak (Baseline Requirements section 6.1.6).
const MinExponent = 1<<16 + 1
