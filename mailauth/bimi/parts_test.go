package bimi

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/bimi/markcert/markcerttest"
	"github.com/stretchr/testify/require"
)

// issuer issues the certificates of these tests.
var issuer = markcerttest.New()

// A shelf is a web server with a logo and a certificate.
type shelf struct {
	logo, mark string // empty: status 404
	media      string // of the logo, if it is not image/svg+xml
	spoil      func(*diagtest.World)
}

const host = "brand.example.com"

func (s shelf) open(w *diagtest.World) {
	w.SetTime(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))
	w.HTTPS(host, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, media := s.logo, "image/svg+xml"
		if s.media != "" {
			media = s.media
		}
		if strings.HasSuffix(r.URL.Path, ".pem") {
			body, media = s.mark, "application/x-pem-file"
		}
		if body == "" {
			http.NotFound(rw, r)
			return
		}
		rw.Header().Set("Content-Type", media)
		_, _ = rw.Write([]byte(body))
	}))
	if s.spoil != nil {
		s.spoil(w)
	}
}

// issued is a certificate for the logo of a test.
func issued(m markcerttest.Mark) string { return issuer.Issue(m) }

const (
	drawn = markcerttest.Logo
	other = `<svg xmlns="http://www.w3.org/2000/svg" version="1.2" baseProfile="tiny-ps" viewBox="0 0 64 64">` +
		`<title>Other</title><rect width="64" height="64" fill="#ff5f0b"/></svg>`
	lines    = "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.2\" baseProfile=\"tiny-ps\" viewBox=\"0 0 64 64\">\n<title>Example</title>\n<rect width=\"64\" height=\"64\" fill=\"#0b5fff\"/>\n</svg>\n"
	scripted = `<svg xmlns="http://www.w3.org/2000/svg" version="1.2" baseProfile="tiny-ps" viewBox="0 0 64 64">` +
		`<title>Example</title><script>x()</script><rect width="64" height="64" fill="#0b5fff"/></svg>`
)

var shelves = []struct {
	name, record string
	shelf        shelf
	outcome      string
	matches      string // true, false or unknown
	says         string // in the detail of the first finding
}{
	{"exemplary", full, shelf{logo: drawn, mark: issued(markcerttest.Mark{})},
		"valid 100", "true", ""},
	{"no certificate", alone, shelf{logo: drawn},
		"warning 89 certificate.missing", "unknown", ""},
	{"another logo", full, shelf{logo: other, mark: issued(markcerttest.Mark{})},
		"invalid 69 logo_file.mismatch", "false", "not the same file"},
	{"line ends", full, shelf{logo: strings.ReplaceAll(lines, "\n", "\r\n"), mark: issued(markcerttest.Mark{SVG: lines})},
		"invalid 69 logo_file.mismatch", "false", "line ends only"},
	{"no logo", full, shelf{mark: issued(markcerttest.Mark{})},
		"invalid 69 logo_file.invalid", "unknown", "404"},
	{"script", alone, shelf{logo: scripted},
		"invalid 69 logo_file.invalid certificate.missing", "unknown", "script"},
	{"no file of the certificate", full, shelf{logo: drawn},
		"invalid 69 certificate.invalid", "unknown", "404"},
	{"expired certificate", full, shelf{logo: drawn, mark: issued(markcerttest.Mark{NotAfter: time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)})},
		"invalid 69 certificate.invalid", "true", "2026-10-01"},
	{"certificate of another domain", full, shelf{logo: drawn, mark: issued(markcerttest.Mark{Domains: []string{"example.net"}})},
		"invalid 69 certificate.invalid", "true", "example.com"},
	{"certificate that expires soon", full, shelf{logo: drawn, mark: issued(markcerttest.Mark{NotAfter: time.Date(2026, 11, 8, 0, 0, 0, 0, time.UTC)})},
		"warning 89 certificate.flawed", "true", "2026-11-08"},
	{"silence", full, shelf{logo: drawn, mark: issued(markcerttest.Mark{}), spoil: func(w *diagtest.World) { w.Behave(host+":443", diagtest.Unreachable) }},
		"unknown none logo_file.unknown certificate.unknown", "unknown", ""},
	{"media type", full, shelf{logo: drawn, media: "text/plain", mark: issued(markcerttest.Mark{})},
		"warning 89 logo_file.flawed", "true", "text/plain"},
}

// visit looks up the domain with a record and a web server.
func visit(t *testing.T, text string, s shelf) *LookupReport {
	w := diagtest.NewWorld(t)
	w.Zone(with(text))
	s.open(w)
	env := w.Env()
	env.Data = issuer.Files()
	r, err := Lookup(t.Context(), env, LookupRequest{Domain: diag.MustDomain("example.com")})
	require.NoError(t, err)
	return r
}

func TestLookupParts(t *testing.T) {
	for _, tt := range shelves {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := visit(t, tt.record, tt.shelf)
				require.Equal(t, tt.outcome, outcome(r.Verdict), "%+v", r.Findings)
				require.Equal(t, tt.matches, known(r.LogoMatchesCertificate))
				if tt.says != "" {
					require.Contains(t, r.Findings[0].Detail, tt.says)
				}
				require.Equal(t, strings.Contains(tt.outcome, "unknown"), r.Partial)
				checkReport(t, r)
			})
		})
	}
}

// known is a boolean that may not be known, in a word.
func known(b *bool) string {
	switch {
	case b == nil:
		return "unknown"
	case *b:
		return "true"
	default:
		return "false"
	}
}

// Logo and certificate are fetched concurrently, after the record, without waiting for DMARC and the guesses.
func TestPartsRoundTrips(t *testing.T) {
	trips := diagtest.RoundTrips(t, func(w *diagtest.World) {
		w.Zone(with(full))
		shelf{logo: drawn, mark: issued(markcerttest.Mark{})}.open(w)
	}, func(ctx context.Context, env *diag.Env) {
		_, err := Lookup(ctx, env, LookupRequest{Domain: diag.MustDomain("example.com")})
		require.NoError(t, err)
	})
	require.Equal(t, 3, trips, "the record, the addresses of the host, the connection")
}

// A record that only a tree walk finds has its logo fetched, too; silence about DMARC does not keep one from being fetched.
func TestLogoIsFetchedAnyway(t *testing.T) {
	tree := mail + reject + "a.b.example.com. MX 10 mx.example.com.\n" + at("_dmarc.b.example.com", "v=DMARC1; p=reject; psd=n") +
		at("default._bimi.b.example.com", full)
	for _, tt := range []struct {
		name, zone, domain string
		spoil              func(*diagtest.World)
	}{
		{"tree walk", tree, "a.b.example.com", nil},
		{"DMARC is silent", with(full), "example.com", func(w *diagtest.World) { w.Silence("_dmarc.example.com") }},
		{"guesses are silent", with(full), "example.com", func(w *diagtest.World) { w.Silence("_bimi.example.com") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := diagtest.NewWorld(t)
				w.Zone(tt.zone)
				shelf{logo: drawn, mark: issued(markcerttest.Mark{}), spoil: tt.spoil}.open(w)
				ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
				defer cancel()
				env := w.Env()
				env.Data = issuer.Files()
				r, err := Lookup(ctx, env, LookupRequest{Domain: diag.MustDomain(tt.domain)})
				require.NoError(t, err)
				require.NotZero(t, r.Logo)
				require.True(t, r.Logo.TinyPSCompliant)
				require.True(t, *r.LogoMatchesCertificate)
			})
		})
	}
}

// What is not fetched is not praised.
func TestUnfetched(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone(with(full))
	shelf{logo: drawn, mark: issued(markcerttest.Mark{})}.open(w)
	env := w.Env()
	env.Data = issuer.Files()
	for _, tt := range []struct {
		logo, mark bool
		says       string
	}{
		{false, false, "Logo and certificate were not examined."},
		{false, true, "The logo was not examined."},
		{true, false, "The certificate was not examined."},
	} {
		r, err := Lookup(t.Context(), env, LookupRequest{
			Domain: diag.MustDomain("example.com"), FetchLogo: &tt.logo, FetchCertificate: &tt.mark,
		})
		require.NoError(t, err)
		require.Equal(t, tt.says, r.Sub)
		require.Equal(t, tt.logo, r.Logo.URL != "")
		require.Equal(t, tt.mark, r.Certificate.FingerprintSHA256 != "")
		require.Nil(t, r.LogoMatchesCertificate)
	}
}
