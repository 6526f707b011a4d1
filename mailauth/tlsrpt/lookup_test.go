package tlsrpt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	mx   = "example.com. MX 10 mx.example.com.\nmx.example.com. A 192.0.2.25\n"
	sts  = `_mta-sts.example.com. TXT "v=STSv1; id=20260101T000000"` + "\n"
	mail = mx + sts
	good = "v=TLSRPTv1; rua=mailto:tls@example.com"
)

// at returns a zone with a record at a domain.
func at(domain, text string) string { return fmt.Sprintf("_smtp._tls.%s. TXT %q\n", domain, text) }

// with returns the zone of a domain that has MTA-STS and these records.
func with(texts ...string) string {
	zone := mail
	for _, text := range texts {
		zone += at("example.com", text)
	}
	return zone
}

func broken(name string) func(*diagtest.World) {
	return func(w *diagtest.World) { w.Break(name, dns.RcodeServerFailure) }
}

func manyURIs(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("mailto:d@d%d.example.com", i))
	}
	return "v=TLSRPTv1; rua=mailto:tls@example.com," + strings.Join(list, ",")
}

var worlds = []struct {
	name, zone, domain string
	spoil              func(*diagtest.World)
	outcome, suggested string
}{
	{"exemplary", with(good), "", nil,
		"valid 100", ""},
	{"https at the domain", with("v=TLSRPTv1; rua=https://mx.example.com/tls"), "", nil,
		"valid 100", ""},
	{"own domain by https", with("v=TLSRPTv1; rua=https://example.com/tls") + "example.com. A 192.0.2.1\n", "", nil,
		"valid 100", ""},
	{"DANE", mx + "_25._tcp.mx.example.com. TLSA 3 1 1 00\n" + at("example.com", good), "", nil,
		"valid 100", ""},
	{"neither MTA-STS nor DANE", mx + at("example.com", good), "", nil,
		"valid 100 policy.missing", ""},
	{"delegated", mail + "_smtp._tls.example.com. CNAME r.example.net.\nr.example.net. TXT \"v=TLSRPTv1; rua=mailto:r@example.net\"\nexample.net. MX 10 mx.example.com.\n", "", nil,
		"valid 100", ""},
	{"external, authorized", with("v=TLSRPTv1; rua=mailto:r@example.net") + "example.net. MX 10 mx.example.com.\nexample.com._report._tls.example.net. TXT \"v=TLSRPTv1\"\n", "", nil,
		"valid 100", ""},
	{"external, authorization SERVFAIL", with("v=TLSRPTv1; rua=mailto:r@example.net") + "example.net. MX 10 mx.example.com.\n", "", broken("example.com._report._tls.example.net"),
		"valid 100", ""},

	{"no record", mx, "", nil,
		"missing 0 record.missing", "v=TLSRPTv1; rua=mailto:tls-reports@example.com"},
	{"no record, MTA-STS", mail, "", nil,
		"missing 0 record.missing", "v=TLSRPTv1; rua=mailto:tls-reports@example.com"},
	{"no record, address only", "example.com. A 192.0.2.1\n", "", nil,
		"missing 0 record.missing", "v=TLSRPTv1; rua=mailto:tls-reports@example.com"},
	{"no record, null MX", "example.com. MX 0 .\n", "", nil,
		"missing none record.missing.no_mail", ""},
	{"no record, no mail", "example.com. TXT \"x\"\n", "", nil,
		"missing none record.missing.no_mail", ""},
	{"no record, MX SERVFAIL", "x.example.com. A 192.0.2.1\n", "", func(w *diagtest.World) {
		w.Fault("example.com", dns.TypeMX, diagtest.Fault{Rcode: dns.RcodeServerFailure})
	},
		"unknown none mail.unknown", ""},
	{"no record, a wrong name SERVFAIL", mx, "", broken("_smtp-tls.example.com"),
		"unknown none record.unknown", ""},
	{"no such domain, MX SERVFAIL", "example.net. TXT \"x\"\n", "", func(w *diagtest.World) {
		w.Fault("example.com", dns.TypeMX, diagtest.Fault{Rcode: dns.RcodeServerFailure})
	},
		"missing none domain.nxdomain", ""},
	{"record, MX SERVFAIL", with(good), "", func(w *diagtest.World) {
		w.Fault("example.com", dns.TypeMX, diagtest.Fault{Rcode: dns.RcodeServerFailure})
	},
		"valid 89 destination.unknown", ""},
	{"no record, but text", with("v=spf1 -all"), "", nil,
		"missing 0 record.missing", "v=TLSRPTv1; rua=mailto:tls-reports@example.com"},
	{"wildcard of SPF", mail + `*.example.com. TXT "v=spf1 -all"`, "", nil,
		"missing 0 record.missing record.wildcard", "v=TLSRPTv1; rua=mailto:tls-reports@example.com"},
	{"wildcard of TLSRPT", mail + `*.example.com. TXT "` + good + `"`, "", nil,
		"valid 100", ""},
	{"parent's record", with(good) + "a.example.com. MX 10 mx.example.com.\n", "a.example.com", nil,
		"missing 0 record.missing", "v=TLSRPTv1; rua=mailto:tls@example.com"},
	{"parent's record, white space after the version", with("v=TLSRPTv1 ; rua=mailto:tls@example.com") + "a.example.com. MX 10 mx.example.com.\n", "a.example.com", nil,
		"missing 0 record.missing", "v=TLSRPTv1; rua=mailto:tls@example.com"},
	{"parent's record, broken", with("v=TLSRPTv1; rua=a@example.com") + "a.example.com. MX 10 mx.example.com.\n", "a.example.com", nil,
		"missing 0 record.missing", ""},
	{"no such domain", "example.net. TXT \"x\"\n", "", nil,
		"missing none domain.nxdomain", ""},
	{"SERVFAIL", with(good), "", broken("_smtp._tls.example.com"),
		"unknown none record.unknown", ""},
	{"silence", with(good), "", func(w *diagtest.World) { w.Silence("_smtp._tls.example.com") },
		"unknown none record.unknown", ""},
	{"record without mail", "example.com. MX 0 .\n" + at("example.com", "v=TLSRPTv1; rua=mailto:r@a.example.com") + "a.example.com. MX 10 mx.example.com.\n", "", nil,
		"valid 100", ""},
	{"dangling alias", mail + "_smtp._tls.example.com. CNAME gone.example.net.\n", "", nil,
		"missing 0 record.alias", ""},
	{"alias to another text", mail + "_smtp._tls.example.com. CNAME r.example.net.\nr.example.net. TXT \"x\"\n", "", nil,
		"missing 0 record.alias", ""},
	{"at the domain itself", mail + `example.com. TXT "` + good + `"`, "", nil,
		"missing 0 record.location", "v=TLSRPTv1; rua=mailto:tls@example.com"},
	{"labels exchanged", mail + `_tls._smtp.example.com. TXT "` + good + `"`, "", nil,
		"missing 0 record.location", "v=TLSRPTv1; rua=mailto:tls@example.com"},
	{"one label", mail + `_smtp-tls.example.com. TXT "` + good + `"`, "", nil,
		"missing 0 record.location", "v=TLSRPTv1; rua=mailto:tls@example.com"},
	{"domain twice", mail + at("example.com.example.com", good), "", nil,
		"missing 0 record.location", "v=TLSRPTv1; rua=mailto:tls@example.com"},
	{"wrong name, null MX", "example.com. MX 0 .\n" + `_smtp-tls.example.com. TXT "` + good + `"`, "", nil,
		"missing none record.missing.no_mail", ""},
	{"also elsewhere", with(good) + `_smtp-tls.example.com. TXT "` + good + `"`, "", nil,
		"valid 100", ""},

	{"two records", with(good, "v=TLSRPTv1; rua=mailto:b@example.com"), "", nil,
		"invalid 39 record.multiple", "v=TLSRPTv1; rua=mailto:tls@example.com,mailto:b@example.com"},
	{"stray", with(good, "v=TLSRPTv2; rua=mailto:b@example.com"), "", nil,
		"warning 89 record.stray", ""},
	{"another text beside", with(good, "verification=1"), "", nil,
		"valid 100", ""},
	{"lower case", with("v=tlsrptv1; rua=mailto:tls@example.com"), "", nil,
		"invalid 0 record.version", "v=TLSRPTv1; rua=mailto:tls@example.com"},
	{"no semicolon", with("v=TLSRPTv1 rua=mailto:tls@example.com"), "", nil,
		"invalid 0 record.version", "v=TLSRPTv1; rua=mailto:tls@example.com"},
	{"version without its first part", with("TLSRPTv1; rua=mailto:tls@example.com"), "", nil,
		"invalid 0 record.version", "v=TLSRPTv1; rua=mailto:tls@example.com"},
	{"version alone", with("v=TLSRPTv1"), "", nil,
		"invalid 0 record.version", ""},
	{"two semicolons", with("v=TLSRPTv1;; rua=mailto:tls@example.com"), "", nil,
		"invalid 39 record.syntax", "v=TLSRPTv1; rua=mailto:tls@example.com"},
	{"space at the equals sign", with("v=TLSRPTv1; rua = mailto:tls@example.com"), "", nil,
		"invalid 39 record.syntax", "v=TLSRPTv1; rua=mailto:tls@example.com"},
	{"space before the semicolon", with("v=TLSRPTv1 ; rua=mailto:tls@example.com"), "", nil,
		"warning 89 record.blank", "v=TLSRPTv1; rua=mailto:tls@example.com"},
	{"strings", mail + `_smtp._tls.example.com. TXT "v=TLSRPTv1; x=y" "rua=mailto:tls@example.com"`, "", nil,
		"invalid 39 record.syntax rua.missing record.joined", "v=TLSRPTv1; rua=mailto:tls@example.com; x=y"},
	{"rua twice", with("v=TLSRPTv1; rua=mailto:tls@example.com; rua=mailto:b@example.com"), "", nil,
		"warning 89 record.repeated", "v=TLSRPTv1; rua=mailto:tls@example.com,mailto:b@example.com"},
	{"extension", with(good + "; x=y"), "", nil,
		"valid 100", ""},
	{"typing error", with("v=TLSRPTv1; rau=mailto:tls@example.com"), "", nil,
		"invalid 39 rua.missing", "v=TLSRPTv1; rua=mailto:tls@example.com"},
	{"no rua", with("v=TLSRPTv1;"), "", nil,
		"invalid 39 rua.missing", ""},
	{"empty rua", with("v=TLSRPTv1; rua="), "", nil,
		"invalid 39 rua.missing", ""},
	{"bare address", with("v=TLSRPTv1; rua=tls@example.com"), "", nil,
		"invalid 69 rua.invalid", "v=TLSRPTv1; rua=mailto:tls@example.com"},
	{"http", with("v=TLSRPTv1; rua=http://reports.example.com/"), "", nil,
		"invalid 69 rua.invalid", ""},
	{"mailto twice", with("v=TLSRPTv1; rua=mailto:mailto:tls@example.com"), "", nil,
		"invalid 69 rua.invalid", "v=TLSRPTv1; rua=mailto:tls@example.com"},
	{"mailto misspelt", with("v=TLSRPTv1; rua=malto:tls@example.com"), "", nil,
		"invalid 69 rua.invalid", "v=TLSRPTv1; rua=mailto:tls@example.com"},
	{"semicolon behind mailto", with("v=TLSRPTv1; rua=mailto;tls@example.com"), "", nil,
		"invalid 39 record.syntax rua.invalid", "v=TLSRPTv1; rua=mailto:tls@example.com"},
	{"none for an address", with("v=TLSRPTv1; rua=none"), "", nil,
		"invalid 69 rua.invalid", ""},
	{"final dot of the domain", with("v=TLSRPTv1; rua=mailto:tls@example.com."), "", nil,
		"invalid 69 rua.invalid", "v=TLSRPTv1; rua=mailto:tls@example.com"},
	{"wildcard alias", mail + "*.example.com. CNAME example.com.\nexample.com. TXT x\n", "", nil,
		"missing 0 record.missing", "v=TLSRPTv1; rua=mailto:tls-reports@example.com"},
	{"missing comma", with("v=TLSRPTv1; rua=mailto:tls@example.com mailto:b@example.com"), "", nil,
		"invalid 69 rua.invalid", "v=TLSRPTv1; rua=mailto:tls@example.com,mailto:b@example.com"},
	{"semicolon instead of a comma", with("v=TLSRPTv1; rua=mailto:tls@example.com; mailto:b@example.com"), "", nil,
		"invalid 39 record.syntax", "v=TLSRPTv1; rua=mailto:tls@example.com,mailto:b@example.com"},
	{"space behind the scheme", with("v=TLSRPTv1; rua=mailto: tls@example.com"), "", nil,
		"invalid 69 rua.invalid", "v=TLSRPTv1; rua=mailto:tls@example.com"},
	{"slashes", with("v=TLSRPTv1; rua=mailto://tls@example.com"), "", nil,
		"invalid 69 rua.invalid", "v=TLSRPTv1; rua=mailto:tls@example.com"},
	{"angle brackets", with("v=TLSRPTv1; rua=mailto:<tls@example.com>"), "", nil,
		"invalid 69 rua.invalid", "v=TLSRPTv1; rua=mailto:tls@example.com"},
	{"HTML", with("v=TLSRPTv1&#59; rua=mailto:tls@example.com"), "", nil,
		"invalid 0 record.version", "v=TLSRPTv1; rua=mailto:tls@example.com"},
	{"size limit", with("v=TLSRPTv1; rua=mailto:tls@example.com!10m"), "", nil,
		"invalid 69 rua.invalid", "v=TLSRPTv1; rua=mailto:tls@example.com"},
	{"comma at the end", with("v=TLSRPTv1; rua=mailto:tls@example.com,"), "", nil,
		"invalid 69 rua.invalid", "v=TLSRPTv1; rua=mailto:tls@example.com"},
	{"one of two bad", with("v=TLSRPTv1; rua=mailto:tls@example.com,b@example.com"), "", nil,
		"invalid 69 rua.invalid", "v=TLSRPTv1; rua=mailto:tls@example.com,mailto:b@example.com"},
	{"one that cannot be known", with("v=TLSRPTv1; rua=tls@example.com,bogus"), "", nil,
		"invalid 69 rua.invalid rua.invalid", ""},
	{"address twice", with("v=TLSRPTv1; rua=mailto:tls@example.com,mailto:TLS@example.com"), "", nil,
		"valid 100", ""},

	{"destination without mail", with("v=TLSRPTv1; rua=mailto:tls@gone.example.com"), "", nil,
		"invalid 69 destination.none", ""},
	{"one of two without mail", with("v=TLSRPTv1; rua=mailto:tls@example.com,mailto:tls@null.example.com") + "null.example.com. MX 0 .\n", "", nil,
		"warning 89 destination.undeliverable", ""},
	{"host without an address", with("v=TLSRPTv1; rua=mailto:tls@example.com,https://t.example.com/") + "t.example.com. TXT \"x\"\n", "", nil,
		"warning 89 destination.host", ""},
	{"host that does not exist", with("v=TLSRPTv1; rua=https://gone.example.com/"), "", nil,
		"invalid 69 destination.none", ""},
	{"destination SERVFAIL", with("v=TLSRPTv1; rua=mailto:tls@t.example.com"), "", broken("t.example.com"),
		"valid 89 destination.unknown", ""},
	{"one lost, one SERVFAIL", with("v=TLSRPTv1; rua=mailto:tls@t.example.com,mailto:tls@gone.example.com"), "", broken("t.example.com"),
		"valid 89 destination.unknown", ""},
	{"host SERVFAIL", with("v=TLSRPTv1; rua=https://t.example.com/"), "", broken("t.example.com"),
		"valid 89 destination.unknown", ""},
	{"many", with(manyURIs(10)), "", nil,
		"warning 89 destination.undeliverable destination.many", ""},
	{"MTA-STS SERVFAIL", with(good), "", broken("_mta-sts.example.com"),
		"valid 100", ""},
}

func lookup(t *testing.T, zone, domain string, spoil func(*diagtest.World)) *LookupReport {
	w := diagtest.NewWorld(t)
	w.Zone(zone)
	if spoil != nil {
		spoil(w)
	}
	if domain == "" {
		domain = "example.com"
	}
	r, err := Lookup(t.Context(), w.Env(), Request{Domain: diag.MustDomain(domain)})
	require.NoError(t, err)
	return r
}

// outcome formats a verdict on one line.
func outcome(v diag.Verdict) string {
	words := []string{string(v.State), diagtest.Score(v)}
	for _, code := range diagtest.Codes(v) {
		words = append(words, strings.TrimPrefix(string(code), "tlsrpt."))
	}
	return strings.Join(words, " ")
}

// suggested returns the suggestion of the first recommendation that has one.
func suggested(v diag.Verdict) string {
	for _, r := range v.Recommendations {
		if r.SuggestedValue != "" {
			return r.SuggestedValue
		}
	}
	return ""
}

func TestLookup(t *testing.T) {
	var seen diagtest.Seen
	for _, tt := range worlds {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := lookup(t, tt.zone, tt.domain, tt.spoil)
				seen.Add(r.Verdict)
				require.Equal(t, tt.outcome, outcome(r.Verdict), "%+v", r.Findings)
				require.Equal(t, tt.suggested, suggested(r.Verdict))
				checkReport(t, r)
				for _, passed := range r.Passed { // a missing record has no right location
					require.True(t, r.Found || passed.Code != "tlsrpt.record.location")
				}
			})
		})
	}
	diagtest.CoverRules(t, rules, seen)
	diagtest.CheckTexts(t, texts, rules.Describe(), seen)
}

// checkReport fails if the parts of a report contradict each other.
func checkReport(t require.TestingT, r *LookupReport) {
	require.Equal(t, r.Found, len(r.Records) > 0)
	for _, f := range r.Findings {
		require.False(t, r.Valid && f.Severity >= diag.Error, "%+v", f)
	}
	require.False(t, r.State == diag.Unknown && r.Score != nil)
	if r.Band == diag.Excellent { // CONTRACT 1.8
		require.Contains(t, r.Sub, "The published record was examined; the reception of reports was not.")
	}
	for _, rec := range r.Recommendations {
		if rec.SuggestedValue == "" {
			continue
		}
		record, err := ParseRecord(rec.SuggestedValue)
		require.NoError(t, err, "%s suggests %q", rec.Code, rec.SuggestedValue)
		for _, d := range r.RUA {
			kept := strings.Contains(strings.ToLower(strings.Join(record.RUA, ",")), strings.ToLower(d.URI))
			require.True(t, !d.Valid || kept, "%s suggests %q, which loses %s", rec.Code, rec.SuggestedValue, d.URI)
		}
	}
}

func TestLookupReport(t *testing.T) {
	r := lookup(t, with("v=TLSRPTv1; rua=mailto:tls@example.com,https://r.example.net/v1,http://old.example.com/; x=y")+
		"r.example.net. A 192.0.2.7\nexample.com._report._tls.r.example.net. TXT \"v=TLSRPTv1\"\n", "", nil)
	r.DurationMS = 0
	text, err := json.MarshalIndent(r, "", "  ")
	require.NoError(t, err)
	diagtest.Golden(t, "testdata/report.json", append(text, '\n'))
}

func TestTexts(t *testing.T) {
	text, err := json.MarshalIndent(texts, "", "  ")
	require.NoError(t, err)
	diagtest.Golden(t, "testdata/texts.json", append(text, '\n'))
}

// Only the destinations and DANE wait for an answer.
func TestLookupRoundTrips(t *testing.T) {
	for _, tt := range []struct {
		name, zone string
		trips      int
	}{
		{"no mail", "example.com. MX 0 .\n", 1},
		{"no record", mail, 2},
		{"record", with(good), 2},
		{"ten destinations", with(manyURIs(9)), 2},
		{"external", with("v=TLSRPTv1; rua=mailto:r@example.net,https://r.example.net/"), 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			trips := diagtest.RoundTrips(t, func(w *diagtest.World) { w.Zone(tt.zone) },
				func(ctx context.Context, env *diag.Env) {
					_, err := Lookup(ctx, env, Request{Domain: diag.MustDomain("example.com")})
					require.NoError(t, err)
				})
			require.Equal(t, tt.trips, trips)
		})
	}
}

func TestLookupFails(t *testing.T) {
	for _, d := range []diag.Domain{{}, diag.MustDomain(strings.Repeat("a.", 124) + "com")} {
		_, err := Lookup(t.Context(), nil, Request{Domain: d})
		_, ok := errors.AsType[*diag.InputError](err)
		require.True(t, ok, "%v", err)
	}
	request := Request{Domain: diag.MustDomain("example.com")}
	synctest.Test(t, func(t *testing.T) {
		w := diagtest.NewWorld(t)
		w.Silence("*.")
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		_, err := Lookup(ctx, w.Env(), request)
		require.ErrorIs(t, err, diag.ErrUnavailable)
		canceled, stop := context.WithCancel(t.Context())
		stop()
		_, err = Lookup(canceled, w.Env(), request)
		require.ErrorIs(t, err, context.Canceled)
	})
}
