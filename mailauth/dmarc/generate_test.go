package dmarc

import (
	"fmt"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

func TestGenerate(t *testing.T) {
	domain := diag.MustDomain("example.com")
	long := diag.MustDomain(strings.Repeat(strings.Repeat("a", 60)+".", 3) + "example.com")
	to := []string{"d@example.com"}
	tests := []struct {
		name    string
		req     GenerateRequest
		want    string // without "v=DMARC1; "
		codes   string
		rollout string // policies of the steps
	}{
		{name: "minimal", req: GenerateRequest{Policy: policy.Reject}, want: "p=reject", codes: "reports.missing enforced",
			rollout: "p=none|p=quarantine; t=y|p=quarantine|p=reject"},
		{name: "monitoring", req: GenerateRequest{Policy: policy.None, Domain: domain, AggregateReports: to},
			want: "p=none; rua=mailto:d@example.com", rollout: "p=none; rua=mailto:d@example.com"},
		{name: "nothing at all", req: GenerateRequest{Policy: policy.None}, want: "p=none", codes: "reports.missing",
			rollout: "p=none"},
		{name: "quarantine", req: GenerateRequest{Policy: policy.Quarantine, Domain: domain, AggregateReports: to},
			want: "p=quarantine; rua=mailto:d@example.com", codes: "enforced", rollout: "p=none; " +
				"rua=mailto:d@example.com|p=quarantine; rua=mailto:d@example.com; t=y|p=quarantine; rua=mailto:d@example.com"},
		{name: "everything", req: GenerateRequest{
			Policy: policy.Quarantine, Domain: domain, SubdomainPolicy: policy.None, NonexistentSubdomainPolicy: policy.Reject,
			DKIMAlignment: policy.Strict, SPFAlignment: policy.Strict, Testing: true, PSD: policy.NotPSD, Style: StyleDMARCbis,
			AggregateReports: []string{"mailto:d@example.com", "D@EXAMPLE.com", "x@mail.example.com"},
			FailureReports:   []string{"f@example.com"}, FailureOptions: []string{"1", "d", "s"},
		}, want: "p=quarantine; sp=none; np=reject; adkim=s; aspf=s; rua=mailto:d@example.com,mailto:x@mail.example.com; " +
			"ruf=mailto:f@example.com; fo=1:d:s; psd=n; t=y",
			codes: "subdomain.weaker enforced testing.legacy"},
		{name: "defaults are not written", req: GenerateRequest{
			Policy: policy.None, Domain: domain, DKIMAlignment: policy.Relaxed, SPFAlignment: policy.Relaxed,
			Percentage: new(100), PSD: policy.Undeclared, FailureOptions: []string{"0"}, AggregateReports: to,
		}, want: "p=none; rua=mailto:d@example.com"},

		{name: "old style", req: GenerateRequest{Policy: policy.Quarantine, Domain: domain, Style: StyleRFC7489,
			Percentage: new(50)}, want: "p=quarantine; pct=50", codes: "reports.missing percentage enforced",
			rollout: "p=none|p=quarantine; pct=10|p=quarantine; pct=50"},
		{name: "old style, in full", req: GenerateRequest{Policy: policy.Reject, Style: StyleRFC7489}, want: "p=reject",
			codes: "reports.missing enforced", rollout: "p=none|p=quarantine; pct=10|p=quarantine|p=reject"},
		{name: "old style, tested", req: GenerateRequest{Policy: policy.Quarantine, Style: StyleRFC7489, Percentage: new(0)},
			want: "p=quarantine; pct=0", codes: "reports.missing percentage enforced", rollout: "p=none|p=quarantine; pct=0"},
		{name: "size limit", req: GenerateRequest{Policy: policy.None, Domain: domain, Style: StyleRFC7489,
			AggregateReports: []string{"mailto:d@example.com!10m"}}, want: "p=none; rua=mailto:d@example.com!10m"},
		{name: "share of nothing", req: GenerateRequest{Policy: policy.None, Domain: domain, AggregateReports: to,
			Style:      StyleRFC7489,
			Percentage: new(20)}, want: "p=none; rua=mailto:d@example.com; pct=20", codes: "percentage.idle"},
		{name: "test of nothing", req: GenerateRequest{Policy: policy.None, Domain: domain, AggregateReports: to,
			Testing: true},
			want: "p=none; rua=mailto:d@example.com; t=y", codes: "testing.idle"},
		{name: "tested", req: GenerateRequest{Policy: policy.Quarantine, Testing: true}, want: "p=quarantine; t=y",
			codes: "reports.missing enforced testing.legacy", rollout: "p=none|p=quarantine; t=y"},
		{name: "tested reject", req: GenerateRequest{Policy: policy.Reject, Testing: true}, want: "p=reject; t=y",
			codes: "reports.missing enforced testing.legacy", rollout: "p=none|p=quarantine; t=y|p=quarantine|p=reject; t=y"},
		{name: "only subdomains", req: GenerateRequest{Policy: policy.None, SubdomainPolicy: policy.Reject},
			want:    "p=none; sp=reject",
			codes:   "reports.missing enforced",
			rollout: "p=none; sp=none|p=none; sp=quarantine; t=y|p=none; sp=quarantine|p=none; sp=reject"},

		{name: "subdomain", req: GenerateRequest{Policy: policy.None, Domain: diag.MustDomain("news.example.com"),
			SubdomainPolicy: policy.None, AggregateReports: to}, want: "p=none; sp=none; rua=mailto:d@example.com",
			codes: "subdomain.ignored"},
		{name: "weaker np", req: GenerateRequest{Policy: policy.None, SubdomainPolicy: policy.Quarantine, Domain: domain,
			NonexistentSubdomainPolicy: policy.None, AggregateReports: to},
			want: "p=none; sp=quarantine; np=none; rua=mailto:d@example.com", codes: "nonexistent.weaker enforced"},
		{name: "psd=y", req: GenerateRequest{Policy: policy.None, Domain: domain, AggregateReports: to, PSD: policy.IsPSD},
			want: "p=none; rua=mailto:d@example.com; psd=y", codes: "psd"},
		{name: "public suffix without psd=y", req: GenerateRequest{Policy: policy.None, Domain: diag.MustDomain("co.uk"),
			AggregateReports: []string{"d@co.uk"}}, want: "p=none; rua=mailto:d@co.uk", codes: "psd.missing"},
		{name: "psd=y of a public suffix", req: GenerateRequest{Policy: policy.None, Domain: diag.MustDomain("co.uk"),
			PSD:              policy.IsPSD,
			AggregateReports: []string{"d@nic.uk"}}, want: "p=none; rua=mailto:d@nic.uk; psd=y", codes: "external"},
		{name: "external", req: GenerateRequest{Policy: policy.None, Domain: domain,
			AggregateReports: []string{"a@reports.example.net", "b@reports.example.net", "c@example.org"}},
			want:  "p=none; rua=mailto:a@reports.example.net,mailto:b@reports.example.net,mailto:c@example.org",
			codes: "external external"},
		{name: "external, without a domain", req: GenerateRequest{Policy: policy.None, AggregateReports: to},
			want: "p=none; rua=mailto:d@example.com", codes: "external.unknown"},
		{name: "external, too long", req: GenerateRequest{Policy: policy.None, Domain: long, AggregateReports: []string{
			"d@" + strings.Repeat("b", 60) + ".example.net"}}, want: "p=none; rua=mailto:d@" + strings.Repeat("b", 60) +
			".example.net",
			codes: "external.long"},
		{name: "odd addresses", req: GenerateRequest{Policy: policy.None, Domain: domain, AggregateReports: []string{
			" a!b%c+d/e@Example.COM ", "MAILTO:f%21g@example.com", "h@bücher.example.com"}},
			want:  "p=none; rua=mailto:a%21b%25c+d%2Fe@example.com,mailto:f%21g@example.com,mailto:h@xn--bcher-kva.example.com",
			codes: ""},
		{name: "large", req: GenerateRequest{Policy: policy.None, Domain: domain, AggregateReports: []string{
			strings.Repeat("a", 64) + "@" + strings.Repeat("b", 63) + ".example.com",
			strings.Repeat("c", 64) + "@" + strings.Repeat("b", 63) + ".example.com",
			strings.Repeat("d", 64) + "@" + strings.Repeat("b", 63) + ".example.com"}}, codes: ""},
	}
	var seen diagtest.Seen
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := checkGenerated(t, tt.req)
			if tt.want != "" {
				require.Equal(t, "v=DMARC1; "+tt.want, r.Record)
			}
			g, err := newGeneration(tt.req)
			require.NoError(t, err)
			var codes []string
			for _, c := range seen.Add(generateRules.Judge(g, nil)) {
				codes = append(codes, strings.TrimPrefix(string(c), "dmarc.generate."))
			}
			require.Equal(t, tt.codes, strings.Join(codes, " "))
			var steps []string
			for _, s := range r.Rollout {
				steps = append(steps, strings.TrimPrefix(s.Record, "v=DMARC1; "))
			}
			if tt.rollout != "" {
				require.Equal(t, tt.rollout, strings.Join(steps, "|"))
			}
		})
	}
	require.NoError(t, generateRules.Check())
	diagtest.CoverRules(t, generateRules, seen)
}

// checkGenerated holds a report to what every one of them promises.
func checkGenerated(t *testing.T, req GenerateRequest) *GenerateReport {
	r, err := Generate(req)
	require.NoError(t, err)
	require.True(t, r.Analysis.Valid, r.Record)
	require.Empty(t, r.Analysis.Errors, r.Record)
	require.Equal(t, r.Record, r.Value)
	require.Equal(t, r.Record, r.Analysis.Record)

	rr, err := dns.NewRR(r.ZoneLine)
	require.NoError(t, err, r.ZoneLine)
	require.Equal(t, r.Record, dnsmsg.TXT(rr.(*dns.TXT)))
	require.Equal(t, dns.CanonicalName(r.Name), rr.Header().Name)
	for _, s := range dnsmsg.TXTStrings(rr.(*dns.TXT)) {
		require.LessOrEqual(t, len(s), dnsmsg.MaxTXTString)
	}

	last := policy.Policies{Domain: policy.None}
	for i, s := range r.Rollout {
		analysis, err := Validate(ValidateRequest{Record: s.Record, Domain: req.Domain})
		require.NoError(t, err)
		require.True(t, analysis.Valid, s.Record)
		record := policy.Parse(s.Record)
		now := record.Reading(policy.RFC9989).Applied
		require.LessOrEqual(t, now.Domain.Level(), last.Domain.Level()+1, "step %d of %+v", i, r.Rollout)
		require.Equal(t, i == len(r.Rollout)-1, s.DurationDays == 0)
		require.Equal(t, i == len(r.Rollout)-1, s.Record == r.Record, "step %d of %+v", i, r.Rollout)
		require.Len(t, record.AggregateURIs, len(r.Analysis.AggregateURIs))
		last = now
	}
	for _, a := range r.ExternalAuthorizations {
		require.True(t, policy.Format.Is(a.Value))
		require.LessOrEqual(t, len(a.Name), maxName)
	}
	return r
}

func TestGenerateInput(t *testing.T) {
	tests := []struct {
		name, field, says string
		req               GenerateRequest
	}{
		{"no policy", "policy", "is missing", GenerateRequest{}},
		{"unknown policy", "policy", "none, quarantine, reject", GenerateRequest{Policy: "rejct"}},
		{"unknown style", "style", "dmarcbis", GenerateRequest{Policy: policy.None, Style: "x"}},
		{"unknown psd", "psd", "y, n, u", GenerateRequest{Policy: policy.None, PSD: "x"}},
		{"percentage of RFC 9989", "percentage", "testing", GenerateRequest{Policy: policy.Reject, Percentage: new(50)}},
		{"percentage out of bounds", "percentage", "100", GenerateRequest{Policy: policy.Reject, Percentage: new(101),
			Style: StyleRFC7489}},
		{"testing of RFC 7489", "testing", "percentage", GenerateRequest{Policy: policy.Reject, Testing: true,
			Style: StyleRFC7489}},
		{"np of RFC 7489", "nonexistent_subdomain_policy", "dmarcbis", GenerateRequest{Policy: policy.Reject,
			Style:                      StyleRFC7489,
			NonexistentSubdomainPolicy: policy.Reject}},
		{"psd of RFC 7489", "psd", "dmarcbis", GenerateRequest{Policy: policy.Reject, Style: StyleRFC7489,
			PSD: policy.NotPSD}},
		{"unknown option", "failure_options", "0, 1, d or s", GenerateRequest{Policy: policy.None,
			FailureOptions: []string{"x"}}},
		{"option twice", "failure_options", "once", GenerateRequest{Policy: policy.None, FailureOptions: []string{"d", "d"}}},
		{"options that exclude each other", "failure_options", "both", GenerateRequest{Policy: policy.None,
			FailureOptions: []string{"0", "1"}}},
		{"options without an address", "failure_options", "failure_reports", GenerateRequest{Policy: policy.None,
			FailureOptions: []string{"1"}}},
		{"too many", "aggregate_reports", "10", GenerateRequest{Policy: policy.None, AggregateReports: make([]string, 11)}},
		{"too long together", "aggregate_reports", "too long", GenerateRequest{Policy: policy.None,
			AggregateReports: lengthy("a"),
			FailureReports:   lengthy("b")}},
	}
	for address, says := range map[string]string{
		"": "is empty", "example.com": "mail address", "@example.com": "mail address", "a@": "domain", "a@b@c d": "domain",
		"a b@example.com": "character", "a,b@example.com": "character", "ä@example.com": "character",
		"<a@example.com>":       "domain",
		"https://example.com/x": "mail address", "mailto:a": "has no address",
		"mailto:a@example.com,mailto:b@example.com": "%2C",
		"mailto:a;b@example.com":                    "%3B", "mailto://a@example.com": "slashes",
		"mailto:a@example.com!10m": "mailto:a@example.com",
		"mailto:a!b@example.com":   "%21", strings.Repeat("a", 65) + "@example.com": "64",
	} {
		tests = append(tests, struct {
			name, field, says string
			req               GenerateRequest
		}{"address " + address, "failure_reports[1]", says, GenerateRequest{Policy: policy.None,
			FailureReports: []string{"ok@example.com", address}}})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Generate(tt.req)
			var input *diag.InputError
			require.ErrorAs(t, err, &input)
			require.Equal(t, tt.field, input.Field)
			require.Contains(t, input.Reason, tt.says)
		})
	}
}

// lengthy returns addresses of maximum length.
func lengthy(letter string) (list []string) {
	domain := strings.Repeat(strings.Repeat(letter, 62)+".", 3) + strings.Repeat(letter, 50) + ".com"
	for i := range 10 {
		list = append(list, fmt.Sprintf("%s%d@%s", strings.Repeat("=", 63), i, domain))
	}
	return list
}

func FuzzGenerateAddress(f *testing.F) {
	for _, seed := range []string{"a@example.com", "mailto:a@example.com!10m", "a!,;%b@example.com", "mailto:a%2",
		"ä@ö.example", "\"x y\"@z"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		req := GenerateRequest{Policy: policy.None, Domain: diag.MustDomain("example.com"),
			AggregateReports: []string{address}}
		if _, err := Generate(req); err != nil {
			require.ErrorAs(t, err, new(*diag.InputError))
			return
		}
		require.Len(t, checkGenerated(t, req).Analysis.AggregateURIs, 1)
	})
}
