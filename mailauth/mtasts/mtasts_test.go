package mtasts

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

const (
	record = `_mta-sts.example.com. TXT "v=STSv1; id=20260101T000000"` + "\n"
	tlsrpt = `_smtp._tls.example.com. TXT "v=TLSRPTv1; rua=mailto:tls@example.com"` + "\n"
	mx     = "example.com. MX 10 mx.example.com.\nmx.example.com. A 192.0.2.25\n"
	good   = record + tlsrpt + mx
	policy = "version: STSv1\nmode: enforce\nmx: mx.example.com\nmax_age: 604800\n"
)

var request = Request{Domain: diag.MustDomain("example.com")}

// serve serves a policy.
func serve(text string) http.HandlerFunc { return serveAs("text/plain", http.StatusOK, text) }

func serveAs(mediaType string, status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/.well-known/mta-sts.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header()["Content-Type"] = []string{mediaType}
		if status >= 300 && status < 400 {
			w.Header().Set("Location", "https://www.example.com/mta-sts.txt")
		}
		w.WriteHeader(status)
		io.WriteString(w, text)
	}
}

func hijack(answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		io.WriteString(conn, answer)
		conn.Close()
	}
}

// A published world is one with records and a policy.
func published(t *testing.T, zone string, site http.HandlerFunc) *diagtest.World {
	t.Helper()
	w := diagtest.NewWorld(t)
	w.Zone(zone)
	if site != nil {
		w.Site(diagtest.Site{Host: "mta-sts.example.com", Handler: site, HTTP1: true})
	}
	return w
}

func lookup(t *testing.T, w *diagtest.World) *Report {
	t.Helper()
	r, err := Lookup(t.Context(), w.Env(), request)
	require.NoError(t, err)
	return r
}

// withRecord is the good zone with another record.
func withRecord(texts ...string) string {
	zone := tlsrpt + mx
	for _, text := range texts {
		zone += fmt.Sprintf("_mta-sts.example.com. TXT %q\n", text)
	}
	return zone
}

// withMX is the good zone with other mail exchangers.
func withMX(zone string) string { return record + tlsrpt + zone }

func TestLookup(t *testing.T) {
	var seen diagtest.Seen
	tests := []struct {
		name  string
		zone  string
		site  http.HandlerFunc
		state diag.State
		score int
		codes string
	}{
		{"exemplary", good, serve(policy), diag.Valid, 100, ""},
		{"exemplary with CRLF", good, serve(strings.ReplaceAll(policy, "\n", "\r\n")), diag.Valid, 100, ""},
		{"media type with a character set", good, serveAs("Text/Plain; charset=UTF-8", 200, policy), diag.Valid, 100, ""},
		{"wildcard", good, serve(strings.Replace(policy, "mx.", "*.", 1)), diag.Valid, 100, ""},
		{"record behind a CNAME", "_mta-sts.example.com. CNAME sts.example.net.\n" +
			`sts.example.net. TXT "v=STSv1; " "id=20260101T000000"` + "\n" + tlsrpt + mx, serve(policy), diag.Valid, 100, ""},
		{"policy host behind a CNAME", good + "mta-sts.example.com. CNAME policy.example.net.\n", serve(policy),
			diag.Valid, 100, ""},
		{"nothing at all", "", nil, diag.Missing, 0, "mtasts.record.missing"},
		{"mail, but no record", mx, nil, diag.Missing, 0, "mtasts.record.missing"},
		{"records of other kinds", mx + `_mta-sts.example.com. TXT "v=spf1 -all"`, nil, diag.Missing, 0,
			"mtasts.record.missing"},
		{"name without TXT", mx + `_mta-sts.example.com. A 192.0.2.1`, nil, diag.Missing, 0, "mtasts.record.missing"},
		{"web server for every name", mx, serveAs("text/html", 200, "<html>"), diag.Missing, 0, "mtasts.record.missing"},
		{"policy without a record", tlsrpt + mx, serve(policy), diag.Missing, 39,
			"mtasts.record.missing mtasts.policy.unannounced"},

		{"two records", withRecord("v=STSv1; id=1", "v=STSv1; id=2"), serve(policy), diag.Bad, 39, "mtasts.record.multiple"},
		{"record and a stray", withRecord("v=STSv1; id=20260101T000000", "v=STSv2; id=1"), serve(policy), diag.Warned,
			100, "mtasts.record.stray"},
		{"lower case", withRecord("v=stsv1; id=1"), serve(policy), diag.Bad, 39, "mtasts.record.version"},
		{"space before the semicolon", withRecord("v=STSv1 ; id=1"), serve(policy), diag.Bad, 39, "mtasts.record.version"},
		{"version alone", withRecord("v=STSv1"), serve(policy), diag.Bad, 39, "mtasts.record.version"},
		{"no id", withRecord("v=STSv1; ID=1;"), serve(policy), diag.Bad, 39,
			"mtasts.record.id.missing mtasts.record.unknown_field"},
		{"bad id", withRecord("v=STSv1; id=2026-01-01"), serve(policy), diag.Bad, 39, "mtasts.record.id.invalid"},
		{"undated id", withRecord("v=STSv1; id=abc"), serve(policy), diag.Valid, 100, "mtasts.record.id.undated"},
		{"two ids", withRecord("v=STSv1; id=20260101; id=2;"), serve(policy), diag.Warned, 100, "mtasts.record.repeated"},
		{"commas for semicolons", withRecord("v=STSv1; id=20260101,x=y"), serve(policy), diag.Bad, 39, "mtasts.record.id.invalid"},
		{"empty field", withRecord("v=STSv1;; id=20260101"), serve(policy), diag.Bad, 39, "mtasts.record.syntax"},
		{"no TLSRPT", record + mx, serve(policy), diag.Warned, 96, "mtasts.tls_rpt.missing"},

		{"no policy host", good, nil, diag.Bad, 39, "mtasts.policy.host.missing"},
		{"policy host refuses", good + "mta-sts.example.com. A 192.0.2.77", nil, diag.Bad, 39, "mtasts.policy.connection"},
		{"policy host is private", good + "mta-sts.example.com. A 10.0.0.1", nil, diag.Bad, 39, "mtasts.policy.connection"},
		{"no HTTP", good, hijack("220 ready\r\n"), diag.Bad, 39, "mtasts.policy.http"},
		{"body breaks off", good, hijack("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 500\r\n\r\nversion: STSv1\n"),
			diag.Bad, 39, "mtasts.policy.http"},
		{"redirect", good, serveAs("text/plain", 301, ""), diag.Bad, 39, "mtasts.policy.redirect"},
		{"not found", good, serveAs("text/plain", 404, ""), diag.Bad, 39, "mtasts.policy.status"},
		{"server error", good, serveAs("text/plain", 503, ""), diag.Bad, 39, "mtasts.policy.status"},
		{"no content", good, serveAs("text/plain", 203, policy), diag.Bad, 39, "mtasts.policy.status"},
		{"HTML", good, serveAs("text/html", 200, policy), diag.Bad, 69, "mtasts.policy.media_type"},
		{"no media type", good, hijack("HTTP/1.1 200 OK\r\n\r\n" + policy), diag.Bad, 69, "mtasts.policy.media_type"},
		{"odd character set", good, serveAs("text/plain; charset=utf-16", 200, policy), diag.Warned, 100,
			"mtasts.policy.charset"},
		{"too long", good, serve(policy + strings.Repeat("x: y\n", 20_000)), diag.Bad, 69,
			"mtasts.policy.size" + strings.Repeat(" mtasts.policy.repeated", maxListed) + " mtasts.policy.unknown_field"},

		{"page", good, serve("<!DOCTYPE html><html>"), diag.Bad, 39, "mtasts.policy.page"},
		{"empty", good, serve(""), diag.Bad, 39, "mtasts.policy.version.missing mtasts.policy.mode.missing " +
			"mtasts.policy.max_age.missing mtasts.policy.mx.missing"},
		{"byte order mark", good, serve(byteOrderMark + policy), diag.Bad, 39, "mtasts.policy.syntax"},
		{"Latin-1", good, serve(policy + "x: \xe4\n"), diag.Bad, 69, "mtasts.policy.encoding mtasts.policy.unknown_field"},
		{"no colon", good, serve(policy + "hello\n"), diag.Bad, 39, "mtasts.policy.syntax"},
		{"blank line", good, serve("version: STSv1\n\nmode: enforce\nmx: mx.example.com\nmax_age: 604800\n\n"), diag.Warned, 100,
			"mtasts.policy.blank_line mtasts.policy.blank_line"},
		{"mode twice", good, serve(policy + "mode: none\n"), diag.Warned, 100, "mtasts.policy.repeated"},
		{"unknown field", good, serve(policy + "max-age: 86400\n"), diag.Valid, 100, "mtasts.policy.unknown_field"},
		{"old version", good, serve(strings.Replace(policy, "STSv1", "STSv2", 1)), diag.Bad, 39, "mtasts.policy.version.invalid"},
		{"mode in capitals", good, serve(strings.Replace(policy, "enforce", "Enforce", 1)), diag.Bad, 39, "mtasts.policy.mode.invalid"},
		{"max_age of two years", good, serve(strings.Replace(policy, "604800", "63115200", 1)), diag.Bad, 39, "mtasts.policy.max_age.invalid"},
		{"max_age with a unit", good, serve(strings.Replace(policy, "604800", "7d", 1)), diag.Bad, 39, "mtasts.policy.max_age.invalid"},
		{"mx with a dot", good, serve(strings.Replace(policy, "mx.example.com", "mx.example.com.", 1)), diag.Bad, 39,
			"mtasts.policy.mx.invalid mtasts.mx.undeliverable mtasts.mx.uncovered"},

		{"mode none", good, serve("version: STSv1\nmode: none\nmax_age: 86400\n"), diag.Warned, 62, "mtasts.policy.mode.none"},
		{"testing", good, serve(strings.Replace(policy, "enforce", "testing", 1)), diag.Warned, 87, "mtasts.policy.mode.testing"},
		{"max_age 0", good, serve(strings.Replace(policy, "604800", "0", 1)), diag.Bad, 69, "mtasts.policy.max_age.zero"},
		{"max_age of a day", good, serve(strings.Replace(policy, "604800", "86400", 1)), diag.Warned, 96, "mtasts.policy.max_age.short"},
		{"wildcard over a public suffix", good, serve(policy + "mx: *.co.uk\n"), diag.Warned, 100,
			"mtasts.policy.mx.broad mtasts.mx.unused"},

		{"host not listed", withMX(mx + "example.com. MX 20 backup.example.net.\nbackup.example.net. AAAA 2001:db8::25\n"),
			serve(policy), diag.Bad, 69, "mtasts.mx.uncovered"},
		{"wildcard over two labels", withMX("example.com. MX 10 a.mx.example.com.\na.mx.example.com. A 192.0.2.25\n"),
			serve(strings.Replace(policy, "mx.", "*.", 1)), diag.Bad, 39, "mtasts.mx.undeliverable mtasts.mx.uncovered mtasts.mx.unused"},
		{"testing with a host not listed", withMX("example.com. MX 10 other.example.com.\nother.example.com. A 192.0.2.25\n"),
			serve(strings.Replace(policy, "enforce", "testing", 1)), diag.Bad, 69,
			"mtasts.mx.uncovered mtasts.policy.mode.testing mtasts.mx.unused"},
		{"null MX", withMX("example.com. MX 0 .\n"), serve(policy), diag.Warned, 100, "mtasts.mx.null"},
		{"implicit MX", withMX("example.com. A 192.0.2.1\n"), serve(strings.Replace(policy, "mx.", "", 1)), diag.Warned, 100,
			"mtasts.mx.missing"},
		{"no mail at all", record + tlsrpt, serve(policy), diag.Warned, 100, "mtasts.mx.missing"},
		{"mail exchanger without an address", withMX("example.com. MX 10 mx.example.com.\n"), serve(policy), diag.Warned, 100,
			"mtasts.mx.address.missing"},
		{"too many mail exchangers", withMX(manyMX(MaxMXHosts + 2)), serve(strings.Replace(policy, "mx.", "*.", 1)), diag.Valid, 100,
			"mtasts.mx.many"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := lookup(t, published(t, tt.zone, tt.site))
			require.Equal(t, tt.codes, join(seen.Add(r.Verdict)), "%+v", r.Findings)
			require.Equal(t, tt.state, r.State)
			require.Equal(t, tt.score, r.Score)
			require.False(t, r.Partial)
		})
	}
	seen = append(seen, tlsVerdicts(t)...)
	seen = append(seen, unknownVerdicts(t)...)
	diagtest.CoverRules(t, rules, seen)
	diagtest.CheckTexts(t, texts, (*Report)(nil).Rules(), seen)
}

func join(codes []diag.Code) string {
	list := make([]string, len(codes))
	for i, c := range codes {
		list[i] = string(c)
	}
	return strings.Join(list, " ")
}

func manyMX(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "example.com. MX %d mx%d.example.com.\nmx%d.example.com. A 192.0.2.25\n", i, i, i)
	}
	return b.String()
}

// tlsVerdicts judges policy hosts with all kinds of certificates.
func tlsVerdicts(t *testing.T) []diag.Verdict {
	old := &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	tests := []struct {
		cert  diagtest.Cert
		age   int // days that pass
		old   *tls.Config
		codes string
	}{
		{diagtest.CertGood, 0, nil, ""},
		{diagtest.CertExpired, 0, nil, "mtasts.policy.certificate.expired"},
		{diagtest.CertNotYetValid, 0, nil, "mtasts.policy.certificate.untrusted"},
		{diagtest.CertSelfSigned, 0, nil, "mtasts.policy.certificate.untrusted"},
		{diagtest.CertUnknownAuthority, 0, nil, "mtasts.policy.certificate.untrusted"},
		{diagtest.CertMissingIntermediate, 0, nil, "mtasts.policy.certificate.untrusted"},
		{diagtest.CertWrongName, 0, nil, "mtasts.policy.certificate.name"},
		{diagtest.CertGood, 50, nil, "mtasts.policy.certificate.expiring"},
		{diagtest.CertGood, 0, old, "mtasts.policy.tls.version"},
		{diagtest.CertGood, 0, &tls.Config{}, "mtasts.policy.tls.handshake"},
	}
	var seen diagtest.Seen
	for _, tt := range tests {
		t.Run(fmt.Sprintf("certificate %s after %d days: %s", tt.cert, tt.age, tt.codes), func(t *testing.T) {
			w := published(t, good, nil)
			site := diagtest.Site{Host: "mta-sts.example.com", Handler: serve(policy), Cert: tt.cert, TLS: tt.old}
			if site.TLS == old {
				cert := w.Certificate(diagtest.CertSpec{Names: []string{"mta-sts.example.com"}})
				site.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: old.MinVersion,
					MaxVersion: old.MaxVersion, Time: w.Now}
				site.HTTP1 = true
			}
			w.Site(site)
			w.Advance(time.Duration(tt.age) * 24 * time.Hour)
			r := lookup(t, w)
			require.Equal(t, tt.codes, join(seen.Add(r.Verdict)), "%+v", r.Findings)
			require.Equal(t, r.State == diag.Valid || r.State == diag.Warned, r.Valid)
			require.False(t, r.Partial)
		})
	}
	return seen
}

// unknownVerdicts judges worlds in which servers do not say: that is never held against the domain.
func unknownVerdicts(t *testing.T) []diag.Verdict {
	tests := []struct {
		name  string
		spoil func(*diagtest.World)
		codes string
		score int
	}{
		{"record SERVFAIL", func(w *diagtest.World) { w.Break("_mta-sts.example.com", dns.RcodeServerFailure) },
			"mtasts.record.unknown", 0},
		{"record silent", func(w *diagtest.World) { w.Silence("_mta-sts.example.com") }, "mtasts.record.unknown", 0},
		{"policy host SERVFAIL", func(w *diagtest.World) { w.Break("mta-sts.example.com", dns.RcodeServerFailure) },
			"mtasts.policy.unknown", 100},
		{"policy host unreachable", func(w *diagtest.World) { w.Behave("192.0.2.1:443", diagtest.Unreachable) },
			"mtasts.policy.unknown", 100},
		{"policy host hangs", func(w *diagtest.World) { w.Behave("192.0.2.1:443", diagtest.Hangs) },
			"mtasts.policy.unknown", 100},
		{"MX SERVFAIL", func(w *diagtest.World) {
			w.Fault("example.com", dns.TypeMX, diagtest.Fault{Rcode: dns.RcodeServerFailure})
		},
			"mtasts.mx.unknown", 100},
		{"address of the MX SERVFAIL", func(w *diagtest.World) { w.Break("mx.example.com", dns.RcodeServerFailure) },
			"mtasts.mx.unknown", 100},
		{"TLSRPT SERVFAIL", func(w *diagtest.World) { w.Break("_smtp._tls.example.com", dns.RcodeServerFailure) }, "", 100},
	}
	var seen diagtest.Seen
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := published(t, good, serve(policy))
				tt.spoil(w)
				ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
				defer cancel()
				r, err := Lookup(ctx, w.Env(), request)
				if err != nil { // a silent resolver lasts as long as the context
					require.ErrorIs(t, err, context.DeadlineExceeded)
					return
				}
				require.Equal(t, tt.codes, join(seen.Add(r.Verdict)), "%+v", r.Findings)
				require.Equal(t, tt.score, r.Score)
				require.True(t, r.Partial)
				require.Equal(t, tt.codes != "", r.State == diag.Unknown)
			})
		})
	}
	return seen
}

func TestLookupReport(t *testing.T) {
	w := published(t, withMX(mx+"example.com. MX 20 backup.example.net.\nbackup.example.net. AAAA 2001:db8::25\n"),
		serve(policy+"mode: none\n"))
	r := lookup(t, w)
	r.DurationMS, r.TLS = 0, nil
	text, err := json.MarshalIndent(r, "", "  ")
	require.NoError(t, err)
	diagtest.Golden(t, "testdata/report.json", append(text, '\n'))
	require.False(t, r.Verdict.Findings[0].Location != nil)
}

func TestLookupReportOfNothing(t *testing.T) {
	r := lookup(t, published(t, mx, nil))
	require.False(t, r.Valid || r.Found || r.Policy.Found)
	require.Equal(t, None, r.Policy.Mode)
	require.NotNil(t, r.MXHosts)
	require.NotNil(t, r.Policy.MX)
	require.NotNil(t, r.Policy.LineErrors)
	require.Equal(t, "v=STSv1; id=20260101T000000;", r.Recommendations[0].SuggestedValue)
	require.Equal(t, Coverage{0, 1, false}, r.MXCoverage)
}

func TestLookupSuggestsPolicy(t *testing.T) {
	tests := []struct{ name, served, want string }{
		{"nothing served", "", "version: STSv1\nmode: testing\nmx: a.example.com\nmx: b.example.net\nmax_age: 604800\n"},
		{"host missing", "version: STSv1\nmode: enforce\nmx: *.example.com\nmx: old.example.org\nmax_age: 1209600\n",
			"version: STSv1\nmode: enforce\nmx: *.example.com\nmx: b.example.net\nmax_age: 1209600\n"},
		{"broken", "version: STSv1\nmode: Enforce\nmx: a.example.com\nmax_age: 1209600\n",
			"version: STSv1\nmode: testing\nmx: a.example.com\nmx: b.example.net\nmax_age: 1209600\n"},
	}
	zone := withMX("example.com. MX 10 a.example.com.\nexample.com. MX 20 b.example.net.\n" +
		"a.example.com. A 192.0.2.25\nb.example.net. A 192.0.2.26\n")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			site := serve(tt.served)
			if tt.served == "" {
				site = http.NotFound
			}
			r := lookup(t, published(t, zone, site))
			require.Equal(t, tt.want, r.Recommendations[0].SuggestedValue)
			_, err := ParsePolicy(r.Recommendations[0].SuggestedValue)
			require.NoError(t, err)
		})
	}
}

// All questions are asked at once; only the addresses of the mail exchangers, and the connection to
// the policy host, wait for an answer.
func TestLookupRoundTrips(t *testing.T) {
	trips := diagtest.RoundTrips(t, func(w *diagtest.World) {
		w.Zone(good)
		w.HTTPS("mta-sts.example.com", serve(policy))
	}, func(ctx context.Context, env *diag.Env) {
		r, err := Lookup(ctx, env, request)
		require.NoError(t, err)
		require.True(t, r.Valid)
	})
	require.Equal(t, 2, trips)
}

func TestLookupUnavailable(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Silence("*.")
	_, err := Lookup(t.Context(), w.Env(), request)
	require.ErrorIs(t, err, diag.ErrUnavailable)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Lookup(ctx, w.Env(), request)
	require.ErrorIs(t, err, context.Canceled)

	var input *diag.InputError
	_, err = Lookup(t.Context(), w.Env(), Request{})
	require.ErrorAs(t, err, &input)
	long := strings.Repeat("a.", 124) + "com"
	_, err = Lookup(t.Context(), w.Env(), Request{Domain: diag.MustDomain(long)})
	require.ErrorAs(t, err, &input)
}

// A web server that is slow must leave time for the report.
func TestLookupSlowPolicyHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := published(t, good, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		begin := time.Now()
		r := lookup(t, w)
		require.Equal(t, PolicyTimeout, time.Since(begin))
		require.Equal(t, diag.Unknown, r.State)
		require.True(t, r.TLS.Trusted)
	})
}

func TestTexts(t *testing.T) {
	text, err := json.MarshalIndent(texts, "", "  ")
	require.NoError(t, err)
	diagtest.Golden(t, "testdata/texts.json", append(text, '\n'))
	require.NoError(t, texts.Check((*Report)(nil).Rules()))
}

func BenchmarkJudge(b *testing.B) {
	w := diagtest.NewWorld(b)
	w.Zone(good)
	w.HTTPS("mta-sts.example.com", serve(policy))
	e, err := gather(b.Context(), w.Env(), request.Domain)
	require.NoError(b, err)
	e.digest()
	b.ReportAllocs()
	for b.Loop() {
		rules.Judge(e, texts)
	}
}
