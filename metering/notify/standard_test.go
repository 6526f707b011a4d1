package notify

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A delivery over a real connection is verified by the library of Standard Webhooks, also while a secret is being
// rotated, by its old secret and the new one, and by our own Verify.
func TestIndependentLibraryVerifies(t *testing.T) {
	var header http.Header
	var body []byte
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		header = r.Header
		body, _ = io.ReadAll(r.Body)
	}))
	defer server.Close()

	w := newWorld(t)
	w.clock.Set(time.Now()) // the library uses the wall clock
	w.worker.Client = server.Client()
	w.channels.Ports = []uint16{port(t, server.URL)}
	c, old, err := w.channels.Create(t.Context(), ChannelRequest{
		Account: w.account.ID, Name: "real", Kind: Webhook, Target: server.URL + "/hook?token=1",
	})
	require.NoError(t, err)
	_, current, err := w.channels.RotateSecret(t.Context(), w.account.ID, c.ID, Secret{}, time.Hour)
	require.NoError(t, err)
	w.key(nil)
	w.pump()

	require.NotNil(t, header)
	assert.Equal(t, "Service-Webhook/2.0", header.Get("User-Agent"))
	assert.Equal(t, "application/json", header.Get("Content-Type"))
	assert.Equal(t, "1/6", header.Get("X-Service-Attempt"))
	assert.Equal(t, "api_key.created", header.Get("X-Service-Event-Type"))
	assert.Equal(t, header.Get("webhook-id"), header.Get("X-Service-Event-ID"))
	assert.Equal(t, header.Get("webhook-timestamp"), header.Get("X-Service-Timestamp"))
	assert.Equal(t, header.Get("webhook-signature"), header.Get("X-Service-Signature"))
	assert.Regexp(t, `^dlv_`, header.Get("X-Service-Delivery-ID"))
	for _, secret := range []Secret{old, current} {
		theirs, err := standardwebhooks.NewWebhook(secret.Reveal())
		require.NoError(t, err)
		assert.NoError(t, theirs.Verify(body, header))
		assert.Error(t, theirs.Verify(bytes.ToUpper(body), header))
		assert.NoError(t, Verify(header, body, time.Now(), secret))
	}

	w.clock.Advance(time.Hour) // the old secret has ended
	_, err = w.channels.Test(t.Context(), w.account.ID, c.ID)
	require.NoError(t, err)
	w.pump()
	assert.NoError(t, Verify(header, body, w.clock.Now(), current))
	assert.ErrorIs(t, Verify(header, body, w.clock.Now(), old), errSignature)
}

func TestUnsigned(t *testing.T) {
	w := newWorld(t)
	_, secret, err := w.channels.Create(t.Context(), ChannelRequest{
		Account: w.account.ID, Name: "u", Kind: Webhook, Target: "https://hooks.example.com/", Unsigned: true,
	})
	require.NoError(t, err)
	assert.True(t, secret.IsZero())
	w.key(nil)
	got := w.pump()
	require.Len(t, got, 1)
	assert.NotContains(t, got[0].Header, "Webhook-Signature")
	assert.NotContains(t, got[0].Header, "X-Service-Signature")
	assert.Contains(t, got[0].Header, "Webhook-Id")
}
