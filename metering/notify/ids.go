package notify

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"io"
	"strings"
)

// The prefixes of ids. Each is followed by 26 characters of lower-case base32: 130 bits.
const (
	channelPrefix  = "chn_"
	deliveryPrefix = "dlv_"
	idLength       = 26
)

var lowerBase32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// newID returns an id that nobody has had before. A nil random is crypto/rand; where another reader ends,
// crypto/rand takes its place.
func newID(prefix string, random io.Reader) string {
	var bits [20]byte // 160 bits: 32 characters, of which 26 are taken
	if random == nil {
		random = rand.Reader
	}
	if _, err := io.ReadFull(random, bits[:]); err != nil {
		_, _ = rand.Read(bits[:]) // never fails
	}
	return prefix + lowerBase32.EncodeToString(bits[:])[:idLength]
}

// derivedID returns the same id for the same parts: what is derived twice is found to exist.
func derivedID(prefix string, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return prefix + lowerBase32.EncodeToString(sum[:])[:idLength]
}
