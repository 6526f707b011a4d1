package diag_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A client of net/http reaches what the environment reaches, by its authorities and at its time, and nothing that the
// guard refuses, wherever a redirect leads.
func TestHTTPClient(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.HTTPS("example.com", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/inside":
			http.Redirect(rw, r, "https://inside.example.com/", http.StatusFound)
		case "/port":
			http.Redirect(rw, r, "https://example.com:22/", http.StatusFound)
		case "/local":
			http.Redirect(rw, r, "http://localhost/", http.StatusFound)
		default:
			io.WriteString(rw, "a page")
		}
	}))
	w.Zone("inside.example.com. A 10.0.0.1")
	client := w.Env().HTTPClient()
	get := func(url string) (string, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		require.NoError(t, err)
		resp, err := client.Do(r)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return string(body), err
	}
	body, err := get("https://example.com/")
	require.NoError(t, err)
	assert.Equal(t, "a page", body)
	for path, want := range map[string]string{
		"inside": "connecting to 10.0.0.1:443: the address is not public", "port": "22", "local": "80",
	} {
		_, err := get("https://example.com/" + path)
		_, blocked := errors.AsType[*diag.BlockedError](err)
		require.True(t, blocked, "%s: %v", path, err)
		assert.ErrorContains(t, err, want)
	}
	_, err = get("https://nothing.example.com/")
	_, missing := errors.AsType[*diag.NoAddressError](err)
	assert.True(t, missing, err)

	w.SetTime(w.Now().AddDate(10, 0, 0))
	client.CloseIdleConnections()
	_, err = get("https://example.com/")
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	assert.True(t, untrusted, "the certificate has expired by the clock of the world: %v", err)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://example.com/", nil)
	require.NoError(t, err)
	_, err = client.Do(r)
	assert.ErrorIs(t, err, context.Canceled)
}
