package mtasts

import (
	"context"
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
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/stretchr/testify/require"
)

const (
	record  = `_mta-sts.example.com. TXT "v=STSv1; id=20260101T000000"` + "\n"
	reports = `_smtp._tls.example.com. TXT "v=TLSRPTv1; rua=mailto:tls@example.com"` + "\n"
	mx      = "example.com. MX 10 mx.example.com.\nmx.example.com. A 192.0.2.25\n"
	good    = record + reports + mx
	policy  = "version: STSv1\nmode: enforce\nmx: mx.example.com\nmax_age: 604800\n"
)

var request = Request{Domain: diag.MustDomain("example.com")}

// serve serves a policy.
func serve(text string) http.HandlerFunc { return serveAs("text/plain", http.StatusOK, text) }

// edited serves the good policy with one change.
func edited(old, replacement string) http.HandlerFunc {
	return serve(strings.Replace(policy, old, replacement, 1))
}

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

// published makes a world with records and a policy.
func published(t *testing.T, zone string, site http.HandlerFunc) *diagtest.World {
	t.Helper()
	w := diagtest.NewWorld(t)
	w.Zone(zone)
	for _, host := range []string{"mx.example.com", "example.com", "a.example.com", "b.example.net"} {
		if strings.Contains("\n"+zone, "\n"+host+". A ") {
			w.SMTP(diagtest.SMTP{Host: host})
		}
	}
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
	zone := reports + mx
	for _, text := range texts {
		zone += fmt.Sprintf("_mta-sts.example.com. TXT %q\n", text)
	}
	return zone
}

// withMX is the good zone with other mail servers.
func withMX(zone string) string { return record + reports + zone }

func TestLookup(t *testing.T) {
	var seen diagtest.Seen
	tests := []struct {
		name string
		zone string
		site http.HandlerFunc
		want string // state, score and codes of the findings
	}{
		{"exemplary", good, serve(policy), "valid 100"},
		{"exemplary with CRLF", good, serve(strings.ReplaceAll(policy, "\n", "\r\n")), "valid 100"},
		{"media type with a character set", good, serveAs("Text/Plain; charset=UTF-8", 200, policy), "valid 100"},
		{"wildcard", good, edited("mx.", "*."), "valid 100"},
		{"record behind a CNAME", "_mta-sts.example.com. CNAME sts.example.net.\n" +
			`sts.example.net. TXT "v=STSv1; " "id=20260101T000000"` + "\n" + reports + mx, serve(policy),
			"valid 100"},
		{"policy host behind a CNAME", good + "mta-sts.example.com. CNAME policy.example.net.\n", serve(policy),
			"valid 100"},
		{"nothing at all", "example.com. TXT \"x\"\n", nil, "missing none mtasts.record.missing.no_mail"},
		{"null MX and no record", "example.com. MX 0 .\n", nil, "missing none mtasts.record.missing.no_mail"},
		{"no domain", "example.net. A 192.0.2.1\n", nil, "missing none mtasts.domain.nxdomain"},
		{"mail, but no record", mx, nil, "missing 0 mtasts.record.missing"},
		{"records of other kinds", mx + `_mta-sts.example.com. TXT "v=spf1 -all"`, nil,
			"missing 0 mtasts.record.missing"},
		{"wildcard of SPF", mx + `*.example.com. TXT "v=spf1 -all"`, nil,
			"missing 0 mtasts.record.missing mtasts.record.wildcard"},
		{"wildcard alias", mx + "*.example.com. CNAME mx.example.com.\n", nil, "missing 0 mtasts.record.missing"},
		{"wildcard of MTA-STS", reports + mx + `*.example.com. TXT "v=STSv1; id=20260101T000000"`, serve(policy),
			"valid 100"},
		{"record at the domain", mx + `example.com. TXT "v=STSv1; id=20260101T000000"`, nil,
			"missing 0 mtasts.record.location"},
		{"record at the policy host", mx + `mta-sts.example.com. TXT "v=STSv1; id=20260101T000000"`, nil,
			"missing 0 mtasts.record.location"},
		{"domain appended twice", mx + `_mta-sts.example.com.example.com. TXT "v=STSv1; id=20260101T000000"`, nil,
			"missing 0 mtasts.record.location"},
		{"record also elsewhere", good + `_mtasts.example.com. TXT "v=STSv1; id=1"`, serve(policy),
			"valid 100"},
		{"record beside another kind", good + `_mta-sts.example.com. TXT "v=spf1 -all"`, serve(policy),
			"valid 100"},
		{"alias of nothing", mx + "_mta-sts.example.com. CNAME gone.example.net.\nexample.net. TXT x", nil,
			"missing 0 mtasts.record.alias"},
		{"alias of another record", mx + "_mta-sts.example.com. CNAME a.example.net.\na.example.net. TXT x", nil,
			"missing 0 mtasts.record.alias"},
		{"name without TXT", mx + `_mta-sts.example.com. A 192.0.2.1`, nil, "missing 0 mtasts.record.missing"},
		{"web server for every name", mx, serveAs("text/html", 200, "<html>"), "missing 0 mtasts.record.missing"},
		{"policy without a record", reports + mx, serve(policy),
			"missing 0 mtasts.record.missing"},

		{"two records", withRecord("v=STSv1; id=1", "v=STSv1; id=2"), serve(policy),
			"invalid 39 mtasts.record.multiple"},
		{"record and a stray", withRecord("v=STSv1; id=20260101T000000", "v=STSv2; id=1"), serve(policy),
			"warning 89 mtasts.record.stray"},
		{"lower case", withRecord("v=stsv1; id=1"), serve(policy), "invalid 39 mtasts.record.version"},
		{"space before the semicolon", withRecord("v=STSv1 ; id=20260101"), serve(policy),
			"warning 89 mtasts.record.blank"},
		{"version alone", withRecord("v=STSv1"), serve(policy), "invalid 39 mtasts.record.version"},
		{"no id", withRecord("v=STSv1; ID=1;"), serve(policy),
			"invalid 39 mtasts.record.id.missing"},
		{"bad id", withRecord("v=STSv1; id=2026-01-01"), serve(policy), "invalid 39 mtasts.record.id.invalid"},
		{"undated id", withRecord("v=STSv1; id=abc"), serve(policy), "valid 100"},
		{"two ids", withRecord("v=STSv1; id=20260101; id=2;"), serve(policy), "warning 89 mtasts.record.repeated"},
		{"commas for semicolons", withRecord("v=STSv1; id=20260101,x=y"), serve(policy),
			"invalid 39 mtasts.record.id.invalid"},
		{"empty field", withRecord("v=STSv1;; id=20260101"), serve(policy), "invalid 39 mtasts.record.syntax"},
		{"two strings without a semicolon", `_mta-sts.example.com. TXT "v=STSv1; x=1" "id=20260101;"` + "\n" + reports + mx,
			serve(policy), "invalid 39 mtasts.record.syntax mtasts.record.id.missing mtasts.record.joined"},
		{"white space behind the id", withRecord("v=STSv1; id=20260101 "), serve(policy), "valid 100"},
		{"two TLSRPT records", good + strings.Replace(reports, "tls@", "b@", 1), serve(policy),
			"warning 89 mtasts.tls_rpt.missing"},
		{"broken TLSRPT record", record + strings.Replace(reports, "mailto:", "", 1) + mx, serve(policy),
			"warning 89 mtasts.tls_rpt.missing"},
		{"no TLSRPT", record + mx, serve(policy), "warning 89 mtasts.tls_rpt.missing"},

		{"no policy host", good, nil, "invalid 69 mtasts.policy.host.nxdomain"},
		{"policy host refuses", good + "mta-sts.example.com. A 192.0.2.77", nil,
			"invalid 39 mtasts.policy.connection"},
		{"policy host is private", good + "mta-sts.example.com. A 10.0.0.1", nil,
			"invalid 39 mtasts.policy.host.blocked"},
		{"policy host without an address", good + "mta-sts.example.com. TXT x", nil, "invalid 69 mtasts.policy.host.address"},
		{"no HTTP", good, hijack("220 ready\r\n"), "invalid 39 mtasts.policy.protocol"},
		{"body breaks off", good, hijack("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nversion: STSv1\n"),
			"invalid 39 mtasts.policy.protocol mtasts.policy.media_type"},
		{"redirect", good, serveAs("text/plain", 301, ""), "invalid 39 mtasts.policy.redirect"},
		{"not found", good, serveAs("text/plain", 404, ""), "invalid 39 mtasts.policy.status"},
		{"server error", good, serveAs("text/plain", 503, ""), "invalid 39 mtasts.policy.status"},
		{"no content", good, serveAs("text/plain", 203, policy), "invalid 39 mtasts.policy.status"},
		{"HTML", good, serveAs("text/html", 200, policy), "invalid 69 mtasts.policy.media_type"},
		{"no media type", good, hijack("HTTP/1.1 200 OK\r\n\r\n" + policy), "invalid 69 mtasts.policy.media_type"},
		{"odd character set", good, serveAs("text/plain; charset=utf-16", 200, policy),
			"valid 100 mtasts.policy.charset"},
		{"too long", good, serve(policy + strings.Repeat("x: y\n", 20_000)),
			"invalid 69 mtasts.policy.size mtasts.policy.repeated"},

		{"page", good, serve("<!DOCTYPE html><html>"), "invalid 39 mtasts.policy.page"},
		{"empty", good, serve(""), "invalid 39 mtasts.policy.page"},
		{"other text", good, serve("Not found\n"), "invalid 39 mtasts.policy.page"},
		{"comments only", good, serve("x: y\n"), "invalid 39 mtasts.policy.page"},
		{"mx only", good, serve("mx: mx.example.com\n"), "invalid 39 mtasts.policy.version.missing mtasts.policy.mode.missing " +
			"mtasts.policy.max_age.missing"},
		{"no mx", good, edited("mx: mx.example.com\n", ""), "invalid 39 mtasts.policy.mx.missing"},
		{"byte order mark", good, serve(byteOrderMark + policy), "invalid 39 mtasts.policy.syntax"},
		{"Latin-1", good, serve(policy + "x: \xe4\n"),
			"invalid 69 mtasts.policy.encoding"},
		{"no colon", good, serve(policy + "hello\n"), "invalid 39 mtasts.policy.syntax"},
		{"blank line", good, serve("version: STSv1\n\nmode: enforce\nmx: mx.example.com\nmax_age: 604800\n\n"),
			"invalid 69 mtasts.policy.blank_line"},
		{"mode twice", good, serve(policy + "mode: none\n"), "warning 89 mtasts.policy.repeated"},
		{"unknown field", good, serve(policy + "x-more: 86400\n"), "valid 100"},
		{"field like another", good, serve(policy + "max-age: 86400\n"), "warning 89 mtasts.policy.field.unknown"},
		{"mx misspelt beside mx", good, serve(policy + "nmx: mx2.example.com\n"), "warning 89 mtasts.policy.field.unknown"},
		{"mx misspelt", good, edited("mx:", "nmx:"), "invalid 39 mtasts.policy.field.misspelt"},
		{"fields in capitals", good, serve("Version: STSv1\nMode: enforce\nMX: mx.example.com\nMax_Age: 604800\n"),
			"invalid 39 mtasts.policy.field.misspelt"},
		{"one line", good, serve(strings.ReplaceAll(policy, "\n", "; ")), "invalid 39 mtasts.policy.syntax"},
		{"old version", good, edited("STSv1", "STSv2"), "invalid 39 mtasts.policy.version.invalid"},
		{"mode in capitals", good, edited("enforce", "Enforce"), "invalid 39 mtasts.policy.mode.invalid"},
		{"max_age of two years", good, edited("604800", "63115200"), "invalid 39 mtasts.policy.max_age.invalid"},
		{"max_age with a unit", good, edited("604800", "7d"), "invalid 39 mtasts.policy.max_age.invalid"},
		{"address for a host", good, edited("mx.example.com", "192.0.2.25"),
			"invalid 39 mtasts.policy.mx.invalid mtasts.mx.uncovered"},
		{"mx with a dot", good, edited("mx.example.com", "mx.example.com."),
			"invalid 39 mtasts.policy.mx.invalid mtasts.mx.uncovered"},

		{"mode none", good, serve("version: STSv1\nmode: none\nmax_age: 86400\n"),
			"warning 62 mtasts.policy.mode.none"},
		{"testing", good, edited("enforce", "testing"), "warning 88 mtasts.policy.mode.testing"},
		{"max_age 0", good, edited("604800", "0"), "invalid 69 mtasts.policy.max_age.zero"},
		{"max_age of a day", good, edited("604800", "86400"), "warning 89 mtasts.policy.max_age.short"},
		{"header line without a colon", good, hijack("HTTP/1.1 200 OK\r\nX Powered By\r\nContent-Type: text/plain\r\n\r\n" + policy),
			"warning 89 mtasts.policy.header.line"},
		{"wildcard over a public suffix", good, serve(policy + "mx: *.co.uk\n"),
			"warning 89 mtasts.policy.mx.broad"},

		{"host not listed", withMX(mx + "example.com. MX 20 b.example.net.\nb.example.net. AAAA 2001:db8::25\n"),
			serve(policy), "invalid 69 mtasts.mx.uncovered"},
		{"wildcard over two labels", withMX("example.com. MX 10 a.mx.example.com.\na.mx.example.com. A 192.0.2.25\n"),
			edited("mx.", "*."), "invalid 39 mtasts.mx.undeliverable"},
		{"testing with a host not listed",
			withMX("example.com. MX 10 other.example.com.\nother.example.com. A 192.0.2.25\n"),
			edited("enforce", "testing"),
			"invalid 69 mtasts.mx.uncovered mtasts.policy.mode.testing"},
		{"null MX", withMX("example.com. MX 0 .\n"), serve(policy), "warning 89 mtasts.mx.null"},
		{"implicit MX", withMX("example.com. A 192.0.2.1\n"), edited("mx.", ""), "warning 89 mtasts.mx.missing"},
		{"no mail at all", record + reports, serve(policy), "warning 89 mtasts.mx.missing"},
		{"mail server without an address", withMX("example.com. MX 10 mx.example.com.\n"), serve(policy),
			"invalid 69 mtasts.mx.address"},
		{"IP address as MX", withMX("example.com. MX 10 mx.example.com.\nexample.com. MX 20 192.0.2.1.\nmx.example.com. A 192.0.2.25\n"),
			serve(policy), "invalid 69 mtasts.mx.literal"},
		{"policy without record or mail", "example.com. MX 0 .\n", serve(policy), "missing none mtasts.record.missing.no_mail"},
		{"too many mail servers", withMX(manyMX(maxMXHosts + 2)), edited("mx.", "*."),
			"valid 89 mtasts.mx.many mtasts.mx.tls.unknown"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := lookup(t, published(t, tt.zone, tt.site))
			got := fmt.Sprintf("%s %s %s", r.State, diagtest.Score(r.Verdict), join(seen.Add(r.Verdict)))
			require.Equal(t, tt.want, strings.TrimSpace(got), "%+v", r.Findings)
			require.Equal(t, tt.name == "too many mail servers", r.Partial)
			for _, passed := range r.Passed { // a missing record has no right location
				require.True(t, r.Found || passed.Code != "mtasts.record.location")
			}
		})
	}
	seen = append(seen, tlsVerdicts(t)...)
	seen = append(seen, unknownVerdicts(t)...)
	seen = append(seen, mailServerVerdicts(t)...)
	diagtest.CoverRules(t, rules(), seen)
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

func TestLookupReport(t *testing.T) {
	w := published(t, withMX(mx+"example.com. MX 20 backup.example.net.\nbackup.example.net. AAAA 2001:db8::25\n"),
		serve(policy+"mode: none\n"))
	r := lookup(t, w)
	r.DurationMS, r.TLS = 0, pki.TLS{}
	text, err := json.MarshalIndent(r, "", "  ")
	require.NoError(t, err)
	diagtest.Golden(t, "testdata/report.json", append(text, '\n'))
}

func TestLookupReportOfNothing(t *testing.T) {
	r := lookup(t, published(t, mx, nil))
	require.False(t, r.Valid || r.Found || r.Policy.Found)
	require.Empty(t, r.Policy.Mode)
	require.NotNil(t, r.MXHosts)
	require.NotNil(t, r.Policy.MX)
	require.NotNil(t, r.Policy.LineErrors)
	require.Equal(t, "version: STSv1\nmode: testing\nmx: mx.example.com\nmax_age: 604800\n",
		r.Recommendations[0].SuggestedValue)
	require.Equal(t, Coverage{0, 1, false}, r.MXCoverage)
}

func TestLookupSuggestsPolicy(t *testing.T) {
	tests := []struct{ name, served, want string }{
		{"nothing served", "",
			"version: STSv1\nmode: testing\nmx: a.example.com\nmx: b.example.net\nmax_age: 604800\n"},
		{"never worked", "version: STSv1\nmode: enforce\nmx: a.example.com\nmax_age: 99999999\n",
			"version: STSv1\nmode: testing\nmx: a.example.com\nmx: b.example.net\nmax_age: 604800\n"},
		{"never worked for its version", "version: stsv1\nmode: enforce\nmx: a.example.com\nmax_age: 604800\n",
			"version: STSv1\nmode: testing\nmx: a.example.com\nmx: b.example.net\nmax_age: 604800\n"},
		{"never worked for a byte order mark", byteOrderMark + "version: STSv1\nmode: enforce\nmx: a.example.com\nmax_age: 604800\n",
			"version: STSv1\nmode: testing\nmx: a.example.com\nmx: b.example.net\nmax_age: 604800\n"},
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

// All queries run concurrently; only the addresses of the mail servers and the connection to the policy host wait for
// an answer, and the connections to the mail servers wait for both.
func TestLookupRoundTrips(t *testing.T) {
	trips := diagtest.RoundTrips(t, func(w *diagtest.World) {
		w.Zone(good)
		w.HTTPS("mta-sts.example.com", serve(policy))
	}, func(ctx context.Context, env *diag.Env) {
		r, err := Lookup(ctx, env, request)
		require.NoError(t, err)
		require.True(t, r.Valid)
	})
	require.Equal(t, 3, trips)
}

func TestLookupUnavailable(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Silence("*.")
	_, err := Lookup(t.Context(), w.Env(), request)
	require.ErrorIs(t, err, diag.ErrUnavailable)
	synctest.Test(t, func(t *testing.T) {
		w := diagtest.NewWorld(t)
		w.Silence("*.")
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err := Lookup(ctx, w.Env(), request)
		require.ErrorIs(t, err, diag.ErrUnavailable)
	})

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

// hangs never answers: when the client has disconnected it ends the connection without a reply, which the client
// could otherwise still read.
func hangs(_ http.ResponseWriter, r *http.Request) {
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// A web server that is slow must leave time for the report.
func TestLookupSlowPolicyHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := published(t, good, hangs)
		begin := time.Now()
		r := lookup(t, w)
		require.Equal(t, timeout, time.Since(begin))
		require.Equal(t, diag.Unknown, r.State, "%+v", r.Findings)
		require.True(t, r.TLS.Trusted)
	})
}

// A host that hangs does not delay a report that does not depend on it.
func TestLookupGivesUpWithoutRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := published(t, mx, hangs)
		begin := time.Now()
		r := lookup(t, w)
		require.Equal(t, grace, time.Since(begin))
		require.Equal(t, diag.Missing, r.State)
		require.False(t, r.Partial)
		require.NotNil(t, r.Policy.MX)
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
	b.ReportAllocs()
	for b.Loop() {
		rules().Judge(e, texts)
	}
}
