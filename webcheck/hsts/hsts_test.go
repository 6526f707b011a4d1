package hsts

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

const (
	strong  = "max-age=31536000; includeSubDomains"
	ready   = "max-age=63072000; includeSubDomains; preload"
	home    = "https://example.com/"
	ownList = `{"version": "2026-11-01", "entries": [
		{"name": "example.com", "include_subdomains": true, "policy": "bulk-1-year"},
		{"name": "old.example", "include_subdomains": true, "policy": "bulk-18-weeks"},
		{"name": "new.example", "include_subdomains": true, "status": "pending"},
		{"name": "dev", "include_subdomains": true, "policy": "public-suffix"}]}`
)

// page answers with headers, given as "Name: value".
func page(headers ...string) http.HandlerFunc { return answer(http.StatusOK, headers...) }

func answer(status int, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for _, line := range headers {
			name, value, _ := strings.Cut(line, ": ")
			w.Header()[name] = append(w.Header()[name], value)
		}
		w.WriteHeader(status)
	}
}

// line is a site that answers over HTTP/1.1 with a line of its own in the header.
func line(text string) site {
	raw := func(w http.ResponseWriter, _ *http.Request) {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\n%s\r\nContent-Length: 0\r\n\r\n", text)
			conn.Close()
		}
	}
	return site{http: to(home), spoil: func(w *diagtest.World) {
		w.Site(diagtest.Site{Host: "example.com", Handler: http.HandlerFunc(raw), HTTP1: true})
	}}
}

func sts(values ...string) http.HandlerFunc {
	lines := []string{}
	for _, v := range values {
		lines = append(lines, FieldName+": "+v)
	}
	return page(lines...)
}

func to(location string, headers ...string) http.HandlerFunc {
	return answer(http.StatusMovedPermanently, append([]string{"Location: " + location}, headers...)...)
}

// paths serves by path; what is not there is the root.
func paths(m map[string]http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		h, ok := m[r.URL.Path]
		if !ok {
			h = m["/"]
		}
		h(w, r)
	}
}

// A site is a world of one domain.
type site struct {
	domain      string // "" means example.com
	https, http http.HandlerFunc
	cert        diagtest.Cert
	list        string // the preload list
	spoil       func(w *diagtest.World)
}

func (s site) name() string {
	if s.domain == "" {
		return "example.com"
	}
	return s.domain
}

func (s site) world(t *testing.T) *diagtest.World {
	t.Helper()
	w := diagtest.NewWorld(t)
	w.Host(s.name())
	if s.https != nil {
		w.Site(diagtest.Site{Host: s.name(), Handler: s.https, Cert: s.cert})
	}
	if s.http != nil {
		w.HTTP(s.name(), s.http)
	}
	if s.spoil != nil {
		s.spoil(w)
	}
	return w
}

func (s site) check(t *testing.T) *Report {
	t.Helper()
	env := s.world(t).NewEnv()
	if s.list != "" {
		env.Data = fstest.MapFS{File: {Data: []byte(s.list)}}
	}
	r, err := Check(t.Context(), env, Request{diag.MustDomain(s.name())})
	require.NoError(t, err)
	return r
}

// secure opens www with HTTPS.
func secure(w *diagtest.World) { w.HTTPS("www.example.com", sts(strong)) }

// oldSuites makes a server of TLS 1.2 with a cipher suite without authenticated encryption.
func oldSuites(w *diagtest.World) {
	cert := w.Certificate(diagtest.CertSpec{Names: []string{"example.com"}})
	w.Site(diagtest.Site{Host: "example.com", Handler: sts(strong), HTTP1: true, TLS: &tls.Config{
		Certificates: []tls.Certificate{cert}, MaxVersion: tls.VersionTLS12, Time: w.Now,
		CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA},
	}})
}

// oldTLS makes a server of TLS 1.1.
func oldTLS(w *diagtest.World) {
	cert := w.Certificate(diagtest.CertSpec{Names: []string{"example.com"}})
	w.Site(diagtest.Site{Host: "example.com", Handler: sts(strong), HTTP1: true, TLS: &tls.Config{
		Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11, Time: w.Now,
	}})
}

func aged(days int) func(*diagtest.World) {
	return func(w *diagtest.World) { w.Advance(time.Duration(days) * 24 * time.Hour) }
}

var worlds = []struct {
	name string
	site site
	want string // state, score, grade, codes of the findings
}{
	{"strong", site{https: sts(strong), http: to(home)}, "valid 100 strong"},
	{"strong with www", site{https: sts(strong), http: to(home), spoil: secure}, "valid 100 strong"},
	{"ready", site{https: sts(ready), http: to(home)}, "valid 100 preload_ready"},
	{"subdomain", site{domain: "app.example.com", https: sts(strong), http: to("https://app.example.com/")}, "valid 100 strong"},
	{"one host", site{https: sts("max-age=31536000"), http: to(home)}, "valid 96 strong hsts.include_subdomains.missing"},
	{"quoted", site{https: sts(`max-age="31536000"; includeSubDomains`), http: to(home)}, "valid 100 strong hsts.header.quoted"},
	{"half a year", site{https: sts("max-age=15768000; includeSubDomains"), http: to(home)}, "valid 98 fair hsts.max_age.below_year"},
	{"eleven years", site{https: sts("max-age=346896000; includeSubDomains"), http: to(home)}, "valid 100 strong"},
	{"no plain HTTP", site{https: sts(strong)}, "valid 100 strong hsts.http.closed"},
	{"redirect longer than what is read", site{https: sts(strong), http: to(home + strings.Repeat("a", 9000))}, "valid 89 strong hsts.redirect.long"},
	{"below a suffix that is built in", site{domain: "site.app", https: sts(strong), http: to("https://site.app/")}, "valid 100 preloaded"},
	{"below a suffix that is built in, no header", site{domain: "a.site.app", https: page(), http: to("https://a.site.app/")},
		"warning 85 missing hsts.header.missing_listed"},
	{"below a suffix that is built in, no HTTPS", site{domain: "site.app", http: page()},
		"invalid none unknown hsts.https.connection hsts.https.locked_out"},
	{"space before the colon", line("Strict-Transport-Security : " + ready), "missing 0 missing hsts.header.line"},
	{"no colon", line("Strict-Transport-Security max-age=300"), "missing 0 missing hsts.header.line"},
	{"equals sign", line("strict-transport-security=max-age=300"), "missing 0 missing hsts.header.line"},
	{"dashes of a word processor", line("Strict\u2010Transport\u2010Security: max-age=300"),
		"missing 0 missing hsts.header.line"},
	{"spread over lines", line(FieldName + ": max-age=31536000; includeSubDomains;\r\npreload"),
		"warning 89 strong hsts.header.line"},
	{"folded", line(FieldName + ": max-age=31536000;\r\n includeSubDomains"), "valid 100 strong"},
	{"another line without a colon", line("X Powered By\r\n" + FieldName + ": " + strong), "warning 89 strong hsts.https.header.line"},
	{"misspelt name", site{https: page("Strict-Transport-Securty: " + strong), http: to(home)}, "missing 0 missing hsts.header.line"},
	{"temporary redirect", site{https: sts(strong), http: answer(302, "Location: "+home)}, "valid 100 strong"},
	{"redirect to a port", site{https: sts(strong), http: to("https://example.com:8443/"),
		spoil: func(w *diagtest.World) { w.HTTPS("example.com:8443", sts(strong)) }}, "valid 100 strong"},
	{"cookies", site{https: page(FieldName+": "+strong, "Set-Cookie: a=1; Secure", "Set-Cookie: b=1; HttpOnly"), http: to(home, "Set-Cookie: c=1")},
		"valid 100 strong"},
	{"unknown directive", site{https: sts(strong + "; report-uri=\"/x\""), http: to(home)}, "valid 100 strong"},
	{"preload on a subdomain", site{domain: "app.example.com", https: sts(ready), http: to("https://app.example.com/")},
		"valid 100 strong"},

	{"missing", site{https: page(), http: to(home)}, "missing 0 missing hsts.header.missing"},
	{"over HTTP only", site{https: page(), http: to(home, FieldName+": "+strong)}, "missing 0 missing hsts.header.missing"},
	{"over HTTP too", site{https: sts(strong), http: to(home, FieldName+": "+strong)}, "warning 89 strong hsts.http.header"},
	{"five minutes", site{https: sts("max-age=300; includeSubDomains"), http: to(home)}, "warning 86 weak hsts.max_age.short"},
	{"withdrawn", site{https: sts("max-age=0"), http: to(home)}, "missing 0 missing hsts.max_age.zero"},
	{"withdrawn by the first of two", site{https: sts("max-age=0", ready), http: to(home)}, "missing 0 missing hsts.max_age.zero"},
	{"listed, withdrawn", site{https: sts("max-age=0"), http: to(home), list: ownList},
		"warning 75 missing hsts.max_age.zero_listed hsts.preload.at_risk"},
	{"misspelled", site{https: sts("max-age=31536000; includeSubDomain"), http: to(home)},
		"warning 89 strong hsts.header.misspelled hsts.include_subdomains.missing"},
	{"two headers", site{https: sts(strong, "max-age=0"), http: to(home)}, "warning 89 strong hsts.header.multiple"},
	{"preload too early", site{https: sts("max-age=31536000; preload"), http: to(home)},
		"warning 89 strong hsts.preload.premature hsts.include_subdomains.missing"},

	{"rubbish", site{https: sts("max-age=31536000, includeSubDomains"), http: to(home)}, "invalid 69 invalid hsts.header.syntax"},
	{"max-age twice", site{https: sts("max-age=1; max-age=1"), http: to(home)}, "invalid 69 invalid hsts.header.repeated"},
	{"no max-age", site{https: sts("includeSubDomains"), http: to(home)}, "invalid 69 invalid hsts.max_age.missing"},
	{"unit", site{https: sts("max-age=1y"), http: to(home)}, "invalid 69 invalid hsts.max_age.invalid"},
	{"value", site{https: sts("max-age=31536000; includeSubDomains=1"), http: to(home)}, "invalid 69 invalid hsts.include_subdomains.value"},

	{"no redirect", site{https: sts(strong), http: page()}, "warning 88 strong hsts.redirect.missing"},
	{"not found", site{https: sts(strong), http: answer(404)}, "warning 88 strong hsts.redirect.missing"},
	{"redirect to a path", site{https: sts(strong), http: paths(map[string]http.HandlerFunc{"/": to("/home"), "/home": to(home)})},
		"warning 89 strong hsts.redirect.insecure"},
	{"www first", site{https: sts(strong), http: to("https://www.example.com/"), spoil: secure}, "warning 89 strong hsts.redirect.host"},
	{"header lost", site{https: paths(map[string]http.HandlerFunc{"/": sts(strong), "/app": page()}), http: to(home + "app")},
		"warning 89 strong hsts.redirect.header"},
	{"downgrade", site{https: to("http://example.com/a", FieldName+": "+strong),
		http: paths(map[string]http.HandlerFunc{"/": to(home), "/a": page()})}, "invalid 69 strong hsts.redirect.downgrade"},
	{"circle", site{https: to(home, FieldName+": "+strong), http: to(home)}, "warning 89 strong hsts.redirect.many"},
	{"four redirects", site{https: paths(map[string]http.HandlerFunc{"/": to("/1", FieldName+": "+strong), "/1": to("/2"), "/2": to("/3"), "/3": to("/4"), "/4": page()}),
		http: to(home)}, "warning 89 strong hsts.redirect.many"},
	{"dead end", site{https: sts(strong), http: to("https://gone.example.com/")},
		"warning 89 strong hsts.redirect.host hsts.redirect.broken"},
	{"untrusted end", site{https: to("https://b.example.com/", FieldName+": "+strong), http: to(home),
		spoil: func(w *diagtest.World) {
			w.Site(diagtest.Site{Host: "b.example.com", Handler: page(), Cert: diagtest.CertExpired})
		}}, "warning 89 strong hsts.redirect.broken"},
	{"to a private address", site{https: sts(strong), http: to("https://10.0.0.1/")}, "warning 89 strong hsts.redirect.host hsts.redirect.broken"},

	{"www without TLS", site{https: sts(strong), http: to(home), spoil: func(w *diagtest.World) {
		w.Site(diagtest.Site{Host: "www.example.com", Handler: page(), Cert: diagtest.CertSelfSigned})
	}}, "invalid 69 strong hsts.www.cut_off"},
	{"www over HTTP only", site{https: sts(strong), http: to(home), spoil: func(w *diagtest.World) { w.HTTP("www.example.com", page()) }},
		"invalid 69 strong hsts.www.cut_off"},
	{"www that refuses all", site{https: sts(strong), http: to(home), spoil: func(w *diagtest.World) { w.Host("www.example.com") }},
		"valid 100 strong"},
	{"www not covered", site{https: sts("max-age=31536000"), http: to(home), spoil: func(w *diagtest.World) {
		w.Site(diagtest.Site{Host: "www.example.com", Handler: page(), Cert: diagtest.CertWrongName})
	}}, "warning 89 strong hsts.www.https hsts.include_subdomains.missing"},

	{"expired", site{https: sts(strong), http: to(home), cert: diagtest.CertExpired}, "invalid 39 invalid hsts.certificate.expired"},
	{"self-signed without a header", site{https: page(), http: to(home), cert: diagtest.CertSelfSigned},
		"invalid 39 missing hsts.certificate.untrusted"},
	{"not yet valid", site{https: sts(strong), http: to(home), cert: diagtest.CertNotYetValid}, "invalid 39 invalid hsts.certificate.early"},
	{"other name", site{https: sts(strong), http: to(home), cert: diagtest.CertWrongName}, "invalid 39 invalid hsts.certificate.name"},
	{"expiring", site{https: sts(strong), http: to(home), spoil: aged(50)}, "warning 89 strong hsts.certificate.expiring"},
	{"about to expire", site{https: sts(strong), http: to(home), spoil: aged(57)}, "invalid 69 strong hsts.certificate.expires_now"},
	{"huge max-age", site{https: sts("max-age=99999999999999999999; includeSubDomains"), http: to(home)}, "valid 100 strong hsts.header.quoted"},
	{"TLS 1.1", site{http: to(home), spoil: oldTLS}, "warning 89 strong hsts.tls.version"},
	{"no TLS", site{http: to(home), spoil: func(w *diagtest.World) { w.Behave("example.com:443", diagtest.Closes) }},
		"invalid none unknown hsts.https.handshake"},
	{"no HTTP over TLS", site{https: func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, http: to(home)},
		"invalid none unknown hsts.https.protocol"},
	{"old cipher suite", site{http: to(home), spoil: oldSuites}, "warning 89 strong hsts.tls.obsolete"},
	{"no HTTPS", site{http: page()}, "invalid none unknown hsts.https.connection"},
	{"no HTTP and no HTTPS", site{}, "invalid none unknown hsts.https.connection"},
	{"private address", site{spoil: func(w *diagtest.World) { w.Zone("priv.example. A 10.0.0.1\n") }, domain: "priv.example"},
		"invalid none unknown hsts.https.connection"},
	{"private address alone", site{domain: "10-0-0-1.example", spoil: func(w *diagtest.World) {
		w.Flap("10-0-0-1.example", "10-0-0-1.example. A 10.0.0.1\n")
	}}, "invalid none unknown hsts.domain.blocked"},
	{"no address", site{domain: "mail.example", spoil: func(w *diagtest.World) {
		w.Flap("mail.example", "mail.example. MX 10 mx.example.\n")
	}}, "missing none unknown hsts.domain.address"},
	{"no domain", site{domain: "gone.example", spoil: func(w *diagtest.World) { w.Break("gone.example", dns.RcodeNameError) }},
		"invalid none unknown hsts.domain.nxdomain"},

	{"listed", site{https: sts(ready), http: to(home), list: ownList}, "valid 100 preloaded"},
	{"listed, weak", site{https: sts("max-age=86400; includeSubDomains; preload"), http: to(home), list: ownList},
		"warning 83 weak hsts.max_age.short hsts.preload.at_risk"},
	{"listed, leaving", site{https: sts(strong), http: to(home), list: ownList}, "warning 89 strong hsts.preload.at_risk"},
	{"listed, no header", site{https: page(), http: to(home), list: ownList},
		"warning 77 missing hsts.header.missing_listed hsts.preload.at_risk"},
	{"listed, expired", site{https: sts(ready), http: to(home), cert: diagtest.CertExpired, list: ownList},
		"invalid none invalid hsts.certificate.expired hsts.https.locked_out"},
	{"listed, without HTTPS", site{http: page(), list: ownList}, "invalid none unknown hsts.https.connection hsts.https.locked_out"},
	{"listed for 18 weeks", site{domain: "old.example", https: sts("max-age=10886400; includeSubDomains; preload"),
		http: to("https://old.example/"), list: ownList}, "warning 89 preloaded hsts.max_age.short"},
	{"pending", site{domain: "new.example", https: sts(ready), http: to("https://new.example/"), list: ownList}, "valid 100 preload_ready"},
	{"below a listed suffix", site{domain: "site.dev", https: sts(strong), http: to("https://site.dev/"), list: ownList}, "valid 100 preloaded"},
	{"below a listed suffix, no header", site{domain: "site.dev", https: page(), http: to("https://site.dev/"), list: ownList},
		"warning 86 missing hsts.header.missing_listed"},
	{"not listed", site{domain: "other.example", https: sts(ready), http: to("https://other.example/"), list: ownList}, "valid 100 preload_ready"},
}

func TestCheck(t *testing.T) {
	var seen diagtest.Seen
	for _, tt := range worlds {
		t.Run(tt.name, func(t *testing.T) {
			r := tt.site.check(t)
			got := fmt.Sprintf("%s %s %s", r.State, diagtest.Score(r.Verdict), r.Grade)
			for _, code := range seen.Add(r.Verdict) {
				got += " " + string(code)
			}
			require.Equal(t, tt.want, got, "%+v", r.Findings)
			require.Equal(t, len(r.Examined) > 0, r.Partial)
			consistent(t, r)
		})
	}
	seen = append(seen, silentVerdicts(t)...)
	seen = append(seen, sha1Verdict(t))
	diagtest.CoverRules(t, rules(), seen)
	diagtest.CheckTexts(t, texts, (*Report)(nil).Rules(), seen)
	said := map[string]bool{}
	for _, v := range seen {
		said[v.Headline] = true
	}
	for key, text := range texts {
		require.True(t, said[text.Headline] || slices.Contains([]string{"invalid", "warning"}, key), "no test hears the text of %s", key)
	}
}

// consistent checks the invariants of reports.
func consistent(t *testing.T, r *Report) {
	t.Helper()
	met := true
	for _, q := range r.Preload.Requirements {
		met = met && q.Met
		require.NotEmpty(t, q.Detail)
		require.NotContains(t, q.Detail, "%!")
	}
	require.Equal(t, r.Preload.Eligible, len(r.Errors) == 0 && !r.Partial)
	require.Equal(t, r.Preload.Eligible, met, "%+v", r.Preload.Requirements)
	require.Equal(t, r.Grade == GradeUnknown, !r.HTTPSReachable)
	require.Equal(t, r.Preload.Status == UnknownStatus, r.Preload.ListVersion == "")
	for _, rec := range r.Recommendations {
		harmless(t, r, rec.SuggestedValue)
	}
	for _, f := range r.Findings {
		require.NotContains(t, f.Detail, "%!")
		require.True(t, strings.HasSuffix(f.Detail, "."), f.Detail)
		require.NotContains(t, f.Detail, "..", f.Detail)
	}
}

// harmless checks that a suggestion is safe to publish as it is: a valid header that covers no more hosts than
// browsers insist on already, and that does not suggest submitting the domain.
func harmless(t *testing.T, r *Report, value string) {
	t.Helper()
	if value == "" {
		return
	}
	h := Parse(value)
	_, strict := parseStrict(value)
	require.True(t, h.Valid() && strict.OK() && len(strict.Warnings) == 0, value)
	require.NotZero(t, *h.MaxAge)
	require.Empty(t, h.Unknown)
	require.True(t, r.HTTPSReachable && r.TLS.Err() == nil)
	listed := r.Preload.Status == Preloaded && *r.Preload.IncludeSubdomains
	covered := r.Header.Valid && r.Header.IncludeSubdomains && *r.Header.MaxAgeSeconds > 0
	require.True(t, !h.IncludeSubdomains || listed || covered, value)
	require.True(t, !h.Preload || listed, value)
	require.False(t, h.IncludeSubdomains && r.WWW.HTTPSReachable != nil && !*r.WWW.HTTPSReachable, value)
}

// silentVerdicts judges worlds in which servers do not say: that is never held against the site.
func silentVerdicts(t *testing.T) []diag.Verdict {
	tests := []struct {
		name  string
		spoil func(*diagtest.World)
		want  string
	}{
		{"port 443 is silent", func(w *diagtest.World) { w.Behave("example.com:443", diagtest.Unreachable) },
			"unknown none unknown hsts.https.unknown"},
		{"port 443 hangs", func(w *diagtest.World) { w.Behave("example.com:443", diagtest.Hangs) },
			"unknown none unknown hsts.https.unknown"},
		{"port 80 is silent", func(w *diagtest.World) { w.Behave("example.com:80", diagtest.Unreachable) },
			"valid 89 strong hsts.http.unknown"},
		{"www is silent", func(w *diagtest.World) { w.Behave("www.example.com:443", diagtest.Unreachable) },
			"valid 89 strong hsts.www.unknown"},
		{"SERVFAIL", func(w *diagtest.World) { w.Break("example.com", dns.RcodeServerFailure) },
			"unknown none unknown hsts.domain.unknown"},
	}
	var seen diagtest.Seen
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := site{https: sts(strong), http: to(home), spoil: tt.spoil}.check(t)
				got := fmt.Sprintf("%s %s %s", r.State, diagtest.Score(r.Verdict), r.Grade)
				for _, code := range seen.Add(r.Verdict) {
					got += " " + string(code)
				}
				require.Equal(t, tt.want, got, "%+v", r.Findings)
				require.True(t, r.Partial)
				require.Less(t, r.DurationMS, int64(15_000))
				consistent(t, r)
			})
		})
	}
	return seen
}

// Unknown answers improve nothing: no requirement is met, and no value suggested that would cut www off.
func TestCheckPartial(t *testing.T) {
	tests := []struct {
		name, list, header, port string
		grade                    Grade
	}{
		{"ready but for port 80", "", ready, "example.com:80", GradeStrong},
		{"ready but for www", "", ready, "www.example.com:443", GradeStrong},
		{"listed", ownList, ready, "www.example.com:443", GradeStrong},
		{"short", "", "max-age=86400; includeSubDomains", "www.example.com:443", GradeWeak},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := site{https: sts(tt.header), http: to(home), list: tt.list, spoil: func(w *diagtest.World) {
					secure(w)
					w.Behave(tt.port, diagtest.Unreachable)
				}}.check(t)
				require.Equal(t, tt.grade, r.Grade)
				require.True(t, r.Partial)
				require.False(t, r.Preload.Eligible)
				require.Nil(t, r.Preload.AtRisk)
				require.NotContains(t, diagtest.Codes(r.Verdict), diag.Code("hsts.preload.at_risk"))
				for _, rec := range r.Recommendations {
					require.Empty(t, rec.SuggestedValue)
				}
				consistent(t, r)
			})
		})
	}
}

func TestCheckUnavailable(t *testing.T) {
	w := site{https: sts(strong)}.world(t)
	w.Silence("example.com")
	_, err := Check(t.Context(), w.Env(), Request{diag.MustDomain("example.com")})
	require.ErrorIs(t, err, diag.ErrUnavailable)
}

// All that does not depend on another answer is asked at once: addresses, connections, and the page behind the
// redirect from plain HTTP.
func TestCheckRoundTrips(t *testing.T) {
	trips := diagtest.RoundTrips(t, func(w *diagtest.World) {
		w.HTTPS("example.com", sts(strong))
		w.HTTP("example.com", to(home))
		secure(w)
	}, func(ctx context.Context, env *diag.Env) {
		_, err := Check(ctx, env, Request{diag.MustDomain("example.com")})
		require.NoError(t, err)
	})
	require.Equal(t, 3, trips)
}

func TestCheckEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Check(ctx, site{}.world(t).Env(), Request{diag.MustDomain("example.com")})
	require.ErrorIs(t, err, context.Canceled)
	_, err = Check(t.Context(), nil, Request{})
	_, ok := errors.AsType[*diag.InputError](err)
	require.True(t, ok)
}

// Names that denote the machine itself have no site (RFC 6761 section 6.3); a name that is too long with www in
// front of it has one.
func TestCheckNames(t *testing.T) {
	for _, name := range []string{"localhost", "LOCALHOST", "localhost.", "foo.localhost", "x.localhost.", "a.b.LocalHost"} {
		_, err := Check(t.Context(), site{}.world(t).Env(), Request{diag.MustDomain(name)})
		fault, ok := errors.AsType[*diag.InputError](err)
		require.True(t, ok, name)
		require.Equal(t, "domain", fault.Field, name)
		require.Contains(t, fault.Reason, "stands for the machine itself", name)
	}
	long := strings.Repeat(strings.Repeat("a", 49)+".", 5) + "com"
	require.Equal(t, "valid", string(site{domain: long, https: sts(strong), http: to("https://" + long + "/")}.check(t).State))
	short := strings.Repeat("a", 60) + ".com" // a label of 63 octets at most; www is one of its own
	require.Equal(t, "valid", string(site{domain: short, https: sts(strong), http: to("https://" + short + "/")}.check(t).State))
}

// Whatever can be asked for has an answer, or an error of the caller.
func FuzzCheck(f *testing.F) {
	for _, name := range []string{"example.com", "localhost", "a.localhost.", "com", "app", "site.app", "invalid", "x.onion", "1.2.3.4",
		"[::1]", "_dmarc.example.com", "*.example.com", "xn--bcher-kva.example", "b\u00fccher.example", ".", "", "home.arpa", "a..b",
		strings.Repeat(strings.Repeat("a", 62)+".", 4), "10.in-addr.arpa", "co.uk", "github.io"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		domain, err := diag.ParseDomain(name)
		if err != nil {
			return
		}
		r, err := Check(t.Context(), site{}.world(t).Env(), Request{domain})
		if err == nil {
			consistent(t, r)
			return
		}
		if _, ok := errors.AsType[*diag.InputError](err); !ok {
			t.Fatalf("%q: %v", name, err)
		}
	})
}

func TestBuiltInList(t *testing.T) {
	require.Equal(t, len(topLevel), builtIn().Len())
	for name, want := range map[string]string{"app": "app", "a.b.dev": "dev", "example.com": "", "notapp": ""} {
		e, _ := builtIn().Lookup(name)
		require.Equal(t, want, e.Name)
	}
	for _, file := range []string{"{}", ownList} {
		env := site{}.world(t).NewEnv()
		env.Data = fstest.MapFS{File: {Data: []byte(file)}}
		list, err := PreloadList(env)
		require.NoError(t, err)
		_, found := list.Lookup("site.app")
		require.Equal(t, file == "{}", found, "the list of the operator is whole")
	}
}

func TestCheckRefusesList(t *testing.T) {
	env := site{https: sts(strong)}.world(t).NewEnv()
	env.Data = fstest.MapFS{File: {Data: []byte(`{"entries": 1}`)}}
	_, err := Check(t.Context(), env, Request{diag.MustDomain("example.com")})
	require.ErrorContains(t, err, File)
}

func TestCheckReport(t *testing.T) {
	r := site{https: sts("max-age=86400; preload; Include-Subdomains"), http: to("https://www.example.com/"), spoil: secure, list: ownList}.check(t)
	r.DurationMS, r.TLS = 0, pki.TLS{}
	for i := range r.HTTPRedirect.Hops {
		r.HTTPRedirect.Hops[i].LatencyMS = 0
	}
	text, err := json.MarshalIndent(r, "", "  ")
	require.NoError(t, err)
	diagtest.Golden(t, "testdata/report.json", append(text, '\n'))
}

// sha1Verdict judges a chain with a certificate that is signed with SHA-1: nothing that is trusted has one now.
func sha1Verdict(t *testing.T) diag.Verdict {
	t.Helper()
	w := site{https: sts(ready), http: to(home)}.world(t)
	e, err := gather(t.Context(), w.Env(), diag.MustDomain("example.com"))
	require.NoError(t, err)
	old := *e.https.Hops[0].TLS.Peers[0]
	old.SignatureAlgorithm = x509.SHA1WithRSA
	e.https.Hops[0].TLS.Peers[0] = &old
	e.digest(&List{})
	require.Equal(t, []Issue{"domain.tls.sha1"}, e.issues.Errors)
	r := e.report()
	require.Equal(t, []diag.Code{"hsts.certificate.sha1"}, diagtest.Codes(r.Verdict))
	consistent(t, r)
	return r.Verdict
}
