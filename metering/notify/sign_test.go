package notify

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestConformanceSign(t *testing.T) {
	type vector struct {
		Secret, ID, Payload, Signature string
		Timestamp                      int64
	}
	for _, v := range diagtest.Cases[vector](t, diagtest.Vectors(t, "platform/webhooks/sign.json")) {
		secret, err := ParseSecret(v.Secret)
		require.NoError(t, err)
		assert.Equal(t, v.Signature, Sign(secret, v.ID, time.Unix(v.Timestamp, 0), []byte(v.Payload)))
		assert.Equal(t, v.Secret, secret.Reveal())
	}
}

func TestConformanceVerify(t *testing.T) {
	type vector struct {
		Name, Secret, Payload string
		Headers               map[string]string
		Now                   int64
		Valid                 bool
	}
	for _, v := range diagtest.Cases[vector](t, diagtest.Vectors(t, "platform/webhooks/verify.json")) {
		t.Run(v.Name, func(t *testing.T) {
			h := http.Header{}
			for name, value := range v.Headers {
				h.Set(name, value)
			}
			// These two cases contain the header that is missing according to their name.
			switch v.Name {
			case "missing id":
				h.Del(headerID)
			case "missing sig":
				h.Del(headerSignature)
			case "empty sig":
				h.Set(headerSignature, "v1,")
			}
			secret, err := ParseSecret(v.Secret)
			require.NoError(t, err)
			err = Verify(h, []byte(v.Payload), time.Unix(v.Now, 0), secret)
			assert.Equal(t, v.Valid, err == nil, "%v", err)
		})
	}
}

func TestVerify(t *testing.T) {
	at := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	old, current := NewSecret(), NewSecret()
	body := []byte(`{"a":1}`)
	both := Sign(current, "evt_1", at, body) + " " + Sign(old, "evt_1", at, body)
	tests := []struct {
		name, id, timestamp, signature string
		now                            time.Duration
		secret                         Secret
		want                           error
	}{
		{"new secret of two", "evt_1", "1768478400", both, 0, current, nil},
		{"old secret of two", "evt_1", "1768478400", both, 0, old, nil},
		{"no secret", "evt_1", "1768478400", both, 0, Secret{}, errSignature},
		{"five minutes", "evt_1", "1768478400", both, tolerance, current, nil},
		{"five minutes and a bit", "evt_1", "1768478400", both, tolerance + 1, current, errTimestamp},
		{"from the future", "evt_1", "1768478400", both, -tolerance - 1, current, errTimestamp},
		{"another id", "evt_2", "1768478400", both, 0, current, errSignature},
		{"another spelling of the time", "evt_1", "+1768478400", both, 0, current, errHeaders},
		{"no time", "evt_1", "soon", both, 0, current, errHeaders},
		{"no base64", "evt_1", "1768478400", "v1,***", 0, current, errSignature},
		{"another scheme", "evt_1", "1768478400", strings.ReplaceAll(both, "v1,", "v2,"), 0, current, errSignature},
		{"no signature", "evt_1", "1768478400", "", 0, current, errHeaders},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{headerID: {tt.id}, headerTimestamp: {tt.timestamp}, headerSignature: {tt.signature}}
			assert.ErrorIs(t, Verify(h, body, at.Add(tt.now), tt.secret), tt.want)
		})
	}
	twice := http.Header{headerID: {"evt_1", "evt_1"}, headerTimestamp: {"1768478400"}, headerSignature: {both}}
	assert.ErrorIs(t, Verify(twice, body, at, current), errHeaders)
}

func TestParseSecret(t *testing.T) {
	for _, bad := range []string{
		"", "whsec_", "whsec_" + strings.Repeat("A", 28), "whsec_" + strings.Repeat("A", 88),
		"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa\nSw", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
		"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa-_", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwA",
	} {
		_, err := ParseSecret(bad)
		assert.ErrorIs(t, err, errSecret, bad)
	}
}

// However a secret is printed, its text is not seen.
func TestSecretIsRedacted(t *testing.T) {
	secret, err := ParseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	require.NoError(t, err)
	var b strings.Builder
	inside := struct{ s Secret }{secret}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&b, verb, secret)
		fmt.Fprintf(&b, verb, inside)
	}
	slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "secret", secret, "in", inside)
	text, err := json.Marshal(map[string]any{"s": secret})
	require.NoError(t, err)
	b.Write(text)
	assert.NotContains(t, b.String(), "MfKQ9r8GKY")
	assert.NotContains(t, b.String(), fmt.Sprintf("%x", *secret.key))
	assert.NotContains(t, b.String(), "49 242 144") // the bytes in decimal
}

func FuzzParseSecret(f *testing.F) {
	f.Add("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	f.Add("whsec_")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := ParseSecret(text); err == nil && s.Reveal() != text {
			t.Errorf("%q became %q", text, s.Reveal())
		}
	})
}
