package pki

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	_ "crypto/md5"  // of old signatures
	_ "crypto/sha1" // likewise
	_ "crypto/sha256"
	_ "crypto/sha3"
	_ "crypto/sha512"
	"crypto/x509"
	"encoding/asn1"
	"hash"
	"math/big"

	"github.com/cloudflare/circl/sign/ed448"
	"golang.org/x/crypto/cryptobyte"
	asn1tag "golang.org/x/crypto/cryptobyte/asn1"
)

// A SignatureAlgorithm is a parsed AlgorithmIdentifier of a signature.
type SignatureAlgorithm struct {
	OID  string
	Name string // such as "SHA256-RSA"; the OID if it is unknown
	Hash string // such as "SHA-256"; empty without one or if the algorithm is unknown
	Weak bool   // forged signatures are feasible or nearly so: MD5, SHA-1 and older

	scheme scheme
	hash   crypto.Hash
	mask   crypto.Hash // of RSASSA-PSS
	salt   int         // likewise
}

// A scheme is the signature scheme that is applied to the hash.
type scheme int

const (
	unknownScheme scheme = iota
	pkcs1
	pss
	ecdsaScheme
	dsaScheme
	edwards25519
	edwards448
)

// hashNames are the hashes of signatures. Those without an implementation have the number 0.
var hashNames = map[crypto.Hash]string{
	crypto.MD5: "MD5", crypto.SHA1: "SHA-1", crypto.SHA224: "SHA-224", crypto.SHA256: "SHA-256", crypto.SHA384: "SHA-384",
	crypto.SHA512: "SHA-512", crypto.SHA512_224: "SHA-512/224", crypto.SHA512_256: "SHA-512/256",
	crypto.SHA3_224: "SHA3-224", crypto.SHA3_256: "SHA3-256", crypto.SHA3_384: "SHA3-384", crypto.SHA3_512: "SHA3-512",
}

var hashOIDs = map[string]crypto.Hash{
	"1.2.840.113549.2.5": crypto.MD5, "1.3.14.3.2.26": crypto.SHA1,
	"2.16.840.1.101.3.4.2.4": crypto.SHA224,
	"2.16.840.1.101.3.4.2.1": crypto.SHA256,
	"2.16.840.1.101.3.4.2.2": crypto.SHA384,
	"2.16.840.1.101.3.4.2.3": crypto.SHA512,
	"2.16.840.1.101.3.4.2.5": crypto.SHA512_224,
	"2.16.840.1.101.3.4.2.6": crypto.SHA512_256,
	"2.16.840.1.101.3.4.2.7": crypto.SHA3_224, "2.16.840.1.101.3.4.2.8": crypto.SHA3_256,
	"2.16.840.1.101.3.4.2.9": crypto.SHA3_384, "2.16.840.1.101.3.4.2.10": crypto.SHA3_512,
}

// signatures are the algorithms by object identifier: RFC 8017 appendix A.2, RFC 5758, RFC 8410 and those of NIST.
var signatures = map[string]SignatureAlgorithm{
	"1.2.840.113549.1.1.2":    {Name: "MD2-RSA", Hash: "MD2", Weak: true},
	"1.2.840.113549.1.1.3":    {Name: "MD4-RSA", Hash: "MD4", Weak: true},
	"1.2.840.113549.1.1.4":    {Name: "MD5-RSA", scheme: pkcs1, hash: crypto.MD5},
	"1.2.840.113549.1.1.5":    {Name: "SHA1-RSA", scheme: pkcs1, hash: crypto.SHA1},
	"1.3.14.3.2.29":           {Name: "SHA1-RSA", scheme: pkcs1, hash: crypto.SHA1},
	"1.2.840.113549.1.1.14":   {Name: "SHA224-RSA", scheme: pkcs1, hash: crypto.SHA224},
	"1.2.840.113549.1.1.11":   {Name: "SHA256-RSA", scheme: pkcs1, hash: crypto.SHA256},
	"1.2.840.113549.1.1.12":   {Name: "SHA384-RSA", scheme: pkcs1, hash: crypto.SHA384},
	"1.2.840.113549.1.1.13":   {Name: "SHA512-RSA", scheme: pkcs1, hash: crypto.SHA512},
	"1.2.840.113549.1.1.15":   {Name: "SHA512/224-RSA", scheme: pkcs1, hash: crypto.SHA512_224},
	"1.2.840.113549.1.1.16":   {Name: "SHA512/256-RSA", scheme: pkcs1, hash: crypto.SHA512_256},
	"2.16.840.1.101.3.4.3.13": {Name: "SHA3-224-RSA", scheme: pkcs1, hash: crypto.SHA3_224},
	"2.16.840.1.101.3.4.3.14": {Name: "SHA3-256-RSA", scheme: pkcs1, hash: crypto.SHA3_256},
	"2.16.840.1.101.3.4.3.15": {Name: "SHA3-384-RSA", scheme: pkcs1, hash: crypto.SHA3_384},
	"2.16.840.1.101.3.4.3.16": {Name: "SHA3-512-RSA", scheme: pkcs1, hash: crypto.SHA3_512},
	"1.3.36.3.3.1.2":          {Name: "RIPEMD160-RSA", Hash: "RIPEMD-160", Weak: true},

	"1.2.840.10045.4.1":       {Name: "ECDSA-SHA1", scheme: ecdsaScheme, hash: crypto.SHA1},
	"1.2.840.10045.4.3.1":     {Name: "ECDSA-SHA224", scheme: ecdsaScheme, hash: crypto.SHA224},
	"1.2.840.10045.4.3.2":     {Name: "ECDSA-SHA256", scheme: ecdsaScheme, hash: crypto.SHA256},
	"1.2.840.10045.4.3.3":     {Name: "ECDSA-SHA384", scheme: ecdsaScheme, hash: crypto.SHA384},
	"1.2.840.10045.4.3.4":     {Name: "ECDSA-SHA512", scheme: ecdsaScheme, hash: crypto.SHA512},
	"2.16.840.1.101.3.4.3.9":  {Name: "ECDSA-SHA3-224", scheme: ecdsaScheme, hash: crypto.SHA3_224},
	"2.16.840.1.101.3.4.3.10": {Name: "ECDSA-SHA3-256", scheme: ecdsaScheme, hash: crypto.SHA3_256},
	"2.16.840.1.101.3.4.3.11": {Name: "ECDSA-SHA3-384", scheme: ecdsaScheme, hash: crypto.SHA3_384},
	"2.16.840.1.101.3.4.3.12": {Name: "ECDSA-SHA3-512", scheme: ecdsaScheme, hash: crypto.SHA3_512},

	"1.2.840.10040.4.3":      {Name: "DSA-SHA1", scheme: dsaScheme, hash: crypto.SHA1},
	"1.3.14.3.2.27":          {Name: "DSA-SHA1", scheme: dsaScheme, hash: crypto.SHA1},
	"2.16.840.1.101.3.4.3.1": {Name: "DSA-SHA224", scheme: dsaScheme, hash: crypto.SHA224},
	"2.16.840.1.101.3.4.3.2": {Name: "DSA-SHA256", scheme: dsaScheme, hash: crypto.SHA256},
	"2.16.840.1.101.3.4.3.3": {Name: "DSA-SHA384", scheme: dsaScheme, hash: crypto.SHA384},
	"2.16.840.1.101.3.4.3.4": {Name: "DSA-SHA512", scheme: dsaScheme, hash: crypto.SHA512},

	oidEd25519: {Name: "Ed25519", scheme: edwards25519}, oidEd448: {Name: "Ed448", scheme: edwards448},

	"1.2.156.10197.1.501":     {Name: "SM2-SM3", Hash: "SM3"},
	"1.2.643.2.2.3":           {Name: "GOST R 34.10-2001", Hash: "GOST R 34.11-94"},
	"1.2.643.7.1.1.3.2":       {Name: "GOST R 34.10-2012 (256 bits)", Hash: "Streebog"},
	"1.2.643.7.1.1.3.3":       {Name: "GOST R 34.10-2012 (512 bits)", Hash: "Streebog"},
	"2.16.840.1.101.3.4.3.17": {Name: "ML-DSA-44"},
	"2.16.840.1.101.3.4.3.18": {Name: "ML-DSA-65"},
	"2.16.840.1.101.3.4.3.19": {Name: "ML-DSA-87"},
}

// ReadSignatureAlgorithm parses an AlgorithmIdentifier in DER (RFC 5280 section 4.1.1.2). The bool is false
// if it is malformed.
func ReadSignatureAlgorithm(der []byte) (SignatureAlgorithm, bool) {
	input := cryptobyte.String(der)
	var body cryptobyte.String
	var id asn1.ObjectIdentifier
	if !input.ReadASN1(&body, asn1tag.SEQUENCE) || !input.Empty() || !body.ReadASN1ObjectIdentifier(&id) {
		return SignatureAlgorithm{}, false
	}
	a, known := signatures[id.String()]
	a.OID = id.String()
	switch {
	case a.OID == oidPSS:
		a.readPSS(body)
	case !known:
		a.Name = a.OID
	}
	if a.hash != 0 {
		a.Hash = hashNames[a.hash]
		a.Weak = a.hash == crypto.MD5 || a.hash == crypto.SHA1
	}
	return a, true
}

// readPSS reads RSASSA-PSS-params, whose members have SHA-1 and 20 octets of salt for defaults (RFC 4055 section 3.1).
func (a *SignatureAlgorithm) readPSS(params cryptobyte.String) {
	a.Name, a.scheme, a.hash, a.mask, a.salt = "RSASSA-PSS", pss, crypto.SHA1, crypto.SHA1, 20
	var all, field cryptobyte.String
	var present bool
	trailer := 1
	context := func(n uint8) asn1tag.Tag { return asn1tag.Tag(n).ContextSpecific().Constructed() }
	ok := params.ReadASN1(&all, asn1tag.SEQUENCE) &&
		all.ReadOptionalASN1(&field, &present, context(0)) && (!present || readHash(&field, &a.hash)) &&
		all.ReadOptionalASN1(&field, &present, context(1)) && (!present || readMask(&field, &a.mask)) &&
		all.ReadOptionalASN1(&field, &present, context(2)) && (!present || field.ReadASN1Integer(&a.salt)) &&
		all.ReadOptionalASN1(&field, &present, context(3)) && (!present || field.ReadASN1Integer(&trailer))
	if !ok || trailer != 1 || a.salt < 0 || a.salt > maxSalt {
		a.scheme, a.hash = unknownScheme, 0
		return
	}
	a.Name += "-" + hashNames[a.hash]
}

// maxSalt bounds the salt of RSASSA-PSS; it is never longer than the modulus.
const maxSalt = maxCheckedBits / 8

func readHash(input *cryptobyte.String, h *crypto.Hash) bool {
	var body cryptobyte.String
	var id asn1.ObjectIdentifier
	if !input.ReadASN1(&body, asn1tag.SEQUENCE) || !body.ReadASN1ObjectIdentifier(&id) {
		return false
	}
	found, known := hashOIDs[id.String()]
	*h = found
	return known
}

// readMask reads the AlgorithmIdentifier of a mask generation function, of which there is one: MGF1 (RFC 8017
// appendix B.2.1).
func readMask(input *cryptobyte.String, h *crypto.Hash) bool {
	var body cryptobyte.String
	var id asn1.ObjectIdentifier
	return input.ReadASN1(&body, asn1tag.SEQUENCE) && body.ReadASN1ObjectIdentifier(&id) &&
		id.String() == "1.2.840.113549.1.1.8" && readHash(&body, h)
}

// A Validity is the result of verifying a signature with [Key.Check].
type Validity int

// The outcomes of checking a signature.
const (
	Unchecked   Validity = 0 // the algorithm or the key is not supported
	GoodMatch   Validity = 1
	BadMatch    Validity = 2 // the signature is not of this message by this key
	WrongScheme Validity = 3 // the algorithm does not match the key
)

// Check verifies the signature of a message by the key. Keys that are larger than any in use are not checked,
// to bound the work. Signatures with weak algorithms are verified like others.
func (k *Key) Check(a SignatureAlgorithm, message, signature []byte) Validity {
	algorithm, known := map[scheme]KeyAlgorithm{
		pkcs1: RSA, pss: RSA, ecdsaScheme: ECDSA, dsaScheme: DSA, edwards25519: Ed25519, edwards448: OtherKey,
	}[a.scheme]
	switch {
	case !known:
		return Unchecked
	case algorithm != k.Algorithm || a.scheme == edwards448 && k.OID != oidEd448 || a.scheme == pkcs1 && k.OID == oidPSS:
		return WrongScheme
	case k.Fault != "":
		return Unchecked
	}
	var digest []byte
	if a.hash != 0 {
		h := a.hash.New()
		h.Write(message)
		digest = h.Sum(nil)
	}
	var good, done bool
	switch a.scheme {
	case pkcs1, pss:
		good, done = k.checkRSA(a, digest, signature)
	case ecdsaScheme:
		good, done = k.checkECDSA(digest, signature)
	case dsaScheme:
		good, done = k.checkDSA(digest, signature)
	case edwards25519:
		good, done = ed25519.Verify(k.Bytes, message, signature), true
	case edwards448:
		good, done = ed448.Verify(k.Bytes, message, signature, ""), true
	}
	switch {
	case !done:
		return Unchecked
	case good:
		return GoodMatch
	default:
		return BadMatch
	}
}

// The bounds of keys with which signatures are checked. The work grows with the square of the modulus and with the
// exponent, and both are up to the sender: 17 multiplications for the usual exponent, and one for each bit of others.
const (
	maxCheckedBits     = 16384 // of a modulus
	maxCheckedExponent = 256   // of an exponent, in bits (Baseline Requirements section 6.1.6)
	maxLongExponent    = 4096  // of modulus and exponent, where the exponent is longer
)

// checkRSA checks a signature of RSASSA-PKCS1-v1_5 or RSASSA-PSS (RFC 8017 section 8).
func (k *Key) checkRSA(a SignatureAlgorithm, digest, signature []byte) (good, done bool) {
	n, e := k.N.BitLen(), k.E.BitLen()
	if n > maxCheckedBits || e > maxCheckedExponent && (n > maxLongExponent || e > maxLongExponent) {
		return false, false
	}
	s := new(big.Int).SetBytes(signature)
	if len(signature) != (n+7)/8 || s.Cmp(k.N) >= 0 {
		return false, true
	}
	m := s.Exp(s, k.E, k.N)
	if a.scheme == pss {
		return checkPSS(a, digest, m, n-1), true
	}
	em := m.FillBytes(make([]byte, len(signature)))
	return bytes.Equal(em, padded(a.hash, digest, len(em), true)) ||
		bytes.Equal(em, padded(a.hash, digest, len(em), false)), true
}

// padded is EMSA-PKCS1-v1_5 (RFC 8017 section 9.2), with the parameters of the hash NULL or absent: both are in use
// (appendix A.2.4). It is nil if there is no room.
func padded(h crypto.Hash, digest []byte, size int, null bool) []byte {
	var id x509.OID
	for oid, hash := range hashOIDs {
		if hash == h {
			id, _ = x509.ParseOID(oid)
		}
	}
	name, _ := id.MarshalBinary() // of a table
	var b cryptobyte.Builder
	b.AddASN1(asn1tag.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddASN1(asn1tag.SEQUENCE, func(b *cryptobyte.Builder) {
			b.AddASN1(asn1tag.OBJECT_IDENTIFIER, func(b *cryptobyte.Builder) { b.AddBytes(name) })
			if null {
				b.AddASN1NULL()
			}
		})
		b.AddASN1OctetString(digest)
	})
	info, err := b.Bytes()
	if err != nil || len(info)+11 > size {
		return nil
	}
	em := append([]byte{0, 1}, bytes.Repeat([]byte{0xff}, size-len(info)-3)...)
	return append(append(em, 0), info...)
}

// checkPSS is EMSA-PSS-VERIFY (RFC 8017 section 9.1.2).
func checkPSS(a SignatureAlgorithm, digest []byte, m *big.Int, bits int) bool {
	size := (bits + 7) / 8
	if m.BitLen() > size*8 {
		return false
	}
	em := m.FillBytes(make([]byte, size))
	length := a.hash.Size()
	if size < length+a.salt+2 || em[size-1] != 0xbc {
		return false
	}
	db, h := em[:size-length-1], em[size-length-1:size-1]
	unused := byte(0xff) >> (8*size - bits)
	if db[0]&^unused != 0 {
		return false
	}
	mask := mgf1(a.mask.New(), h, len(db))
	for i := range db {
		db[i] ^= mask[i]
	}
	db[0] &= unused
	rest := len(db) - a.salt - 1
	if len(bytes.TrimLeft(db[:rest], "\x00")) > 0 || db[rest] != 1 {
		return false
	}
	w := a.hash.New()
	w.Write(make([]byte, 8))
	w.Write(digest)
	w.Write(db[rest+1:])
	return bytes.Equal(w.Sum(nil), h)
}

// mgf1 is the mask generation function of RFC 8017 appendix B.2.1.
func mgf1(h hash.Hash, seed []byte, size int) []byte {
	var mask []byte
	for i := uint32(0); len(mask) < size; i++ {
		h.Reset()
		h.Write(seed)
		h.Write([]byte{byte(i >> 24), byte(i >> 16), byte(i >> 8), byte(i)})
		mask = h.Sum(mask)
	}
	return mask[:size]
}

// pair reads Ecdsa-Sig-Value or Dss-Sig-Value (RFC 3279 section 2.2): two numbers from 1 to below the order.
func pair(signature []byte, order *big.Int) (r, s *big.Int, ok bool) {
	input := cryptobyte.String(signature)
	var body cryptobyte.String
	r, s = new(big.Int), new(big.Int)
	ok = input.ReadASN1(&body, asn1tag.SEQUENCE) && input.Empty() && body.ReadASN1Integer(r) && body.ReadASN1Integer(s) &&
		body.Empty() && r.Sign() > 0 && s.Sign() > 0 && r.Cmp(order) < 0 && s.Cmp(order) < 0
	return r, s, ok
}

// leftmost is as much of a digest as the order has bits (FIPS 186-5 section 6.4.2).
func leftmost(digest []byte, order *big.Int) *big.Int {
	e := new(big.Int).SetBytes(digest)
	if excess := len(digest)*8 - order.BitLen(); excess > 0 {
		e.Rsh(e, uint(excess))
	}
	return e
}

// fastCurves are those that crypto/ecdsa knows.
var fastCurves = map[string]elliptic.Curve{
	"P-224": elliptic.P224(), "P-256": elliptic.P256(), "P-384": elliptic.P384(), "P-521": elliptic.P521(),
}

// checkECDSA follows FIPS 186-5 section 6.4.2.
func (k *Key) checkECDSA(digest, signature []byte) (good, done bool) {
	c := k.Curve
	if c == nil || c.X == nil || k.Y == nil || c.N.Sign() <= 0 {
		return false, false
	}
	r, s, ok := pair(signature, c.N)
	if !ok {
		return false, true
	}
	if known := fastCurves[c.Name]; known != nil && c.OID != "" {
		return ecdsa.VerifyASN1(&ecdsa.PublicKey{Curve: known, X: k.X, Y: k.Y}, digest, signature), true
	}
	w := new(big.Int).ModInverse(s, c.N)
	if w == nil {
		return false, true
	}
	u1 := new(big.Int).Mul(leftmost(digest, c.N), w)
	u2 := w.Mul(w, r)
	x := c.sum(u1.Mod(u1, c.N), u2.Mod(u2, c.N), k.X, k.Y)
	return x != nil && x.Mod(x, c.N).Cmp(r) == 0, true
}

// checkDSA follows FIPS 186-4 section 4.7.
func (k *Key) checkDSA(digest, signature []byte) (good, done bool) {
	if k.P.BitLen() > maxLongExponent || k.Q.BitLen() > maxCurveBits {
		return false, false
	}
	r, s, ok := pair(signature, k.Q)
	w := new(big.Int)
	if !ok || w.ModInverse(s, k.Q) == nil {
		return false, true
	}
	u1 := new(big.Int).Mul(leftmost(digest, k.Q), w)
	u2 := w.Mul(w, r)
	v := u1.Exp(k.G, u1.Mod(u1, k.Q), k.P)
	v.Mul(v, u2.Exp(k.Y, u2.Mod(u2, k.Q), k.P)).Mod(v, k.P).Mod(v, k.Q)
	return v.Cmp(r) == 0, true
}
