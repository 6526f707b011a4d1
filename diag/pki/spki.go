package pki

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"

	"github.com/diagkit/diagkit/diag/kit"
	"golang.org/x/crypto/cryptobyte"
	asn1tag "golang.org/x/crypto/cryptobyte/asn1"
)

// A Key is a parsed public key. It can represent keys that crypto/x509 refuses: elliptic curves other than
// the four of NIST, large exponents, points that are not on their curve. Which fields are set depends on the
// algorithm.
type Key struct {
	Algorithm KeyAlgorithm
	OID       string // of the algorithm
	Name      string // name of the algorithm, such as "Ed448"; the OID if unknown
	Fault     string // why the key cannot be used, as a clause; empty if it can

	N, E     *big.Int // RSA: modulus and public exponent
	Absent   bool     // RSA: the parameters are absent, although RFC 3279 section 2.3.1 requires NULL
	P, Q, G  *big.Int // DSA; Y is the public value
	X, Y     *big.Int // elliptic curve: the point
	Curve    *Curve   // nil if it is unknown
	CurveOID string   // of the curve, if it is named
	Explicit bool     // the curve is given by its parameters and not by its name

	Bytes []byte // content of the BIT STRING
	SPKI  []byte // the whole SubjectPublicKeyInfo
}

// The object identifiers of algorithms of keys (RFC 3279 section 2.3, RFC 4055 section 1.2, RFC 5480 section 2.1.1).
const (
	oidRSA     = "1.2.840.113549.1.1.1"
	oidPSS     = "1.2.840.113549.1.1.10"
	oidOAEP    = "1.2.840.113549.1.1.7"
	oidEC      = "1.2.840.10045.2.1"
	oidDSA     = "1.2.840.10040.4.1"
	oidEd25519 = "1.3.101.112"
	oidEd448   = "1.3.101.113"
)

// keyNames are the names of algorithms of keys.
var keyNames = map[string]string{
	oidRSA: "RSA", oidPSS: "RSASSA-PSS", oidOAEP: "RSAES-OAEP", oidEC: "elliptic curve", oidDSA: "DSA",
	oidEd25519: "Ed25519", oidEd448: "Ed448", "1.3.101.110": "X25519", "1.3.101.111": "X448",
	"1.3.132.1.12":         "ECDH",
	"1.3.132.1.13":         "ECMQV",
	"1.2.840.10046.2.1":    "Diffie-Hellman",
	"1.2.840.113549.1.3.1": "Diffie-Hellman",
	"1.2.643.2.2.19":       "GOST R 34.10-2001", "1.2.643.7.1.1.1.1": "GOST R 34.10-2012 (256 bits)",
	"1.2.643.7.1.1.1.2": "GOST R 34.10-2012 (512 bits)", "1.2.156.10197.1.301": "SM2",
	"2.16.840.1.101.3.4.3.17": "ML-DSA-44",
	"2.16.840.1.101.3.4.3.18": "ML-DSA-65",
	"2.16.840.1.101.3.4.3.19": "ML-DSA-87",
	"2.16.840.1.101.3.4.4.1":  "ML-KEM-512",
	"2.16.840.1.101.3.4.4.2":  "ML-KEM-768",
	"2.16.840.1.101.3.4.4.3":  "ML-KEM-1024",
}

var errNoKey = errors.New("not a SubjectPublicKeyInfo in DER form")

// ReadKey parses a SubjectPublicKeyInfo (RFC 5280 section 4.1.2.7). It returns an error if the encoding is
// malformed. A key with an unknown algorithm or invalid numbers is not an error: it has a Fault, or no
// numbers.
func ReadKey(spki []byte) (*Key, error) {
	input := cryptobyte.String(spki)
	var info, algorithm, params cryptobyte.String
	var id asn1.ObjectIdentifier
	var bits asn1.BitString
	if !input.ReadASN1(&info, asn1tag.SEQUENCE) || !input.Empty() ||
		!info.ReadASN1(&algorithm, asn1tag.SEQUENCE) || !algorithm.ReadASN1ObjectIdentifier(&id) ||
		!info.ReadASN1BitString(&bits) || !info.Empty() {
		return nil, errNoKey
	}
	params = algorithm
	k := &Key{Algorithm: OtherKey, OID: id.String(), Bytes: bits.RightAlign(), SPKI: spki}
	if k.Name = keyNames[k.OID]; k.Name == "" {
		k.Name = k.OID
	}
	switch k.OID {
	case oidRSA, oidPSS, oidOAEP:
		k.Algorithm, k.Absent = RSA, params.Empty()
		k.readRSA()
	case oidEC:
		k.Algorithm = ECDSA
		k.readEC(params)
	case oidDSA:
		k.Algorithm = DSA
		k.readDSA(params)
	case oidEd25519:
		k.Algorithm = Ed25519
		k.expect(32)
	case oidEd448:
		k.expect(57)
	}
	return k, nil
}

// expect notes a fault if the key has another length (RFC 8410 section 4).
func (k *Key) expect(bytes int) {
	if len(k.Bytes) != bytes {
		k.Fault = "the key has the wrong length"
	}
}

// readRSA reads an RSAPublicKey (RFC 8017 appendix A.1.1).
func (k *Key) readRSA() {
	input := cryptobyte.String(k.Bytes)
	var key cryptobyte.String
	n, e := new(big.Int), new(big.Int)
	if !input.ReadASN1(&key, asn1tag.SEQUENCE) || !key.ReadASN1Integer(n) || !key.ReadASN1Integer(e) || !key.Empty() ||
		!input.Empty() {
		k.Fault = "modulus and exponent cannot be read"
		return
	}
	if k.N, k.E = n, e; n.Sign() <= 0 || e.Sign() <= 0 {
		k.Fault = "modulus or exponent is not a positive number"
	}
}

// readDSA reads the parameters and the public value (RFC 3279 section 2.3.2).
func (k *Key) readDSA(params cryptobyte.String) {
	input := cryptobyte.String(k.Bytes)
	var set cryptobyte.String
	p, q, g, y := new(big.Int), new(big.Int), new(big.Int), new(big.Int)
	if !params.ReadASN1(&set, asn1tag.SEQUENCE) || !set.ReadASN1Integer(p) || !set.ReadASN1Integer(q) ||
		!set.ReadASN1Integer(g) || !input.ReadASN1Integer(y) ||
		p.Sign() <= 0 || q.Sign() <= 0 || g.Sign() <= 0 || y.Sign() <= 0 {
		k.Fault = "the numbers of the key cannot be read"
		return
	}
	k.P, k.Q, k.G, k.Y = p, q, g, y
}

// readEC reads the curve and the point (RFC 5480 section 2).
func (k *Key) readEC(params cryptobyte.String) {
	var id asn1.ObjectIdentifier
	switch {
	case params.PeekASN1Tag(asn1tag.OBJECT_IDENTIFIER):
		if !params.ReadASN1ObjectIdentifier(&id) {
			k.Fault = "the curve cannot be read"
			return
		}
		k.CurveOID = id.String()
		k.Curve = curves().byOID[k.CurveOID]
	case params.PeekASN1Tag(asn1tag.SEQUENCE):
		k.Explicit = true
		if k.Curve = readCurve(params); k.Curve == nil {
			k.Fault = "the parameters of the curve cannot be read"
			return
		}
	default:
		k.Fault = "no curve is named"
		return
	}
	if k.Curve != nil {
		k.readPoint()
	}
}

// The first byte of a point (SEC 1 section 2.3.3).
const (
	pointEven         = 2
	pointOdd          = 3
	pointUncompressed = 4
	pointHybridEven   = 6
	pointHybridOdd    = 7
)

// Compressed reports whether the key is a point of an elliptic curve in another form than uncompressed, the
// only one that all implementations support (RFC 5480 section 2.2).
func (k *Key) Compressed() bool {
	return k.Algorithm == ECDSA && len(k.Bytes) > 0 && k.Bytes[0] != pointUncompressed
}

func (k *Key) readPoint() {
	c, size := k.Curve, (k.Curve.Bits+7)/8
	if len(k.Bytes) == 0 {
		k.Fault = "there is no point"
		return
	}
	rest := k.Bytes[1:]
	switch form := k.Bytes[0]; {
	case (form == pointUncompressed || form == pointHybridEven || form == pointHybridOdd) && len(rest) == 2*size:
		k.X, k.Y = new(big.Int).SetBytes(rest[:size]), new(big.Int).SetBytes(rest[size:])
		if !c.On(k.X, k.Y) {
			k.Fault = "the point is not on the curve " + c.Name
		}
	case (form == pointEven || form == pointOdd) && len(rest) == size:
		k.X = new(big.Int).SetBytes(rest)
		if c.Binary {
			return // half of what a point needs, and all that identifies it
		}
		if k.Y = c.y(k.X, uint(form&1)); k.Y == nil {
			k.Fault = "the point is not on the curve " + c.Name
		}
	default:
		k.Fault = "the point has the wrong length or form for the curve " + c.Name
	}
}

// KeyAlgorithm is the kind of a public key: rsa, ecdsa, ed25519, dsa or other.
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
func (KeyAlgorithm) Values() []string { return kit.Values(RSA, ECDSA, Ed25519, DSA, OtherKey) }

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

// The smallest sizes in bits that give 112 bits (RSA) and 128 bits (elliptic curves) of security, as required
// by section 6.1.5 of the CA/Browser Forum's Baseline Requirements.
const (
	MinRSABits   = 2048
	MinCurveBits = 256
)

// DescribeKey describes a public key of Go's crypto packages. Spki is its SubjectPublicKeyInfo in DER; if
// nil, it is derived from the key.
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

// ParseKey describes a public key in DER: a SubjectPublicKeyInfo (RFC 5280 section 4.1.2.7). A key with an
// unknown algorithm is described as far as possible; the error is not nil if the data is not a key at all.
func ParseKey(spki []byte) (PublicKey, error) {
	k, err := ReadKey(spki)
	if err != nil {
		return PublicKey{}, fmt.Errorf("reading the public key: %w", err)
	}
	return k.Describe(), nil
}

// Describe describes the key. It reports weaknesses that can be found without a list of known keys; see
// [Key.Checks].
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

// CurveName returns the name of the curve, its OID if it has no known name, or the empty string.
func (k *Key) CurveName() string {
	if k.Curve != nil {
		return k.Curve.Name
	}
	return k.CurveOID
}

// Size returns the size of the modulus or of the field, in bits; 0 if unknown.
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
	case k.Algorithm == DSA:
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

// MinExponent is the smallest public RSA exponent that is not weak (Baseline Requirements section 6.1.6).
const MinExponent = 1<<16 + 1
