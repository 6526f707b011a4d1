package fetch_test

import (
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/stretchr/testify/require"
)

// Real sockets behave as those in memory do.
func TestDoOverLoopback(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Proto", r.Proto)
		w.Write(make([]byte, 1<<20))
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	u := diag.MustURL(server.URL)
	env := &diag.Env{Roots: x509.NewCertPool(), Guard: loopback(u)}
	env.Roots.AddCert(server.Certificate())

	r, err := fetch.Do(t.Context(), env, fetch.Request{URL: u})
	require.NoError(t, err)
	require.Nil(t, r.Err)
	require.Equal(t, "HTTP/2", r.Final().HTTPVersion)
	require.Equal(t, "HTTP/2.0", r.Final().Header.Get("X-Proto"))
	require.Len(t, r.Body, 1<<20)
	require.Equal(t, "127.0.0.1", r.Final().IP.String())
}

// loopback allows the server of a test, and nothing else that is special.
func loopback(u diag.URL) diag.Guard {
	return diag.Guard{
		AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, AllowPorts: []uint16{u.Port()},
	}
}

func BenchmarkDo(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte("hello"))
	}))
	defer server.Close()
	u := diag.MustURL(server.URL)
	env := &diag.Env{Guard: loopback(u)}
	b.ReportAllocs()
	for b.Loop() {
		r, err := fetch.Do(b.Context(), env, fetch.Request{URL: u})
		require.NoError(b, err)
		require.Nil(b, r.Err)
	}
}
