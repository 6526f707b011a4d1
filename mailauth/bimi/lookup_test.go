package bimi

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// at is a TXT record.
func at(name, text string) string { return name + ". TXT \"" + text + "\"\n" }

const (
	mail   = "example.com. MX 10 mx.example.com.\n"
	reject = `_dmarc.example.com. TXT "v=DMARC1; p=reject; rua=mailto:d@example.com"` + "\n"
	strict = mail + reject
	sub    = "a.example.com. MX 10 mx.example.com.\n"
)

// with is a domain with a strong DMARC policy and these records.
func with(texts ...string) string {
	zone := strict
	for _, text := range texts {
		zone += at("default._bimi.example.com", text)
	}
	return zone
}

// under is a domain with a record and this DMARC record.
func under(dmarc string) string { return mail + at("_dmarc.example.com", dmarc) + record1 }

var record1 = at("default._bimi.example.com", full)

func broken(name string) func(*diagtest.World) {
	return func(w *diagtest.World) { w.Break(name, dns.RcodeServerFailure) }
}

var worlds = []struct {
	name, zone, domain, selector string
	spoil                        func(*diagtest.World)
	outcome, suggested, dmarc    string
}{
	{"exemplary", with(full), "", "", nil,
		"valid 100", "", "reject true"},
	{"without certificate", with(alone), "", "", nil,
		"warning 89 certificate.missing", "", "reject true"},
	{"declined", with("v=BIMI1; l=; a=;"), "", "", nil,
		"valid 100 record.declined", "", "reject true"},
	{"declined without DMARC", mail + at("default._bimi.example.com", "v=BIMI1; l=; a=;"), "", "", nil,
		"valid 100 record.declined", "", "missing false"},
	{"delegated", strict + "default._bimi.example.com. CNAME b.example.net.\n" + at("b.example.net", full), "", "", nil,
		"valid 100", "", "reject true"},
	{"selector", strict + at("s1._bimi.example.com", full), "", "s1", nil,
		"valid 100 selector.header", "", "reject true"},

	{"no record", strict, "", "", nil,
		"missing none record.missing", "", "reject true"},
	{"no record, no DMARC", mail, "", "", nil,
		"missing none record.missing", "", "missing false"},
	{"no record, null MX", "example.com. MX 0 .\n", "", "", nil,
		"missing none record.missing", "", "missing false"},
	{"no record, MX SERVFAIL", "x.example.com. A 192.0.2.1\n" + reject, "", "", func(w *diagtest.World) {
		w.Fault("example.com", dns.TypeMX, diagtest.Fault{Rcode: dns.RcodeServerFailure})
	}, "missing none record.missing", "", "reject true"},
	{"no record at the selector", with(full), "", "s1", nil,
		"missing none record.missing", "", "reject true"},
	{"no such domain", "example.net. TXT \"x\"\n", "", "", nil,
		"missing none domain.nxdomain", "", "missing false"},
	{"no such subdomain", with(full), "gone.example.com", "", nil,
		"missing none domain.nxdomain", "", "reject false"},
	{"SERVFAIL", with(full), "", "", broken("default._bimi.example.com"),
		"unknown none record.unknown", "", "reject true"},
	{"silence", with(full), "", "", func(w *diagtest.World) { w.Silence("default._bimi.example.com") },
		"unknown none record.unknown", "", "reject true"},
	{"SERVFAIL above", strict + sub, "a.example.com", "", broken("default._bimi.example.com"),
		"unknown none record.unknown", "", "reject true"},
	{"SERVFAIL above a record", strict + sub + at("default._bimi.a.example.com", full), "a.example.com", "",
		broken("default._bimi.example.com"), "valid 100", "", "reject true"},
	{"dangling alias", strict + "default._bimi.example.com. CNAME gone.example.net.\n", "", "", nil,
		"missing none record.alias", "", "reject true"},
	{"alias to another text", strict + "default._bimi.example.com. CNAME b.example.net.\nb.example.net. TXT \"x\"\n", "", "", nil,
		"missing none record.alias", "", "reject true"},

	{"inherited", with(full) + sub, "a.example.com", "", nil,
		"valid 100", "", "reject true"},
	{"inherited selector", strict + sub + at("s1._bimi.example.com", full), "a.example.com", "s1", nil,
		"valid 100 selector.header", "", "reject true"},
	{"subdomain declines", with(full) + sub + at("default._bimi.a.example.com", "v=BIMI1; l=; a=;"), "a.example.com", "", nil,
		"valid 100 record.declined", "", "reject true"},
	{"broken own record", with(full) + sub + at("default._bimi.a.example.com", "v=bimi1; l="+logoURL), "a.example.com", "", nil,
		"warning 89 record.stray", "", "reject true"},
	{"record of a parent in between", strict + "a.b.example.com. MX 10 mx.example.com.\n" + at("default._bimi.b.example.com", full), "a.b.example.com", "", nil,
		"missing none record.location", full + ";", "reject true"},
	{"organizational domain by the tree", mail + "a.b.example.com. MX 10 mx.example.com.\n" + at("_dmarc.b.example.com", "v=DMARC1; p=reject; psd=n") +
		reject + at("default._bimi.b.example.com", full), "a.b.example.com", "", nil,
		"warning 89 record.organizational", "", "reject true"},

	{"at the domain itself", strict + at("example.com", full), "", "", nil,
		"missing none record.location", full + ";", "reject true"},
	{"without selector", strict + at("_bimi.example.com", full), "", "", nil,
		"missing none record.location", full + ";", "reject true"},
	{"without underscore", strict + at("default.bimi.example.com", full), "", "", nil,
		"missing none record.location", full + ";", "reject true"},
	{"domain twice", strict + at("default._bimi.example.com.example.com", full), "", "", nil,
		"missing none record.location", full + ";", "reject true"},
	{"organizational domain twice", strict + sub + at("default._bimi.a.example.com.example.com", full), "a.example.com", "", nil,
		"missing none record.location", full + ";", "reject true"},
	{"wrong place, http", strict + at("_bimi.example.com", "v=BIMI1; l=http://brand.example.com/logo.svg"), "", "", nil,
		"missing none record.location", "", "reject true"},
	{"also elsewhere", with(full) + at("example.com", full), "", "", nil,
		"valid 100", "", "reject true"},
	{"wildcard of SPF", strict + at("*.example.com", "v=spf1 -all"), "", "", nil,
		"missing none record.missing", "", "reject true"},
	{"wildcard of BIMI", strict + at("*.example.com", full), "", "", nil,
		"valid 100", "", "reject true"},
	{"another text beside", with(full, "verification=1"), "", "", nil,
		"valid 100", "", "reject true"},

	{"two records", with(full, alone), "", "", nil,
		"invalid 39 record.multiple", "", "reject true"},
	{"two records, p=none", mail + at("_dmarc.example.com", "v=DMARC1; p=none") + at("default._bimi.example.com", full) + at("default._bimi.example.com", alone), "", "", nil,
		"invalid 39 record.multiple dmarc.none", "", "none false"},
	{"lower case, no DMARC", mail + at("default._bimi.example.com", "v=bimi1; l="+logoURL+"; a="+markURL), "", "", nil,
		"invalid 39 record.version dmarc.missing", full + ";", "missing false"},
	{"lower-case declination, no DMARC", mail + at("default._bimi.example.com", "v=bimi1; l=; a=;"), "", "", nil,
		"invalid 0 record.version", "v=BIMI1; l=; a=;", "missing false"},
	{"two records, alike", with(full, full+";"), "", "", nil,
		"invalid 39 record.multiple", full + ";", "reject true"},
	{"two records below one", with(full) + sub + at("default._bimi.a.example.com", full) + at("default._bimi.a.example.com", alone), "a.example.com", "", nil,
		"invalid 39 record.multiple", "", "reject true"},
	{"lower case", with("v=bimi1; l=" + logoURL + "; a=" + markURL), "", "", nil,
		"invalid 39 record.version", full + ";", "reject true"},
	{"no version", with("l=" + logoURL + "; a=" + markURL), "", "", nil,
		"invalid 39 record.version", full + ";", "reject true"},
	{"empty version", with("v=; l=" + logoURL + "; a=" + markURL), "", "", nil,
		"invalid 39 record.version", full + ";", "reject true"},
	{"stray", with(full, "v=BIMI2; l="+logoURL), "", "", nil,
		"warning 89 record.stray", "", "reject true"},
	{"rest in another record", with("v=BIMI1; l="+logoURL+";", "a="+markURL), "", "", nil,
		"warning 89 record.stray certificate.missing", full + ";", "reject true"},
	{"rest says otherwise", with(full, "l=https://b.example.com/logo.svg"), "", "", nil,
		"warning 89 record.stray", "", "reject true"},
	{"rest of another domain's record", with(full) + sub + at("default._bimi.a.example.com", "a=https://b.example.com/mark.pem"), "a.example.com", "", nil,
		"warning 89 record.stray", "", "reject true"},
	{"http", with("v=BIMI1; l=http://brand.example.com/logo.svg; a="), "", "", nil,
		"invalid 69 location.http certificate.missing", "", "reject true"},

	{"no DMARC", mail + record1, "", "", nil,
		"invalid 69 dmarc.missing", "", "missing false"},
	{"no DMARC for a subdomain", mail + sub + record1, "a.example.com", "", nil,
		"invalid 69 dmarc.missing", "", "missing false"},
	{"DMARC SERVFAIL", with(full), "", "", broken("_dmarc.example.com"),
		"unknown none dmarc.unknown", "", "unknown unknown"},
	{"DMARC SERVFAIL, http", with("v=BIMI1; l=http://brand.example.com/logo.svg; a=" + markURL), "", "", broken("_dmarc.example.com"),
		"invalid 69 location.http dmarc.unknown", "", "unknown unknown"},
	{"DMARC of a domain in between", mail + "a.b.example.com. MX 10 mx.example.com.\n" + at("_dmarc.b.example.com", "v=DMARC1; p=reject") + record1,
		"a.b.example.com", "", nil, "warning 89 dmarc.disputed record.organizational", "", "reject false"},
	{"p is not the second tag", under("v=DMARC1; rua=mailto:d@example.com; p=reject"), "", "", nil,
		"warning 89 dmarc.disputed", "", "reject false"},
	{"DMARC of a public suffix", "example.co.uk. MX 10 mx.example.com.\n" + at("default._bimi.example.co.uk", full) + at("_dmarc.co.uk", "v=DMARC1; p=reject; psd=y"),
		"example.co.uk", "", nil, "warning 89 dmarc.disputed", "", "reject false"},
	{"DMARC alias leads nowhere", mail + record1 + "_dmarc.example.com. CNAME d.example.net.\n", "", "", nil,
		"invalid 69 dmarc.missing", "", "missing false"},
	{"two DMARC records", with(full) + at("_dmarc.example.com", "v=DMARC1; p=none"), "", "", nil,
		"invalid 69 dmarc.invalid", "", "missing false"},
	{"broken DMARC record", under("v=DMARC1; p=rejct"), "", "", nil,
		"invalid 69 dmarc.invalid", "", " false"},
	{"DMARC record for another version", under("v=dmarc1; p=reject"), "", "", nil,
		"invalid 69 dmarc.invalid", "", "missing false"},
	{"broken DMARC record with reports", under("v=DMARC1; p=rejct; rua=mailto:d@example.com"), "", "", nil,
		"invalid 69 dmarc.invalid", "", "none false"},
	{"p=none", under("v=DMARC1; p=none"), "", "", nil,
		"invalid 69 dmarc.none", "", "none false"},
	{"p=quarantine", under("v=DMARC1; p=quarantine"), "", "", nil,
		"valid 100", "", "quarantine true"},
	{"p=quarantine with pct", under("v=DMARC1; p=quarantine; pct=50"), "", "", nil,
		"invalid 69 dmarc.percentage", "", "quarantine false"},
	{"p=quarantine with pct=100", under("v=DMARC1; p=quarantine; pct=100"), "", "", nil,
		"valid 100", "", "quarantine true"},
	{"p=reject with pct", under("v=DMARC1; p=reject; pct=50"), "", "", nil,
		"warning 89 dmarc.percentage.reject", "", "reject true"},
	{"sp=none", under("v=DMARC1; p=reject; sp=none"), "", "", nil,
		"invalid 69 dmarc.subdomains", "", "reject false"},
	{"sp=none for a subdomain", under("v=DMARC1; p=reject; sp=none") + sub, "a.example.com", "", nil,
		"invalid 69 dmarc.subdomains", "", "none false"},
	{"p=none for a subdomain with sp", under("v=DMARC1; p=none; sp=reject") + sub, "a.example.com", "", nil,
		"invalid 69 dmarc.none", "", "reject false"},
	{"own policy below p=none", under("v=DMARC1; p=none") + sub + at("_dmarc.a.example.com", "v=DMARC1; p=reject"), "a.example.com", "", nil,
		"invalid 69 dmarc.none", "", "reject false"},
	{"own policy, SERVFAIL above", with(full) + sub + at("_dmarc.a.example.com", "v=DMARC1; p=reject"), "a.example.com", "", broken("_dmarc.example.com"),
		"unknown none dmarc.unknown", "", "reject unknown"},
	{"own p=none, SERVFAIL above", with(full) + sub + at("_dmarc.a.example.com", "v=DMARC1; p=none"), "a.example.com", "", broken("_dmarc.example.com"),
		"invalid 69 dmarc.none dmarc.unknown", "", "none false"},
	{"t=y", under("v=DMARC1; p=reject; t=y"), "", "", nil,
		"invalid 69 dmarc.testing", "", "reject false"},
	{"SPF for all", with(full) + at("example.com", "v=spf1 mx +all"), "", "", nil,
		"warning 89 spf.open", "", "reject true"},
	{"SPF", with(full) + at("example.com", "v=spf1 mx ?all all"), "", "", nil,
		"valid 100", "", "reject true"},
	{"all of it", under("v=DMARC1; p=quarantine; sp=none; pct=10; t=y"), "", "", nil,
		"invalid 69 dmarc.subdomains dmarc.percentage dmarc.testing", "", "quarantine false"},
}

func lookup(t *testing.T, zone, domain, selector string, spoil func(*diagtest.World)) *LookupReport {
	w := diagtest.NewWorld(t)
	w.Zone(zone)
	if spoil != nil {
		spoil(w)
	}
	if domain == "" {
		domain = "example.com"
	}
	req := LookupRequest{Domain: diag.MustDomain(domain), FetchLogo: new(false), FetchCertificate: new(false)}
	if selector != "" {
		req.Selector = diag.MustSelector(selector)
	}
	r, err := Lookup(t.Context(), w.Env(), req)
	require.NoError(t, err)
	return r
}

// eligibilityText is a DMARC in a line.
func eligibilityText(d DMARC) string {
	policy, eligible := string(d.Policy), "unknown"
	if d.Found == nil {
		policy = "unknown"
	} else if !*d.Found {
		policy = "missing"
	}
	if d.Eligible != nil {
		eligible = map[bool]string{true: "true", false: "false"}[*d.Eligible]
	}
	return policy + " " + eligible
}

func TestLookup(t *testing.T) {
	var seen diagtest.Seen
	for _, tt := range worlds {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := lookup(t, tt.zone, tt.domain, tt.selector, tt.spoil)
				seen.Add(r.Verdict)
				require.Equal(t, tt.outcome, outcome(r.Verdict), "%+v", r.Findings)
				require.Equal(t, tt.suggested, suggested(r.Verdict))
				require.Equal(t, tt.dmarc, eligibilityText(r.DMARC))
				checkReport(t, r)
			})
		})
	}
	for _, tt := range records {
		r, err := Validate(ValidateRequest{Record: tt.record})
		require.NoError(t, err)
		seen.Add(r.Verdict)
	}
	for _, tt := range shelves {
		synctest.Test(t, func(t *testing.T) { seen.Add(visit(t, tt.record, tt.shelf).Verdict) })
	}
	diagtest.CoverRules(t, rules(), seen)
	diagtest.CheckTexts(t, texts, rules().Describe(), seen)
	diagtest.CheckTexts(t, textsOffline, rules().Describe(), seen)
}

// checkReport fails if the parts of a report contradict each other.
func checkReport(t require.TestingT, r *LookupReport) {
	require.Equal(t, r.Found, len(r.Records) > 0)
	require.Equal(t, r.Found, r.Location != "")
	require.False(t, r.Valid && !r.Found)
	require.False(t, r.State == diag.Unknown && r.Score != nil)
	missing := slices.ContainsFunc(r.Findings, func(f diag.Finding) bool { return f.Code == "bimi.domain.missing" })
	require.False(t, missing && r.Partial, "all is known of a domain that does not exist")
	eligible := r.DMARC.Eligible
	require.Equal(t, eligible != nil && *eligible, r.DMARC.Reason == "", "%+v", r.DMARC)
	require.Equal(t, eligible == nil, r.DMARC.Eligible == nil)
	for _, f := range r.Findings {
		ofRecord := strings.HasPrefix(string(f.Code), "bimi.record.") || strings.HasPrefix(string(f.Code), "bimi.location.")
		require.False(t, r.Valid && f.Severity >= diag.Error && ofRecord, "%+v", f)
		require.False(t, f.Code == "bimi.dmarc.missing" && eligible == nil, "%+v", f)
	}
	for _, rec := range r.Recommendations {
		checkCorrection(t, rec.SuggestedValue, r.Records...)
	}
}

func TestLookupReport(t *testing.T) {
	r := lookup(t, with(full+"; avp=personal; lps=news")+sub, "a.example.com", "", nil)
	r.DurationMS, r.CheckedAt = 0, time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	text, err := json.MarshalIndent(r, "", "  ")
	require.NoError(t, err)
	diagtest.Golden(t, "testdata/report.json", append(text, '\n'))
}

func TestTexts(t *testing.T) {
	text, err := json.MarshalIndent(texts, "", "  ")
	require.NoError(t, err)
	diagtest.Golden(t, "testdata/texts.json", append(text, '\n'))
}

// Record, DMARC and the guesses are looked up concurrently.
func TestLookupRoundTrips(t *testing.T) {
	for _, domain := range []string{"example.com", "a.b.example.com"} {
		trips := diagtest.RoundTrips(t, func(w *diagtest.World) { w.Zone(with(full)) },
			func(ctx context.Context, env *diag.Env) {
				_, err := Lookup(ctx, env, LookupRequest{
					Domain: diag.MustDomain(domain), FetchLogo: new(false), FetchCertificate: new(false),
				})
				require.NoError(t, err)
			})
		require.Equal(t, 1, trips)
	}
}

func TestLookupFails(t *testing.T) {
	for _, req := range []LookupRequest{
		{}, {Domain: diag.MustDomain(strings.Repeat("a.", 122) + "com")},
		{Domain: diag.MustDomain("example.com"), Selector: diag.MustSelector("default._bimi")},
	} {
		_, err := Lookup(t.Context(), diagtest.NewWorld(t).Env(), req)
		_, ok := errors.AsType[*diag.InputError](err)
		require.True(t, ok, "%v", err)
	}
	request := LookupRequest{Domain: diag.MustDomain("example.com")}
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

// No advice refers to reports that are not sent.
func TestPolicyIsMovedOnReports(t *testing.T) {
	for _, tt := range []struct{ dmarc, begins string }{
		{"v=DMARC1; p=none; rua=mailto:d@example.com", "Check in the DMARC reports that all your mail passes"},
		{"v=DMARC1; p=none", "Ask for DMARC reports first: the record has no rua. Check in them that all your mail passes"},
		{"v=DMARC1; p=quarantine; pct=5", "Ask for DMARC reports first"},
	} {
		r := lookup(t, under(tt.dmarc), "", "", nil)
		require.True(t, strings.HasPrefix(r.Findings[0].Advice, tt.begins), r.Findings[0].Advice)
	}
}

// Without a record and a strong DMARC policy, the advice begins with DMARC.
func TestMissingBeginsWithDMARC(t *testing.T) {
	none := mail + at("_dmarc.example.com", "v=DMARC1; p=none")
	for _, tt := range []struct {
		zone  string
		spoil func(*diagtest.World)
		first bool
	}{{strict, nil, false}, {mail, nil, true}, {none, nil, true}, {none, broken("_dmarc.example.com"), false}} {
		r := lookup(t, tt.zone, "", "", tt.spoil)
		require.Equal(t, tt.first, strings.Contains(r.Sub, "set up DMARC first"), r.Sub)
		require.Equal(t, tt.first, strings.Contains(r.Findings[0].Detail, "no effect yet"), r.Findings[0].Detail)
		require.Equal(t, tt.first, strings.Contains(r.Findings[0].Advice, "set up DMARC first"), r.Findings[0].Advice)
	}
}

// A dangling alias for the DMARC record is fixed at its target, not by a new policy.
func TestDanglingDMARC(t *testing.T) {
	r := lookup(t, mail+record1+"_dmarc.example.com. CNAME d.example.net.\n", "", "", nil)
	require.Contains(t, r.Findings[0].Advice, "at the target of the CNAME")
	require.NotContains(t, r.Findings[0].Advice, "p=none")
}
