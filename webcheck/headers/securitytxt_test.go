package headers

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/stretchr/testify/require"
)

const signedSecurityTxt = `-----BEGIN PGP SIGNED MESSAGE-----
Hash: SHA512

# Ours
Contact: https://example.com/report
Contact: mailto:security@example.com
Expires: 2026-06-30t12:00:00z
- ----
Canonical: https://example.com/.well-known/security.txt
Preferred-Languages: en, de
-----BEGIN PGP SIGNATURE-----

iHUEARYKAB0=
-----END PGP SIGNATURE-----
`

// securityTxts are answers to the request for security.txt, and the findings about them.
var securityTxts = []struct{ name, kind, body, codes, details string }{
	{"good", "text/plain", goodSecurityTxt, "", ""},
	{"comments and line ends", "text/plain", "\uFEFF# Ours\r\n\r\ncontact:mailto:a@example.com\r\nEXPIRES: 2026-06-30T12:00:00+02:00\r\nCSAF: https://example.com/csaf.json\r\n", "", ""},
	{"signed", "text/plain; charset=utf-8", strings.Replace(signedSecurityTxt, "- ----\n", "", 1), "", ""},
	{"signed with a line that is not a field", "text/plain", signedSecurityTxt, "security_txt.invalid", "Line 5 is not a field: ----."},
	{"page", "text/html", goodSecurityTxt, "security_txt.missing", "answers with a page"},
	{"page without a type", "", " <!doctype html>Contact: x", "security_txt.missing", "answers with a page"},
	{"other text", "text/plain", "OK\n", "security_txt.missing", "none of its fields"},
	{"expired", "text/plain", "Contact: mailto:a@example.com\nExpires: 2025-12-31T00:00:00Z\n", "security_txt.expired", "expired on 2025-12-31"},
	{"expires soon", "text/plain", "Contact: mailto:a@example.com\nExpires: 2026-01-05T00:00:00Z\n", "security_txt.expiring", "expires on 2026-01-05"},
	{"years", "text/plain", "Contact: mailto:a@example.com\nExpires: 2030-01-01T00:00:00Z\n", "security_txt.long", "expires on 2030-01-01"},
	{"no date", "text/plain", "Contact: mailto:a@example.com\nExpires: Thu, 31 Dec 2026 18:37:07 -0800\n", "security_txt.invalid", "Expires is Thu, 31 Dec 2026"},
	{"nothing but Expires", "text/plain", "Expires: 2026-06-30T12:00:00Z\n", "security_txt.invalid", "no Contact"},
	{"nothing but Contact", "text/plain", "Contact: mailto:a@example.com\n", "security_txt.invalid", "no Expires"},
	{"address", "text/plain", "Contact: a@example.com\nExpires: 2026-06-30T12:00:00Z\n", "security_txt.invalid", "mailto:a@example.com"},
	{"http", "text/plain", goodSecurityTxt + "Policy: http://example.com/\n", "security_txt.invalid", "must begin with https"},
	{"no URI", "text/plain", goodSecurityTxt + "Encryption: our key\n", "security_txt.invalid", "is not a URI"},
	{"two dates", "text/plain", goodSecurityTxt + "Expires: 2026-05-30T12:00:00Z\n", "security_txt.invalid", "2 Expires fields"},
	{"two lists of languages", "text/plain", goodSecurityTxt + "Preferred-Languages: en\nPreferred-Languages: de\n", "security_txt.invalid", "2 Preferred-Languages"},
	{"another type", "application/octet-stream", goodSecurityTxt, "security_txt.invalid", "as application/octet-stream"},
	{"another place", "text/plain", goodSecurityTxt + "Canonical: https://example.net/.well-known/security.txt\n", "security_txt.canonical", "names https://example.net"},
	{"too long", "text/plain", goodSecurityTxt + strings.Repeat("# text\n", maxSecurityTxt), "security_txt.invalid", "longer than 32 KiB"},
}

// securityWorld has a good page, and a host that answers the request for security.txt in some way.
func securityWorld(t testing.TB, answer http.HandlerFunc) *diagtest.World {
	w := newWorld(t, "", goodBody)
	w.HTTPS("example.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == securityPath {
			answer(w, r)
			return
		}
		serve("", goodBody).ServeHTTP(w, r)
	}))
	return w
}

func testSecurityTxt(t *testing.T) {
	for _, tt := range securityTxts {
		t.Run(tt.name, func(t *testing.T) {
			w := securityWorld(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = []string{tt.kind}
				io.WriteString(w, tt.body)
			})
			r := check(t, w, Request{URL: diag.MustURL("example.com")})
			require.Equal(t, tt.codes, join(seen.Add(r.Verdict)))
			if tt.details != "" {
				require.Contains(t, r.Findings[0].Detail, tt.details)
			}
			s := r.SecurityTxt
			require.Equal(t, tt.codes != "security_txt.missing", s.Present)
			require.Equal(t, s.Present && tt.codes != "security_txt.invalid" && tt.codes != "security_txt.expired", s.Valid)
			require.False(t, r.Partial)
			if tt.codes == "security_txt.missing" {
				require.Equal(t, 100, *r.Score, "nobody needs one")
			}
		})
	}
	t.Run("silent", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := securityWorld(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
			r := check(t, w, Request{URL: diag.MustURL("example.com")})
			require.Equal(t, "security_txt.unknown", join(seen.Add(r.Verdict)))
			require.True(t, r.Partial)
			require.Zero(t, r.SecurityTxt)
			require.Equal(t, 89, *r.Score)
			require.LessOrEqual(t, time.Duration(r.DurationMS)*time.Millisecond, probeTimeout+time.Second)
		})
	})
}

func TestSecurityTxtIsRead(t *testing.T) {
	w := securityWorld(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://www.example.com"+securityPath, http.StatusFound)
	})
	w.HTTPS("www.example.com", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, strings.Replace(signedSecurityTxt, "- ----\n", "", 1))
	}))
	r := check(t, w, Request{URL: diag.MustURL("http://example.com/about")})
	require.Empty(t, r.Findings)
	require.Equal(t, SecurityTxt{
		URL: "https://example.com/.well-known/security.txt", Present: true, Valid: true, Signed: true,
		Contact: []string{"https://example.com/report", "mailto:security@example.com"},
		Expires: time.Date(2026, 6, 30, 12, 0, 0, 0, time.UTC), Encryption: []string{}, Acknowledgments: []string{},
		Canonical: []string{"https://example.com/.well-known/security.txt"}, Policy: []string{}, Hiring: []string{},
		PreferredLanguages: []string{"en", "de"},
	}, r.SecurityTxt)
}

// FuzzSecurityTxt: whatever it holds, the lists are bounded, and what is valid has a contact and no fault.
func FuzzSecurityTxt(f *testing.F) {
	for _, tt := range securityTxts {
		f.Add(tt.body[:min(len(tt.body), 1000)])
	}
	at := diag.MustURL("https://example.com/")
	f.Fuzz(func(t *testing.T, body string) {
		hop := fetch.Hop{URL: at.String() + securityPath[1:], StatusCode: 200, Header: http.Header{"Content-Type": {"text/plain"}}}
		e := &evidence{req: Request{URL: at}, security: &fetch.Result{URL: at, Hops: []fetch.Hop{hop}, Body: []byte(body)}}
		s := e.readSecurityTxt()
		require.LessOrEqual(t, len(s.Contact), maxListed)
		require.LessOrEqual(t, len(s.faults), maxListed)
		require.True(t, !s.Valid || len(s.Contact) > 0 && len(s.faults) == 0 && !s.Expires.IsZero())
	})
}
