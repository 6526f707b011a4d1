package headers

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// testSilence lets single questions go unanswered: what they decide is left open, and nothing else changes.
func testSilence(t *testing.T) {
	const nonce = "Content-Security-Policy: script-src 'nonce-0123456789abcdef{random}'; object-src 'none'; base-uri 'none'"
	for _, tt := range []struct {
		name    string
		silent  func(*http.Request) bool
		open    diag.Code
		factor  diag.Code
		lacking int // of the points of that factor
	}{
		{"preflight", func(r *http.Request) bool { return r.Method == http.MethodOptions }, "headers.cors.reflected", "sharing", 50},
		{"as another site asks", func(r *http.Request) bool { return r.Header.Get("Origin") == foreignOrigin && r.Method == "GET" },
			"headers.csp.nonce", "content_policy", 0},
		{"http", func(r *http.Request) bool { return r.TLS == nil }, "headers.redirect.missing", "transport", 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := diagtest.NewWorld(t)
				good := serve(nonce, `<script nonce="0123456789abcdef{random}">1</script>`)
				answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if tt.silent(r) {
						<-r.Context().Done()
					}
					if r.TLS == nil {
						http.Redirect(w, r, "https://example.com/", http.StatusFound)
						return
					}
					good.ServeHTTP(w, r)
				})
				w.HTTPS("example.com", answer)
				w.HTTP("example.com", answer)
				r := check(t, w, Request{URL: diag.MustURL("example.com")})
				require.True(t, r.Partial)
				require.Contains(t, r.Open(), tt.open)
				require.NotContains(t, diagtest.Codes(r.Verdict), tt.open)
				require.LessOrEqual(t, *r.Score, 89)
				require.NotContains(t, r.Headline, "protect", "a part was not examined")
				seen.Add(r.Verdict)
				require.Equal(t, Strong, r.SecurityHeaders.ContentSecurityPolicy.Strength, "it follows from the policy as it is written")
				i := slices.IndexFunc(r.Factors, func(f diag.Factor) bool { return f.Code == tt.factor })
				most := map[diag.Code]int{"transport": 40, "sharing": 50, "content_policy": 25}[tt.factor]
				if most == tt.lacking {
					require.Negative(t, i)
				} else {
					require.Equal(t, most-tt.lacking, r.Factors[i].MaxPoints)
				}
				require.Equal(t, tt.lacking == 0, r.Observatory.Grade != "", "the grade needs all answers")
			})
		})
	}
}

// A resolver that is dead says nothing about a site.
func TestUnavailable(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Break("example.com", dns.RcodeRefused)
	_, err := Check(t.Context(), w.Env(), Request{URL: diag.MustURL("example.com")})
	require.ErrorIs(t, err, diag.ErrUnavailable)
}

// What a policy is worth follows from what it lets run; that an attacker can know its nonce, or that it stops the page
// itself, are findings.
func TestStrengthFollowsFromWhatRuns(t *testing.T) {
	for policy, code := range map[string]diag.Code{
		"script-src 'nonce-1'":                        "headers.csp.nonce",
		"script-src 'nonce-0123456789abcdef012345'":   "headers.csp.nonce",
		"script-src 'nonce-{random}'":                 "headers.csp.nonce.short",
		"script-src 'strict-dynamic'":                 "headers.csp.scripts.dynamic",
		"script-src 'nonce-0123456789abcdef{random}'": "",
		"script-src 'strict-dynamic' 'nonce-0123456789abcdef{random}' 'unsafe-inline' https: http:": "",
	} {
		policy += "; object-src 'none'; base-uri 'none'; frame-ancestors 'none'"
		r := check(t, newWorld(t, "Content-Security-Policy: "+policy, "<p>"), Request{URL: diag.MustURL("example.com")})
		require.Equal(t, Strong, r.SecurityHeaders.ContentSecurityPolicy.Strength, policy)
		require.Equal(t, strings.TrimPrefix(string(code), "headers."), join(diagtest.Codes(r.Verdict)))
		require.Equal(t, code == "", *r.Score == 100, policy)
	}
}
