package metering

import (
	"crypto/rand"
	"io"
	mathrand "math/rand/v2"
)

// idLength is the number of base32 characters of an id: 130 bits, so that collisions do not occur.
const idLength = 26

// newID returns a new id. A nil random is crypto/rand. Ids are names, not secrets: if another reader ends or fails,
// crypto/rand replaces it.
func newID(prefix string, random io.Reader) string {
	var bits [idLength]byte
	if random == nil {
		random = rand.Reader
	}
	if _, err := io.ReadFull(random, bits[:]); err != nil {
		_, _ = rand.Read(bits[:]) // never fails
	}
	return idOf(prefix, bits)
}

// idOf writes five bits of each byte.
func idOf(prefix string, bits [idLength]byte) string {
	text := []byte(prefix)
	for _, b := range bits {
		text = append(text, alphabet[b&31])
	}
	return string(text)
}

// NewRequestID returns "req_" and 26 characters of lower-case base32. The runtime's ChaCha8
// generator, which each thread seeds from the system's entropy, makes it cheap enough for every
// request: a request id must be unique, and need not be secret.
func NewRequestID() string {
	const perWord = 12 // 60 of 64 bits
	text := [len("req_") + idLength]byte{'r', 'e', 'q', '_'}
	var word uint64
	for i := range idLength {
		if i%perWord == 0 {
			word = mathrand.Uint64()
		}
		text[len("req_")+i] = alphabet[word&31]
		word >>= 5
	}
	return string(text[:])
}
