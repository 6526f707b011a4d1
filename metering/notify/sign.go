package notify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// tolerance is how far the time of a delivery may lie from that of its receiver, either way: what was recorded
// cannot be played back later.
const tolerance = 5 * time.Minute

// The faults that [Verify] reports.
var (
	errHeaders   = errors.New("the headers of the signature are missing or malformed")
	errTimestamp = errors.New("the delivery is more than 5 minutes old, or from the future")
	errSignature = errors.New("no signature matches")
)

// The headers of Standard Webhooks. Those named X-Service-… say the same.
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

// Verify is for receivers of webhooks: it reports whether a request was signed with one of the secrets, and is not
// older than tolerance. Body is the body as it was received, to the byte. Who verifies should also remember the header
// webhook-id for a while, since a delivery may come twice. The error is errHeaders, errTimestamp or errSignature.
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
