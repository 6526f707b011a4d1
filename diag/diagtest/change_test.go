package diagtest_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// A world can change after it was queried: records are replaced, handlers are wrapped, keys are rolled.
func TestWorldsChange(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone(`
		example.com. TXT "old"
		example.com. A 192.0.2.80`)
	ask := func(qtype uint16) *dns.Msg {
		q := new(dns.Msg).SetQuestion("example.com.", qtype)
		q.SetEdns0(1232, true)
		m, err := w.Exchange(t.Context(), q)
		require.NoError(t, err)
		return m
	}
	w.Sign("example.com.", diagtest.Signing{Broken: []diagtest.Broken{{Fault: diagtest.DSMismatch}}})
	require.Equal(t, dns.RcodeServerFailure, ask(dns.TypeTXT).Rcode)
	w.Zone(w.DS("example.com.")[0].String())
	require.True(t, ask(dns.TypeTXT).AuthenticatedData, "the right DS record is there")

	w.Remove(func(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeTXT })
	w.Zone(`example.com. TXT "new"`)
	m := ask(dns.TypeTXT)
	require.Equal(t, []string{"new"}, m.Answer[0].(*dns.TXT).Txt)
	require.True(t, m.AuthenticatedData)

	before := w.DNSKEY("example.com.")
	w.Roll("example.com.")
	after := w.DNSKEY("example.com.")
	require.Equal(t, before[0].PublicKey, after[0].PublicKey)
	require.NotEqual(t, before[1].PublicKey, after[1].PublicKey)
	require.True(t, ask(dns.TypeTXT).AuthenticatedData)

	louder := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(rw, r)
			io.WriteString(rw, "!")
		})
	}
	require.False(t, w.Wrap("example.com", 443, louder))
	w.HTTPS("example.com", http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { io.WriteString(rw, "hello") }))
	require.True(t, w.Wrap("example.com", 443, louder))
	_, body, err := get(t.Context(), t, w.Env(), "https://example.com/")
	require.NoError(t, err)
	require.Equal(t, "hello!", body)
}
