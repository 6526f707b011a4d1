package metering

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"time"
)

// ErrIdempotencyKey means that an Idempotency-Key field is empty, repeated, too short, too long or
// holds what it must not.
var ErrIdempotencyKey = errors.New("an idempotency key is 10 to 255 printable ASCII characters without spaces, " +
	"bare or as a quoted string, and is sent once")

const (
	// ClaimLease is how long a claim on an idempotency key remains after its owner goes silent.
	ClaimLease = 2 * time.Minute
	// ReplayWindow is how long a kept reply is replayed, from its completion; at that instant it expires.
	ReplayWindow = 24 * time.Hour
	// MaxReplyBytes bounds a kept body. A larger reply is charged and sent; of it only the claim is
	// kept, so that a repetition is refused rather than charged again.
	MaxReplyBytes = 1 << 20
	// KeptPerRate is the size in bytes of the replies kept for a line of keys, per request a minute of its plan: 240
	// MiB for 60 a minute, several times the need of a customer who sends a key with every request.
	KeptPerRate = 4 << 20
)

const (
	minIdempotencyKey = 10  // characters: shorter ones collide by accident
	maxIdempotencyKey = 255 // characters: what other services allow, so that clients need not change
)

// ParseIdempotencyKey reads the values of the Idempotency-Key field and returns the SHA-256 of the
// key, or nil where the field is absent. Any fault is [ErrIdempotencyKey].
//
// A key is 10 to 255 characters from 0x21 to 0x7E (CONTRACT 5.1). A value that begins with a double quote is a string
// of RFC 9651 section 3.3.3, in which \" and \\ represent " and \; every other value is the key itself, with " and \
// taken literally. The limits apply to the decoded key, and both notations of a key give the same hash. Text after the
// closing quote is an error: parameters (RFC 9651 section 3.1.2) would make it an item, and none is defined for it, so
// it is rejected rather than silently dropped.
func ParseIdempotencyKey(header []string) (hash *[32]byte, err error) {
	if len(header) == 0 {
		return nil, nil
	}
	if len(header) > 1 {
		return nil, ErrIdempotencyKey
	}
	var buf [maxIdempotencyKey]byte
	n, ok := idempotencyKey(&buf, header[0])
	if !ok || n < minIdempotencyKey {
		return nil, ErrIdempotencyKey
	}
	sum := sha256.Sum256(buf[:n])
	return &sum, nil
}

// idempotencyKey writes the decoded characters of the value into buf.
func idempotencyKey(buf *[maxIdempotencyKey]byte, value string) (n int, ok bool) {
	quoted := value != "" && value[0] == '"'
	if quoted {
		if len(value) < 2 || value[len(value)-1] != '"' {
			return 0, false
		}
		value = value[1 : len(value)-1]
	}
	for i := 0; i < len(value); i++ {
		if quoted && value[i] == '"' {
			return 0, false // the string ends before the value
		}
		if quoted && value[i] == '\\' {
			i++
			if i == len(value) || (value[i] != '"' && value[i] != '\\') {
				return 0, false
			}
		}
		if c := value[i]; c < 0x21 || c > 0x7e || n == len(buf) {
			return 0, false
		}
		buf[n] = value[i]
		n++
	}
	return n, true
}

// Fingerprint returns the SHA-256 by which the repetition of a request is known: over method, path,
// media type and raw body (CONTRACT 5.2). Each of the first three is preceded by its length, so that
// no two different requests give the same bytes.
func Fingerprint(method, path, mediaType string, body []byte) [32]byte {
	const small = 1024 // a usual request needs no memory of the heap
	var space [small]byte
	b := space[:0]
	for _, part := range [...]string{method, path, mediaType} {
		b = binary.BigEndian.AppendUint64(b, uint64(len(part)))
		b = append(b, part...)
	}
	if len(b)+len(body) <= small {
		return sha256.Sum256(append(b, body...))
	}
	h := sha256.New()
	h.Write(b)
	h.Write(body)
	return [32]byte(h.Sum(nil))
}
