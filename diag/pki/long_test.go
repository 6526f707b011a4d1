//go:build !race

package pki

// The race detector makes these many times slower, and nothing in them is concurrent.

import (
	"crypto/sha256"
	"math/big"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// On every curve the base point lies, its order takes it to infinity, and a signature by the private key 1, whose
// public key is the base point, verifies.
func TestCurves(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	digest := sha256.Sum256([]byte("message"))
	for _, c := range curves().list {
		if !diagtest.Sampled(c.Name, 3) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			require.True(t, c.On(c.X, c.Y))
			require.Nil(t, c.sum(c.N, new(big.Int), c.X, c.Y))
			k := &Key{Algorithm: ECDSA, Curve: c, X: c.X, Y: c.Y}
			a := signatures["1.2.840.10045.4.3.2"]
			signature := signOn(t, c, big.NewInt(1), digest[:])
			require.Equal(t, GoodMatch, k.Check(a, []byte("message"), signature))
			require.Equal(t, BadMatch, k.Check(a, []byte("another"), signature))
			off := new(big.Int).Add(c.Y, big.NewInt(1))
			require.False(t, c.On(c.X, off))
		})
	}
}
