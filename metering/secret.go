package metering

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
)

const (
	// alphabet is the lower-case base32 alphabet of RFC 4648 section 6. Its characters survive
	// spoken dictation, double-click selection and case-insensitive systems.
	alphabet      = "abcdefghijklmnopqrstuvwxyz234567"
	secretPrefix  = len("svc_live_") // "svc_test_" is as long
	secretRandom  = 30               // characters of 5 bits: 150 bits that cannot be guessed
	secretCheck   = 6                // characters of 5 bits: the low 30 bits of a CRC-32
	secretLength  = secretPrefix + secretRandom + secretCheck
	displayLength = 8 // characters of the random part that a display prefix shows
)

// A Secret is what a client sends to prove that it holds a key: "svc_live_" or "svc_test_", 30 random characters and a
// checksum of 6, by which scanners and clients detect a typing error offline. Printing or marshaling a Secret yields a
// redacted text; only [Secret.Reveal] returns it. The zero Secret is empty.
type Secret struct {
	// A pointer, because fmt prints the fields of an unexported field without asking their methods:
	// so even there it finds an address, not the text.
	text *string
}

// NewSecret makes a secret of an environment from 150 random bits. A nil random is crypto/rand; an
// error of another reader is returned.
func NewSecret(env Environment, random io.Reader) (Secret, error) {
	if env != Live && env != Test {
		return Secret{}, &FieldError{Field: "environment", Reason: "must be live or test"}
	}
	if random == nil {
		random = rand.Reader
	}
	var text [secretLength]byte
	copy(text[:], "svc_"+env+"_")
	body := text[secretPrefix : secretPrefix+secretRandom]
	if _, err := io.ReadFull(random, body); err != nil {
		return Secret{}, fmt.Errorf("drawing a secret: %w", err)
	}
	for i, b := range body {
		body[i] = alphabet[b&31]
	}
	check := checksum(&text)
	copy(text[secretPrefix+secretRandom:], check[:])
	s := string(text[:])
	return Secret{&s}, nil
}

// hashSecret returns the SHA-256 of a secret and whether the text is one. A hash of the same length
// is computed in every case, so that a malformed text costs what an unknown key costs.
func hashSecret(text string) (hash [32]byte, ok bool) {
	var buf [secretLength]byte
	copy(buf[:], text)
	ok = isWellFormed(&buf) && len(text) == secretLength
	return sha256.Sum256(buf[:]), ok
}

// MayBeSecret reports whether a text has the form of a secret and the right checksum: a typing error has not.
func MayBeSecret(text string) bool {
	_, ok := hashSecret(text)
	return ok
}

// isWellFormed reports whether the text has the form of a secret and the right checksum. It reveals nothing that a
// client could not compute.
func isWellFormed(text *[secretLength]byte) bool {
	if prefix := string(text[:secretPrefix]); prefix != "svc_live_" && prefix != "svc_test_" {
		return false
	}
	for _, c := range text[secretPrefix:] {
		if (c < 'a' || c > 'z') && (c < '2' || c > '7') {
			return false
		}
	}
	return [secretCheck]byte(text[secretPrefix+secretRandom:]) == checksum(text)
}

// checksum returns the characters for the low 30 bits of the CRC-32 (IEEE) of all characters before them, the highest
// bits first.
func checksum(text *[secretLength]byte) (check [secretCheck]byte) {
	sum := crc32.ChecksumIEEE(text[:secretPrefix+secretRandom])
	for i := range check {
		check[i] = alphabet[sum>>(5*(secretCheck-1-i))&31]
	}
	return check
}

// Reveal returns the text of the secret. It is the only way to it.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// Hash returns the SHA-256 of the secret: all that a store keeps of it.
func (s Secret) Hash() [32]byte { return sha256.Sum256([]byte(s.Reveal())) }

// Environment returns the environment that the secret names, and "" for the zero Secret.
func (s Secret) Environment() Environment {
	if s.text == nil {
		return ""
	}
	return Environment((*s.text)[len("svc_") : secretPrefix-1])
}

// DisplayPrefix returns the environment and the first 8 random characters, such as
// "svc_live_abcdefgh", by which a person recognizes a key in a list.
func (s Secret) DisplayPrefix() string {
	if s.text == nil {
		return ""
	}
	return (*s.text)[:secretPrefix+displayLength]
}

// String returns the redacted text, such as "svc_live_[redacted]".
func (s Secret) String() string {
	if s.text == nil {
		return "[redacted]"
	}
	return (*s.text)[:secretPrefix] + "[redacted]"
}

// GoString implements [fmt.GoStringer] with the redacted text.
func (s Secret) GoString() string { return s.String() }

// Format implements [fmt.Formatter] with the redacted text, whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText implements [encoding.TextMarshaler] with the redacted text.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue implements [slog.LogValuer] with the redacted text.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
