package hostedspf

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
)

// The names of profiles and of entries in their histories are a prefix and 26 characters of lower-case
// base32: 130 bits, so that no two ever meet.
const (
	profilePrefix    = "spf_"
	resolutionPrefix = "res_"
	idLength         = 26
	alphabet         = "abcdefghijklmnopqrstuvwxyz234567"
)

func newID(prefix string) string { return prefix + strings.ToLower(rand.Text()[:idLength]) }

// random returns a number from 0 up to 1. It is drawn where ids are drawn, so that a test which seeds
// that one source repeats a resolution to the byte.
func random() float64 {
	var bits [8]byte
	_, _ = rand.Read(bits[:]) // never fails
	const precision = 53      // bits that a float64 holds without rounding
	return float64(binary.BigEndian.Uint64(bits[:])>>(64-precision)) / (1 << precision)
}

func isID(prefix, s string) bool {
	rest, ok := strings.CutPrefix(s, prefix)
	return ok && len(rest) == idLength && strings.Trim(rest, alphabet) == ""
}

// cursor writes a position down for a client, who need not understand it.
func (p Position) cursor() *string {
	text := base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.Time.UnixMicro(), 10) + "," + p.ID))
	return &text
}

// parseCursor reads a cursor of a list of entries whose ids have the prefix. The empty cursor is the
// beginning. The error is a *[diag.InputError].
func parseCursor(prefix, s string) (Position, error) {
	if s == "" {
		return Position{}, nil
	}
	bad := diag.Invalid("cursor", "is not one that this list gave out")
	if len(s) > maxCursor {
		return Position{}, bad
	}
	text, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil {
		return Position{}, bad
	}
	micros, id, _ := strings.Cut(string(text), ",")
	n, err := strconv.ParseInt(micros, 10, 64)
	if err != nil || !isID(prefix, id) {
		return Position{}, bad
	}
	p := Position{time.UnixMicro(n).UTC(), id}
	if *p.cursor() != s {
		return Position{}, bad
	}
	return p, nil
}

// maxCursor bounds a cursor, in bytes: a number of 20 digits, a comma and an id have 51, and a third more in base64.
const maxCursor = 80
