package httpapi

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
)

// sealInfo is the purpose of the derived key (RFC 5869 section 3.2).
const sealInfo = "diagkit kept reply, AES-256-GCM"

// newSealer derives the cipher of a caller. The secret has 150 random bits, so that no slow derivation is needed.
func newSealer(secret string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, []byte(secret), nil, sealInfo, 32)
	if err != nil {
		return nil, fmt.Errorf("deriving the key of a kept reply: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("making the cipher of a kept reply: %w", err)
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// seal encrypts a body for the holder of a secret, bound to one idempotency key.
func seal(secret string, idempotency *[32]byte, body []byte) ([]byte, error) {
	aead, err := newSealer(secret)
	if err != nil {
		return nil, err
	}
	return aead.Seal(nil, nil, body, idempotency[:]), nil
}

var errSealed = errors.New("a kept reply does not open with the caller's secret")

// unseal undoes seal.
func unseal(secret string, idempotency *[32]byte, sealed []byte) ([]byte, error) {
	aead, err := newSealer(secret)
	if err != nil {
		return nil, err
	}
	body, err := aead.Open(nil, nil, sealed, idempotency[:])
	if err != nil {
		return nil, errSealed
	}
	return body, nil
}
