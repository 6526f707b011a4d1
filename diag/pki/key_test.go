package pki

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"math/big"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// modulus returns an odd number of a size without small factors: two large primes' worth of bits.
func modulus(t *testing.T, bits int) *big.Int {
	t.Helper()
	p, err := rand.Prime(rand.Reader, bits/2)
	require.NoError(t, err)
	q, err := rand.Prime(rand.Reader, bits-bits/2)
	require.NoError(t, err)
	return p.Mul(p, q)
}

func TestDescribeKey(t *testing.T) {
	curve := func(c elliptic.Curve) *ecdsa.PublicKey {
		key, err := ecdsa.GenerateKey(c, rand.Reader)
		require.NoError(t, err)
		return &key.PublicKey
	}
	edwards, _, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	n := modulus(t, 2048)
	tests := []struct {
		name      string
		key       any
		algorithm KeyAlgorithm
		bits      int
		curve     string
		reason    string
	}{
		{"RSA 2048", &rsa.PublicKey{N: n, E: 65537}, RSA, 2048, "", ""},
		{"RSA 1024", &rsa.PublicKey{N: modulus(t, 1024), E: 65537}, RSA, 1024, "",
			"the modulus has fewer than 2048 bits"},
		{"exponent 1", &rsa.PublicKey{N: n, E: 1}, RSA, 2048, "", "the public exponent is not an odd number above 2"},
		{"even exponent", &rsa.PublicKey{N: n, E: 65536}, RSA, 2048, "",
			"the public exponent is not an odd number above 2"},
		{"exponent 3", &rsa.PublicKey{N: n, E: 3}, RSA, 2048, "", "the public exponent is below 65537"},
		{"factor 751", &rsa.PublicKey{N: new(big.Int).Mul(modulus(t, 2048), big.NewInt(751)), E: 65537}, RSA,
			2058, "", "the modulus has a small prime factor"},
		{"factor 3 of a short key, the gravest first", &rsa.PublicKey{N: new(big.Int).Mul(modulus(t, 1024), big.NewInt(3)), E: 3},
			RSA, 1025, "", "the modulus has a small prime factor"},
		{"P-224", curve(elliptic.P224()), ECDSA, 224, "P-224", "the curve P-224 has fewer than 256 bits"},
		{"P-256", curve(elliptic.P256()), ECDSA, 256, "P-256", ""},
		{"P-521", curve(elliptic.P521()), ECDSA, 521, "P-521", ""},
		{"Ed25519", edwards, Ed25519, 256, "Ed25519", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := DescribeKey(tt.key, nil)
			require.Equal(t, tt.algorithm, k.Algorithm)
			require.InDelta(t, tt.bits, k.SizeBits, 1)
			require.Equal(t, tt.curve, k.Curve)
			require.Equal(t, tt.reason, k.WeakReason)
			require.Equal(t, tt.reason != "", k.Weak)
		})
	}
}

func TestParseKey(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	spki, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	require.NoError(t, err)
	got, err := ParseKey(spki)
	require.NoError(t, err)
	require.Equal(t, DescribeKey(&key.PublicKey, nil), got)

	spki[len(spki)-1] ^= 1 // off the curve
	got, err = ParseKey(spki)
	require.NoError(t, err)
	require.Equal(t, ECDSA, got.Algorithm)
	require.Equal(t, "the point is not on the curve P-256", got.WeakReason)

	unknown, err := hex.DecodeString("300a300506032b657103010000"[:24]) // Ed448, cut to an empty key
	require.NoError(t, err)
	got, err = ParseKey(unknown)
	require.NoError(t, err)
	require.Equal(t, OtherKey, got.Algorithm)
	require.Equal(t, "Ed448", got.Curve)
	require.Zero(t, got.SizeBits)

	_, err = ParseKey([]byte("no key"))
	require.Error(t, err)
}

// A key whose factors were found by counting up from each other is broken, and so is one of a ROCA chip; keys
// of other origin are not.
func TestFactorable(t *testing.T) {
	p, err := rand.Prime(rand.Reader, 512)
	require.NoError(t, err)
	q := new(big.Int).Add(p, big.NewInt(2))
	for !q.ProbablyPrime(20) {
		q.Add(q, big.NewInt(2))
	}
	require.Contains(t, Factorable(q.Mul(p, q)), "close together")
	require.Contains(t, Factorable(new(big.Int).Mul(p, p)), "close together")
	require.Contains(t, Factorable(new(big.Int).Mul(rocaPrime(t), rocaPrime(t))), "ROCA")
	require.Contains(t, Factorable(new(big.Int).Lsh(p, 1)), "small prime factor")
	for range 5 {
		require.Empty(t, Factorable(modulus(t, 1024)))
	}
	require.Empty(t, Factorable(new(big.Int).Exp(p, big.NewInt(40), nil))) // too large to be checked
}

// rocaPrime makes a prime as the flawed chips do: k times a product of small primes, and a power of 65537.
func rocaPrime(t *testing.T) *big.Int {
	t.Helper()
	small := product(primesUpTo(167))
	for {
		k, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 290))
		require.NoError(t, err)
		a, err := rand.Int(rand.Reader, small)
		require.NoError(t, err)
		power := new(big.Int).Exp(big.NewInt(rocaGenerator), a, small)
		if p := k.Mul(k, small).Add(k, power); p.ProbablyPrime(10) {
			return p
		}
	}
}

func BenchmarkFactorable(b *testing.B) {
	n := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 4096), big.NewInt(1<<20-3))
	for Factorable(n) != "" {
		n.Sub(n, big.NewInt(2))
	}
	for b.Loop() {
		factorable(n)
	}
}

func BenchmarkDescribeKey(b *testing.B) {
	for _, bits := range []int{2048, 4096, 16384} {
		n := new(big.Int).Lsh(big.NewInt(1), uint(bits-1))
		for n.Add(n, big.NewInt(987654321)); Factorable(n) != ""; n.Add(n, big.NewInt(2)) {
		}
		b.Run(strconv.Itoa(bits), func(b *testing.B) {
			for b.Loop() {
				factorable(n)
			}
		})
	}
}
