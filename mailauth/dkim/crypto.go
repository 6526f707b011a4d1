package dkim

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rsa"
	"math/big"
)

// maxRSABits bounds the keys that are computed with: twice what verifiers must know leaves room.
const maxRSABits = 8192

// digestInfo is what stands before a digest in a signature by RSA (RFC 8017 section 9.2, note 1).
var digestInfo = map[crypto.Hash][]byte{
	crypto.SHA1: {0x30, 0x21, 0x30, 0x09, 0x06, 0x05, 0x2b, 0x0e, 0x03, 0x02, 0x1a, 0x05, 0x00, 0x04, 0x14},
	crypto.SHA256: {0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00,
		0x04, 0x20},
}

// matches reports whether a signature is that of a digest. Keys that crypto/rsa refuses for their size are
// computed with all the same: a signature that is weak is told from one that is forged.
func matches(key crypto.PublicKey, hash crypto.Hash, digest, signature []byte) bool {
	switch key := key.(type) {
	case *rsa.PublicKey:
		got, with, ok := signedDigest(key, signature)
		return ok && with == hash && bytes.Equal(got, digest)
	case ed25519.PublicKey:
		return ed25519.Verify(key, digest, signature) // RFC 8463 section 3
	}
	return false
}

// signedDigest returns the digest that a signature by RSA was made of (RFC 8017 section 8.2.2). Where there is
// none, the signature was made with another key, or was damaged.
func signedDigest(key *rsa.PublicKey, signature []byte) (digest []byte, hash crypto.Hash, ok bool) {
	size := (key.N.BitLen() + 7) / 8
	s := new(big.Int).SetBytes(signature)
	if len(signature) != size || s.Cmp(key.N) >= 0 || key.N.BitLen() > maxRSABits || key.E < 2 {
		return nil, 0, false
	}
	encoded := s.Exp(s, big.NewInt(int64(key.E)), key.N).FillBytes(make([]byte, size))
	for hash, prefix := range digestInfo {
		if n := size - hash.Size(); n >= 0 {
			if digest := encoded[n:]; bytes.Equal(encoded, padded(size, prefix, digest)) {
				return digest, hash, true
			}
		}
	}
	return nil, 0, false
}

// padded is EMSA-PKCS1-v1_5 (RFC 8017 section 9.2); nil if it does not fit.
func padded(size int, prefix, digest []byte) []byte {
	fill := size - 3 - len(prefix) - len(digest)
	if fill < 8 {
		return nil
	}
	em := append([]byte{0, 1}, bytes.Repeat([]byte{0xff}, fill)...)
	return append(append(append(em, 0), prefix...), digest...)
}
