package dmarc

import (
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

const rua = "; rua=mailto:dmarc@example.com"

// outcome is a verdict in a line: state, score, and the codes of the findings without their first word.
func outcome(v diag.Verdict) string {
	words := []string{string(v.State), diagtest.Score(v)}
	for _, code := range diagtest.Codes(v) {
		words = append(words, strings.TrimPrefix(string(code), "dmarc."))
	}
	return strings.Join(words, " ")
}

// suggested returns the first suggestion of the recommendations.
func suggested(v diag.Verdict) string {
	for _, r := range v.Recommendations {
		if r.SuggestedValue != "" {
			return r.SuggestedValue
		}
	}
	return ""
}

var records = []struct{ name, record, outcome, suggested string }{
	{"reject", "v=DMARC1; p=reject" + rua,
		"valid 100", ""},
	{"quarantine", "v=DMARC1; p=quarantine" + rua,
		"valid 87 policy.reject", ""},
	{"none", "v=DMARC1; p=none" + rua,
		"warning 59 policy.none", ""},
	{"what no receiver applies yet", "v=DMARC1; p=quarantine; rua=mailto:dmarc@example.com; pct=0; t=y",
		"warning 81 policy.testing policy.reject", ""},
	{"none with sp", "v=DMARC1; p=none; sp=reject" + rua,
		"warning 59 policy.none", ""},
	{"none without reports", "v=DMARC1; p=none",
		"warning 43 policy.none rua.missing", ""},
	{"reject without reports", "v=DMARC1; p=reject",
		"warning 89 rua.missing", ""},
	{"semicolon at the end", "v=DMARC1; p=reject; rua=mailto:dmarc@example.com;",
		"valid 100", ""},
	{"white space", "v = DMARC1 ; p = reject ; rua = mailto:dmarc@example.com",
		"valid 100", ""},
	{"letter case of names and values", "V=DMARC1; P=Reject; RUA=MAILTO:dmarc@example.com",
		"valid 100", ""},
	{"HTML", "v=DMARC1&#59; p=none&#59; rua=mailto:dmarc@example.com",
		"invalid 0 record.version", "v=DMARC1; p=none; rua=mailto:dmarc@example.com"},
	{"address in angle brackets", "v=DMARC1; p=reject; rua=mailto:<dmarc@example.com>",
		"invalid 69 uri.invalid", "v=DMARC1; p=reject; rua=mailto:dmarc@example.com"},
	{"empty rua", "v=DMARC1; p=reject; rua=",
		"invalid 69 uri.invalid", "v=DMARC1; p=reject"},
	{"lower-case version", "v=dmarc1; p=none" + rua,
		"invalid 0 record.version", "v=DMARC1; p=none; rua=mailto:dmarc@example.com"},
	{"lower-case version, reject", "v=dmarc1; p=reject" + rua,
		"invalid 0 record.version", "v=DMARC1; p=none; rua=mailto:dmarc@example.com"},
	{"no v=", "DMARC1; p=none" + rua,
		"invalid 0 record.version", "v=DMARC1; p=none; rua=mailto:dmarc@example.com"},
	{"leading blank", " v=DMARC1; p=none" + rua,
		"invalid 0 record.version", "v=DMARC1; p=none; rua=mailto:dmarc@example.com"},
	{"quotes in it", "“v=DMARC1; p=none; rua=mailto:dmarc@example.com”",
		"invalid 0 record.version", "v=DMARC1; p=none; rua=mailto:dmarc@example.com"},
	{"invisible character", "\u200bv=DMARC1; p=none" + rua,
		"invalid 0 record.version", "v=DMARC1; p=none; rua=mailto:dmarc@example.com"},
	{"no first semicolon", "v=DMARC1 p=reject" + rua,
		"invalid 0 record.version", "v=DMARC1; p=none; rua=mailto:dmarc@example.com"},
	{"commas", "v=DMARC1, p=none, rua=mailto:a@example.com",
		"invalid 0 record.version", "v=DMARC1; p=none; rua=mailto:a@example.com"},
	{"colons", "v=DMARC1; p: none; rua: mailto:a@example.com",
		"invalid 39 record.void record.syntax record.syntax", "v=DMARC1; p=none; rua=mailto:a@example.com"},
	{"version last", "p=none; rua=mailto:a@example.com; v=DMARC1",
		"invalid 0 record.version", "v=DMARC1; p=none; rua=mailto:a@example.com"},
	{"version 2", "v=DMARC2; p=none" + rua,
		"invalid 0 record.version", "v=DMARC1; p=none; rua=mailto:dmarc@example.com"},
	{"SPF", "v=spf1 mx -all",
		"invalid 0 record.version", ""},
	{"anything", "hello",
		"invalid 0 record.version", ""},
	{"zone file line", "_dmarc.example.com. 3600 IN TXT \"v=DMARC1; p=none; rua=mailto:dmarc@example.com\"",
		"warning 59 policy.none record.line", ""},
	{"escaped semicolons", "v=DMARC1\\; p=none\\; rua=mailto:dmarc@example.com",
		"invalid 0 record.version", "v=DMARC1; p=none; rua=mailto:dmarc@example.com"},
	{"zone file", "\"v=DMARC1; p=rej\" \"ect; rua=mailto:dmarc@example.com\"",
		"valid 100", ""},
	{"joined strings", "\"v=DMARC1; p=none; rua=mailto:a@example.com\" \"ruf=mailto:b@example.com\"",
		"invalid 56 record.joined uri.invalid policy.none", "v=DMARC1; p=none; rua=mailto:a@example.com; " +
			"ruf=mailto:b@example.com"},
	{"long string", "\"v=DMARC1; \" \"p=reject; rua=mailto:a@" + strings.Repeat("a.", 100) + "example.com,mailto:b@" + strings.Repeat("b.", 30) + "example.com\"",
		"invalid 69 record.string", ""},
	{"in quotes", "\"v=DMARC1; p=reject; rua=mailto:dmarc@example.com\"",
		"invalid 0 record.version", "v=DMARC1; p=none; rua=mailto:dmarc@example.com"},
	{"nothing but the version", "v=DMARC1",
		"invalid 39 record.void", "v=DMARC1; p=none"},
	{"no p", "v=DMARC1" + rua,
		"warning 59 policy.none policy.missing", "v=DMARC1; p=none; rua=mailto:dmarc@example.com"},
	{"typo in p", "v=DMARC1; p=rejct" + rua,
		"invalid 56 policy.value policy.none", "v=DMARC1; p=none; rua=mailto:dmarc@example.com"},
	{"typo in p, no rua", "v=DMARC1; p=rejct",
		"invalid 39 record.void policy.value", "v=DMARC1; p=none"},
	{"typo in sp", "v=DMARC1; p=reject; sp=non" + rua,
		"invalid 56 policy.value policy.none", "v=DMARC1; p=none; rua=mailto:dmarc@example.com"},
	{"p last", "v=DMARC1; rua=mailto:a@example.com; p=reject",
		"warning 89 policy.position standards.differ", "v=DMARC1; p=reject; rua=mailto:a@example.com"},
	{"p twice", "v=DMARC1; p=none; p=reject" + rua,
		"invalid 39 record.repeated", "v=DMARC1; p=none; rua=mailto:dmarc@example.com"},
	{"rua twice", "v=DMARC1; p=reject; rua=mailto:a@example.com; rua=mailto:b@example.com",
		"invalid 39 record.repeated", "v=DMARC1; p=reject; rua=mailto:a@example.com,mailto:b@example.com"},
	{"no semicolon between tags", "v=DMARC1; p=none rua=mailto:a@example.com; adkim=r",
		"invalid 39 record.void record.syntax policy.value", "v=DMARC1; p=none; rua=mailto:a@example.com; adkim=r"},
	{"two semicolons", "v=DMARC1; p=reject;; rua=mailto:a@example.com",
		"warning 89 record.semicolon", "v=DMARC1; p=reject; rua=mailto:a@example.com"},
	{"word without a value", "v=DMARC1; p=none; rua; ruf=mailto:a@example.com",
		"invalid 40 record.syntax policy.none rua.missing", "v=DMARC1; p=none; ruf=mailto:a@example.com"},
	{"unknown tag", "v=DMARC1; p=reject; foo=bar" + rua,
		"warning 89 tag.unknown", ""},
	{"misspelt tag", "v=DMARC1; p=none; rau=mailto:a@example.com",
		"warning 43 policy.none tag.unknown rua.missing", "v=DMARC1; p=none; rua=mailto:a@example.com"},
	{"adkim in words", "v=DMARC1; p=reject; adkim=strict" + rua,
		"invalid 69 alignment.value", "v=DMARC1; p=reject; rua=mailto:dmarc@example.com"},
	{"strict", "v=DMARC1; p=reject; adkim=s; aspf=s" + rua,
		"valid 100", ""},
	{"t in words", "v=DMARC1; p=reject; t=yes" + rua,
		"invalid 69 flag.value", "v=DMARC1; p=reject; rua=mailto:dmarc@example.com"},
	{"psd in words", "v=DMARC1; p=reject; psd=no" + rua,
		"invalid 69 flag.value", "v=DMARC1; p=reject; rua=mailto:dmarc@example.com"},
	{"testing", "v=DMARC1; p=reject; t=y" + rua,
		"warning 89 policy.testing standards.differ", ""},
	{"testing none", "v=DMARC1; p=none; t=y" + rua,
		"warning 52 policy.none policy.testing", ""},
	{"pct=50", "v=DMARC1; p=quarantine; pct=50" + rua,
		"warning 85 policy.sampled policy.reject standards.differ", ""},
	{"pct=0", "v=DMARC1; p=reject; pct=0" + rua,
		"warning 89 policy.sampled standards.differ", ""},
	{"pct=100, ri and rf", "v=DMARC1; p=reject; pct=100; ri=86400; rf=afrf" + rua,
		"valid 100 tag.removed", "v=DMARC1; p=reject; rua=mailto:dmarc@example.com"},
	{"pct over 100", "v=DMARC1; p=reject; pct=150" + rua,
		"warning 89 tag.removed.value", "v=DMARC1; p=reject; rua=mailto:dmarc@example.com"},
	{"fo=0:1", "v=DMARC1; p=reject; fo=0:1:d; ruf=mailto:f@example.com" + rua,
		"warning 89 fo.contradiction", "v=DMARC1; p=reject; fo=1:d; ruf=mailto:f@example.com; rua=mailto:dmarc@example.com"},
	{"fo=7", "v=DMARC1; p=reject; fo=7; ruf=mailto:f@example.com" + rua,
		"warning 89 fo.value", "v=DMARC1; p=reject; ruf=mailto:f@example.com; rua=mailto:dmarc@example.com"},
	{"fo without ruf", "v=DMARC1; p=reject; fo=1" + rua,
		"valid 100", ""},
	{"sp weaker", "v=DMARC1; p=reject; sp=none" + rua,
		"warning 89 subdomain.weaker", ""},
	{"sp quarantine", "v=DMARC1; p=reject; sp=quarantine" + rua,
		"warning 89 subdomain.weaker", ""},
	{"np weaker", "v=DMARC1; p=reject; np=none" + rua,
		"warning 89 subdomain.nonexistent.weaker", ""},
	{"np stricter", "v=DMARC1; p=quarantine; sp=none; np=reject" + rua,
		"warning 77 subdomain.weaker policy.reject", ""},
	{"blank between addresses", "v=DMARC1; p=reject; rua=mailto:a@example.com mailto:b@example.com",
		"invalid 69 uri.invalid", "v=DMARC1; p=reject; rua=mailto:a@example.com,mailto:b@example.com"},
	{"semicolon between addresses", "v=DMARC1; p=reject; rua=mailto:a@example.com;mailto:b@example.com",
		"invalid 69 record.syntax", "v=DMARC1; p=reject; rua=mailto:a@example.com,mailto:b@example.com"},
	{"nothing between addresses", "v=DMARC1; p=reject; rua=mailto:a@example.commailto:b@example.com",
		"invalid 69 uri.invalid", "v=DMARC1; p=reject; rua=mailto:a@example.com,mailto:b@example.com"},
	{"bare address", "v=DMARC1; p=reject; rua=a@example.com",
		"invalid 69 uri.invalid", "v=DMARC1; p=reject; rua=mailto:a@example.com"},
	{"slashes", "v=DMARC1; p=reject; rua=mailto://a@example.com",
		"invalid 69 uri.invalid", "v=DMARC1; p=reject; rua=mailto:a@example.com"},
	{"brackets", "v=DMARC1; p=reject; rua=<mailto:a@example.com>",
		"invalid 69 uri.invalid", "v=DMARC1; p=reject; rua=mailto:a@example.com"},
	{"blank after mailto:", "v=DMARC1; p=reject; rua=mailto: a@example.com",
		"invalid 69 uri.invalid", "v=DMARC1; p=reject; rua=mailto:a@example.com"},
	{"umlaut domain", "v=DMARC1; p=reject; rua=mailto:a@müller.example",
		"invalid 69 record.syntax uri.invalid", "v=DMARC1; p=reject; rua=mailto:a@xn--mller-kva.example"},
	{"exclamation mark", "v=DMARC1; p=reject; rua=mailto:a!b@example.com",
		"invalid 69 uri.invalid", "v=DMARC1; p=reject; rua=mailto:a%21b@example.com"},
	{"size limit", "v=DMARC1; p=reject; rua=mailto:a@example.com!10m",
		"valid 100", ""},
	{"comma at the end", "v=DMARC1; p=reject; rua=mailto:a@example.com,",
		"warning 89 uri.empty", "v=DMARC1; p=reject; rua=mailto:a@example.com"},
	{"not an address", "v=DMARC1; p=reject; rua=mailto:dmarc",
		"invalid 69 uri.invalid", ""},
	{"https", "v=DMARC1; p=reject; rua=https://example.com/dmarc",
		"warning 89 uri.scheme", ""},
	{"mailto twice", "v=DMARC1; p=reject; rua=mailto:mailto:d@example.com",
		"invalid 69 uri.invalid", "v=DMARC1; p=reject; rua=mailto:d@example.com"},
	{"no local part", "v=DMARC1; p=reject; rua=mailto:@example.com",
		"invalid 69 uri.invalid", ""},
	{"final dot of the domain", "v=DMARC1; p=reject; rua=mailto:d@example.com.",
		"invalid 69 uri.invalid", "v=DMARC1; p=reject; rua=mailto:d@example.com"},
	{"dot at the end of the local part", "v=DMARC1; p=reject; rua=mailto:d.@example.com",
		"invalid 69 uri.invalid", ""},
	{"two dots in the local part", "v=DMARC1; p=reject; rua=mailto:d..e@example.com",
		"invalid 69 uri.invalid", ""},
	{"letter lost", "v=DMARC1; p=reject; rua=malto:d@example.com",
		"invalid 69 uri.invalid", "v=DMARC1; p=reject; rua=mailto:d@example.com"},
	{"another letter lost", "v=DMARC1; p=reject; rua=mailo:d@example.com, mailto:e@example.com",
		"invalid 69 uri.invalid", "v=DMARC1; p=reject; rua=mailto:d@example.com,mailto:e@example.com"},
	{"email for mailto", "v=DMARC1; p=reject; rua=email:d@example.com",
		"invalid 69 uri.invalid", "v=DMARC1; p=reject; rua=mailto:d@example.com"},
	{"semicolon behind mailto", "v=DMARC1; p=reject; rua=mailto;d@example.com",
		"invalid 69 record.syntax uri.invalid", "v=DMARC1; p=reject; rua=mailto:d@example.com"},
	{"none for an address", "v=DMARC1; p=reject; rua=none; ruf=none",
		"invalid 69 uri.invalid uri.invalid", "v=DMARC1; p=reject"},
	{"plus sign and dots", "v=DMARC1; p=reject; rua=mailto:dmarc+rua@example.com,mailto:d.m.arc@example.com",
		"valid 100", ""},
	{"quoted local part", "v=DMARC1; p=reject; rua=mailto:%22a%20b%22@example.com",
		"valid 100", ""},
	{"three addresses", "v=DMARC1; p=reject; rua=mailto:a@example.com,mailto:b@example.com,mailto:c@example.com",
		"valid 100", ""},
}

// validateVerdicts judges texts without a domain.
func validateVerdicts(t *testing.T) []diag.Verdict {
	var seen diagtest.Seen
	for _, tt := range records {
		t.Run(tt.name, func(t *testing.T) {
			a, err := Validate(ValidateRequest{Record: tt.record})
			require.NoError(t, err)
			seen.Add(a.Verdict)
			require.Equal(t, tt.outcome, outcome(a.Verdict), "%+v", a.Findings)
			require.Equal(t, tt.suggested, suggested(a.Verdict))
			require.Equal(t, a.State == diag.Valid || a.State == diag.Warned, a.Valid)
		})
	}
	for _, uri := range []string{"mailto:d@reports.example.net", "mailto:d@mail.example.com"} {
		a, err := Validate(ValidateRequest{Record: "v=DMARC1; p=reject; rua=" + uri, Domain: diag.MustDomain("example.com")})
		require.NoError(t, err)
		told := slices.Contains(seen.Add(a.Verdict), "dmarc.uri.external")
		require.Equal(t, *a.AggregateURIs[0].External, told)
	}
	return seen
}
