package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
)

// signOn makes a signature on any curve, with our own arithmetic.
func signOn(t *testing.T, c *Curve, d *big.Int, digest []byte) []byte {
	t.Helper()
	for {
		k, err := rand.Int(rand.Reader, c.N)
		require.NoError(t, err)
		zero := new(big.Int)
		x := c.sum(k, zero, c.X, c.Y)
		if x == nil {
			continue
		}
		r := x.Mod(x, c.N)
		s := new(big.Int).Mul(r, d)
		s.Add(s, leftmost(digest, c.N)).Mul(s, new(big.Int).ModInverse(k, c.N)).Mod(s, c.N)
		if r.Sign() > 0 && s.Sign() > 0 {
			sig, err := asn1.Marshal(struct{ R, S *big.Int }{r, s})
			require.NoError(t, err)
			return sig
		}
	}
}

// Our arithmetic and that of crypto/ecdsa agree.
func TestCurvesAgree(t *testing.T) {
	for _, known := range []elliptic.Curve{elliptic.P224(), elliptic.P256(), elliptic.P384(), elliptic.P521()} {
		key, err := ecdsa.GenerateKey(known, rand.Reader)
		require.NoError(t, err)
		spki, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
		require.NoError(t, err)
		k, err := ReadKey(spki)
		require.NoError(t, err)
		digest := sha256.Sum256([]byte("message"))
		signature, err := key.Sign(rand.Reader, digest[:], crypto.SHA256)
		require.NoError(t, err)
		slow := *k.Curve
		slow.OID, slow.Name = "", "ours"
		k.Curve = &slow
		good, done := k.checkECDSA(digest[:], signature)
		require.True(t, good && done)
		digest[0] ^= 1
		good, done = k.checkECDSA(digest[:], signature)
		require.True(t, !good && done)
		require.Zero(t, k.Curve.y(k.X, 0)) // untrusted parameters may lack a prime
	}
}

// Signatures of crypto/rsa verify, whatever the hash and the salt.
func TestCheckRSA(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	spki, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	require.NoError(t, err)
	k, err := ReadKey(spki)
	require.NoError(t, err)
	for oid, a := range signatures {
		if a.scheme != pkcs1 {
			continue
		}
		h := a.hash.New()
		h.Write([]byte("message"))
		signature, err := rsa.SignPKCS1v15(rand.Reader, key, a.hash, h.Sum(nil))
		require.NoError(t, err, oid)
		require.Equal(t, GoodMatch, k.Check(a, []byte("message"), signature), oid)
		require.Equal(t, BadMatch, k.Check(a, []byte("other"), signature), oid)
	}
	digest := sha256.Sum256([]byte("message"))
	for _, salt := range []int{0, 20, 32, 222} {
		signature, err := rsa.SignPSS(rand.Reader, key, crypto.SHA256, digest[:], &rsa.PSSOptions{SaltLength: max(salt, 1)})
		require.NoError(t, err)
		a := SignatureAlgorithm{scheme: pss, hash: crypto.SHA256, mask: crypto.SHA256, salt: max(salt, 1)}
		require.Equal(t, GoodMatch, k.Check(a, []byte("message"), signature), salt)
		require.Equal(t, BadMatch, k.Check(a, []byte("other"), signature))
		a.salt++
		require.Equal(t, BadMatch, k.Check(a, []byte("message"), signature))
	}
	require.Equal(t, WrongScheme, k.Check(signatures[oidEd25519], nil, nil))
	require.Equal(t, Unchecked, k.Check(SignatureAlgorithm{}, nil, nil))
}

// No bytes given as a key cause a panic, and any key that Go accepts is accepted.
func FuzzReadKey(f *testing.F) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(f, err)
	spki, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	require.NoError(f, err)
	f.Add(spki)
	f.Fuzz(func(t *testing.T, spki []byte) {
		k, err := ReadKey(spki)
		if _, known := x509.ParsePKIXPublicKey(spki); known == nil && err != nil {
			t.Errorf("%x is a key", spki)
		}
		if err != nil {
			return
		}
		k.Describe()
		if _, err := k.Checks(nil); err != nil {
			t.Error(err)
		}
		for _, a := range signatures {
			k.Check(a, spki, spki)
		}
	})
}
