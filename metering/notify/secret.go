package notify

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// The bounds of a signing secret, in bytes before base64 (CONTRACT 7), and what a new one has.
const (
	minSecretBytes = 24
	maxSecretBytes = 64
	newSecretBytes = 32
)

const secretPrefix = "whsec_"

// errSecret means that a text is not a signing secret. It does not repeat the text.
var errSecret = errors.New("not a signing secret: whsec_ and base64 of 24 to 64 bytes")

// A Secret signs deliveries to a webhook: "whsec_" and base64 of 24 to 64 bytes, as Standard Webhooks has it. Every way
// of printing or marshalling one writes a redacted text; only [Secret.Reveal] tells it. The zero Secret is none.
type Secret struct {
	// A pointer to a string, because fmt prints the fields of an unexported field without asking their methods:
	// it then finds an address. Of a pointer to a slice it would print the bytes.
	key *string
}

// NewSecret makes a secret of 256 random bits. A nil random is crypto/rand.
func NewSecret(random io.Reader) (Secret, error) {
	if random == nil {
		random = rand.Reader
	}
	key := make([]byte, newSecretBytes)
	if _, err := io.ReadFull(random, key); err != nil {
		return Secret{}, fmt.Errorf("drawing a signing secret: %w", err)
	}
	return Secret{new(string(key))}, nil
}

// ParseSecret reads a secret. Any fault is errSecret.
func ParseSecret(text string) (Secret, error) {
	encoded, ok := strings.CutPrefix(text, secretPrefix)
	if !ok || strings.ContainsAny(encoded, "\r\n") { // which the decoder would skip
		return Secret{}, errSecret
	}
	key, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || len(key) < minSecretBytes || len(key) > maxSecretBytes {
		return Secret{}, errSecret
	}
	return Secret{new(string(key))}, nil
}

// Reveal returns the text of the secret, and nothing for the zero Secret. It is the only way to it.
func (s Secret) Reveal() string {
	if s.key == nil {
		return ""
	}
	return secretPrefix + base64.StdEncoding.EncodeToString([]byte(*s.key))
}

// IsZero reports whether there is no secret.
func (s Secret) IsZero() bool { return s.key == nil }

// String returns a redacted text.
func (s Secret) String() string { return secretPrefix + "[redacted]" }

// GoString implements [fmt.GoStringer] with the redacted text.
func (s Secret) GoString() string { return s.String() }

// Format implements [fmt.Formatter] with the redacted text, whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText implements [encoding.TextMarshaler] with the redacted text.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue implements [slog.LogValuer] with the redacted text.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
