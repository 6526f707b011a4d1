package dkim

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"math/big"
	mrand "math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMatches compares with crypto/rsa, which rejects any damaged bit, for keys that it accepts.
func TestMatches(t *testing.T) {
	r := mrand.New(mrand.NewPCG(1, 1))
	for _, bits := range []int{1024, 1031, 2048} {
		key, err := rsa.GenerateKey(rand.Reader, bits)
		require.NoError(t, err)
		for hash := range digestInfo {
			digest := make([]byte, hash.Size())
			rand.Read(digest)
			signature, err := rsa.SignPKCS1v15(nil, key, hash, digest)
			require.NoError(t, err)
			require.True(t, matches(&key.PublicKey, hash, digest, signature))
			other := crypto.SHA1 + crypto.SHA256 - hash
			got, with, ok := signedDigest(&key.PublicKey, signature)
			require.True(t, ok)
			require.Equal(t, hash, with)
			require.Equal(t, digest, got)
			require.False(t, matches(&key.PublicKey, other, digest, signature))
			require.False(t, matches(&key.PublicKey, hash, digest, append([]byte{0}, signature...)))
			require.False(t, matches(&key.PublicKey, hash, digest, nil))
			for range 50 {
				bad, which := append([]byte(nil), signature...), r.IntN(len(signature))
				bad[which] ^= 1 << r.IntN(8)
				require.Equal(t, rsa.VerifyPKCS1v15(&key.PublicKey, hash, digest, bad) == nil,
					matches(&key.PublicKey, hash, digest, bad))
			}
		}
	}
	require.False(t, matches(nil, crypto.SHA256, nil, nil))
}

// TestExponentThree refuses a forgery accepted by verifiers that do not check the end of the padding (RFC 8017 section
// 9.2): a cube whose first bytes are those of a signature.
func TestExponentThree(t *testing.T) {
	key := &rsa.PublicKey{N: new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 2048), big.NewInt(1)), E: 3}
	digest := make([]byte, 32)
	begin := append(append([]byte{0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0}, digestInfo[crypto.SHA256]...), digest...)
	target := new(big.Int).SetBytes(append(begin, make([]byte, 256-len(begin))...))
	root := cubeRoot(target)
	forged := root.FillBytes(make([]byte, 256))
	cube := new(big.Int).Exp(root, big.NewInt(3), nil).FillBytes(make([]byte, 256))
	require.Equal(t, begin, cube[:len(begin)])
	require.False(t, matches(key, crypto.SHA256, digest, forged))
	require.Nil(t, padded(61, digestInfo[crypto.SHA256], digest)) // less than 8 bytes of padding
}

// cubeRoot returns the least number whose cube is not below n.
func cubeRoot(n *big.Int) *big.Int {
	low, high := new(big.Int), new(big.Int).Lsh(big.NewInt(1), uint(n.BitLen()/3+2))
	for low.Cmp(high) < 0 {
		middle := new(big.Int).Rsh(new(big.Int).Add(low, high), 1)
		if new(big.Int).Exp(middle, big.NewInt(3), nil).Cmp(n) < 0 {
			low = middle.Add(middle, big.NewInt(1))
		} else {
			high = middle
		}
	}
	return low
}
