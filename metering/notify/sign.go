package notify

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// tolerance is the maximum difference between the timestamp of a delivery and the clock of its receiver, in either
// direction: a recorded delivery cannot be replayed later.
const tolerance = 5 * time.Minute

// The faults that [Verify] reports.
var (
	errHeaders   = errors.New("the headers of the signature are missing or malformed")
	errTimestamp = errors.New("the delivery is more than 5 minutes old, or from the future")
	errSignature = errors.New("no signature matches")
)

// The headers of Standard Webhooks. Those named X-Service-… have the same values.
const (
	headerID        = "Webhook-Id"
	headerTimestamp = "Webhook-Timestamp"
	headerSignature = "Webhook-Signature"
)

// The scheme of our signatures. "v1a," would be an asymmetric one.
const signatureScheme = "v1,"

// Sign returns the signature of a body: "v1," and base64 of the HMAC-SHA256 over id, time and body.
func Sign(s Secret, id string, at time.Time, body []byte) string {
	return signatureScheme + base64.StdEncoding.EncodeToString(s.mac(id, strconv.FormatInt(at.Unix(), 10), body))
}

func (s Secret) mac(id, timestamp string, body []byte) []byte {
	if s.key == nil {
		return nil
	}
	h := hmac.New(sha256.New, []byte(*s.key))
	h.Write([]byte(id + "." + timestamp + "."))
	h.Write(body)
	return h.Sum(nil)
}

// Verify is for receivers of webhooks: it verifies that a request was signed with one of the secrets, at a time that
// is at most 5 minutes from now. Body is the body as received, to the byte. Receivers should also remember the header
// webhook-id for a while, since a delivery may arrive twice. The error says whether the headers, the timestamp or the
// signatures are at fault.
func Verify(h http.Header, body []byte, now time.Time, secrets ...Secret) error {
	id, timestamp, signatures := h[headerID], h[headerTimestamp], h[headerSignature]
	if len(id) != 1 || len(timestamp) != 1 || len(signatures) != 1 || id[0] == "" || signatures[0] == "" {
		return errHeaders
	}
	seconds, err := strconv.ParseInt(timestamp[0], 10, 64)
	if err != nil || strconv.FormatInt(seconds, 10) != timestamp[0] {
		return errHeaders
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > tolerance || age < -tolerance {
		return errTimestamp
	}
	for text := range strings.FieldsSeq(signatures[0]) {
		encoded, ok := strings.CutPrefix(text, signatureScheme)
		given, err := base64.StdEncoding.DecodeString(encoded)
		if !ok || err != nil || len(given) != sha256.Size {
			continue
		}
		for _, s := range secrets {
			if !s.IsZero() && hmac.Equal(given, s.mac(id[0], timestamp[0], body)) {
				return nil
			}
		}
	}
	return errSignature
}

// The bounds of a signing secret, in bytes before base64 (CONTRACT 7), and of a new one.
const (
	minSecretBytes = 24
	maxSecretBytes = 64
	newSecretBytes = 32
)

const secretPrefix = "whsec_"

// errSecret means that a text is not a signing secret. It does not repeat the text.
var errSecret = errors.New("not a signing secret: whsec_ and base64 of 24 to 64 bytes")

// A Secret signs deliveries to a webhook: "whsec_" and base64 of 24 to 64 bytes, as in Standard Webhooks. Printing or
// marshaling one yields a redacted text; only [Secret.Reveal] returns it. The zero Secret is empty.
type Secret struct {
	// A pointer to a string, because fmt prints the fields of an unexported field without asking their methods:
	// it then finds an address. Of a pointer to a slice it would print the bytes.
	key *string
}

// NewSecret makes a secret of 256 random bits.
func NewSecret() Secret {
	key := make([]byte, newSecretBytes)
	_, _ = rand.Read(key) // never fails
	return Secret{new(string(key))}
}

// ParseSecret reads a secret: whsec_ and the base64 of 24 to 64 bytes. The error does not repeat the text.
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

// IsZero reports whether s is the zero Secret.
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
