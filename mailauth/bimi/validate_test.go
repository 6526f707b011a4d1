package bimi

import (
	"errors"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

const (
	logoURL = "https://brand.example.com/logo.svg"
	markURL = "https://brand.example.com/mark.pem"
	full    = "v=BIMI1; l=" + logoURL + "; a=" + markURL
	alone   = "v=BIMI1; l=" + logoURL + "; a=;"
)

// outcome is a verdict in a line: state, score, and the codes of the findings without their first word.
func outcome(v diag.Verdict) string {
	words := []string{string(v.State), diagtest.Score(v)}
	for _, code := range diagtest.Codes(v) {
		words = append(words, strings.TrimPrefix(string(code), "bimi."))
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
	{"logo and certificate", full,
		"valid 100", ""},
	{"semicolon at the end", full + ";",
		"valid 100", ""},
	{"without certificate", alone,
		"warning 89 certificate.missing", ""},
	{"without a", "v=BIMI1; l=" + logoURL,
		"warning 89 certificate.missing", ""},
	{"order", "v=BIMI1; avp=brand; a=" + markURL + "; l=" + logoURL,
		"valid 100", ""},
	{"declined", "v=BIMI1; l=; a=;",
		"valid 100 record.declined", ""},
	{"declined without a", "v=BIMI1; l=;",
		"valid 100 record.declined", ""},
	{"declined but for some", "v=BIMI1; l=; a=; lps=brand-",
		"valid 100 record.declined", ""},
	{"prefixes", full + "; lps=news,info-",
		"valid 100", ""},
	{"all local parts", full + "; lps=",
		"valid 100", ""},
	{"avatar", full + "; avp=personal",
		"valid 100", ""},
	{"in quotes", `"v=BIMI1; l=` + logoURL + `; " "a=` + markURL + `"`,
		"valid 100", ""},
	{"line of a zone file", `default._bimi.example.com. 3600 IN TXT "` + full + `"`,
		"valid 100 record.line", ""},

	{"version last", "l=" + logoURL + "; v=BIMI1; a=;",
		"invalid 0 record.version", "v=BIMI1; l=" + logoURL + "; a=;"},
	{"lower-case version", strings.Replace(full, "BIMI1", "bimi1", 1),
		"invalid 0 record.version", full + ";"},
	{"no v=", "BIMI1; l=" + logoURL + "; a=" + markURL,
		"invalid 0 record.version", full + ";"},
	{"no version", "l=" + logoURL + "; a=" + markURL,
		"invalid 0 record.version", full + ";"},
	{"version 2", strings.Replace(full, "BIMI1", "BIMI2", 1),
		"invalid 0 record.version", full + ";"},
	{"version without number", strings.Replace(full, "BIMI1", "BIMI", 1),
		"invalid 0 record.version", full + ";"},
	{"white space in front", " " + full,
		"invalid 0 record.version", full + ";"},
	{"quotation marks", "“" + full + "”",
		"invalid 0 record.version", full + ";"},
	{"invisible character", "\u200b" + full,
		"invalid 0 record.version", full + ";"},
	{"no first semicolon", strings.Replace(full, ";", "", 1),
		"invalid 0 record.version", full + ";"},
	{"no semicolons", strings.ReplaceAll(full, ";", ""),
		"invalid 0 record.version", full + ";"},
	{"commas", strings.ReplaceAll(full, ";", ","),
		"invalid 0 record.version", full + ";"},
	{"HTML", strings.ReplaceAll(full, ";", "&#59;"),
		"invalid 0 record.version", full + ";"},
	{"version misspelled", strings.Replace(full, "BIMI1", "BMI1", 1),
		"invalid 0 record.version", full + ";"},
	{"version of a font", strings.Replace(full, "BIMI1", "BIMl1", 1),
		"invalid 0 record.version", full + ";"},
	{"DMARC", "v=DMARC1; p=none",
		"invalid 0 record.version", ""},
	{"nonsense", "x",
		"invalid 0 record.version", ""},
	{"lower-case declination", "v=bimi1; l=; a=;",
		"invalid 0 record.version", "v=BIMI1; l=; a=;"},

	{"no second semicolon", "v=BIMI1; l=" + logoURL + " a=" + markURL,
		"invalid 69 record.syntax", full + ";"},
	{"comma between tags", "v=BIMI1; l=" + logoURL + ", a=" + markURL,
		"invalid 69 record.syntax", full + ";"},
	{"two semicolons", "v=BIMI1;; l=" + logoURL + "; a=" + markURL,
		"invalid 69 record.syntax", full + ";"},
	{"colons", "v=BIMI1; l: " + logoURL + "; a: " + markURL,
		"invalid 69 record.syntax record.syntax", full + ";"},
	{"white space in the version", "v = BIMI1; l=" + logoURL + "; a=" + markURL,
		"warning 89 record.blank", full + ";"},
	{"white space before the semicolon", "v=BIMI1 ; l=" + logoURL + "; a=" + markURL,
		"warning 89 record.blank", full + ";"},
	{"upper case", "V=BIMI1; L=" + logoURL + "; A=" + markURL,
		"invalid 69 record.case record.case record.case", full + ";"},
	{"l twice, the same", full + "; l=" + logoURL,
		"invalid 69 record.repeated", full + ";"},
	{"l twice, another", full + "; l=https://b.example.com/logo.svg",
		"invalid 69 record.repeated", ""},
	{"upper case of a", "v=BIMI1; l=" + logoURL + "; A=" + markURL,
		"invalid 69 record.case", full + ";"},
	{"l twice, the first empty", "v=BIMI1; l=; a=; l=" + logoURL,
		"invalid 69 record.repeated certificate.missing", ""},
	{"unknown tag", full + "; x=y",
		"valid 100", ""},
	{"avp of an older draft", full + "; s=personal",
		"valid 100", ""},
	{"avp misspelled", full + "; apv=personal",
		"valid 100", ""},
	{"words for names", "v=BIMI1; location=" + logoURL + "; vmc=" + markURL,
		"invalid 64 location.missing certificate.missing", full + ";"},
	{"joined", `"v=BIMI1; l=` + logoURL + `" "a=` + markURL + `"`,
		"invalid 69 record.joined", full + ";"},
	{"long string", `"v=BIMI1; " "l=` + logoURL + `?` + strings.Repeat("x", 255) + `"`,
		"invalid 69 record.string.long certificate.missing", ""},

	{"no l", "v=BIMI1; a=" + markURL,
		"invalid 69 location.missing", ""},
	{"version alone", "v=BIMI1",
		"invalid 64 location.missing certificate.missing", ""},
	{"empty l", "v=BIMI1; l=; a=" + markURL,
		"invalid 69 location.missing", ""},
	{"http", "v=BIMI1; l=http://brand.example.com/logo.svg; a=" + markURL,
		"invalid 69 location.http", ""},
	{"http certificate", "v=BIMI1; l=" + logoURL + "; a=http://brand.example.com/mark.pem",
		"invalid 69 authority.http", ""},
	{"PNG", "v=BIMI1; l=https://brand.example.com/logo.png; a=" + markURL,
		"invalid 69 location.format", ""},
	{"exchanged", "v=BIMI1; l=" + markURL + "; a=" + logoURL,
		"invalid 69 location.format authority.invalid", ""},
	{"no scheme", "v=BIMI1; l=brand.example.com/logo.svg; a=" + markURL,
		"invalid 69 location.invalid", ""},
	{"one slash", "v=BIMI1; l=https:/brand.example.com/logo.svg; a=" + markURL,
		"invalid 69 location.invalid", full + ";"},
	{"no colon", "v=BIMI1; l=https//brand.example.com/logo.svg; a=" + markURL,
		"invalid 69 location.invalid", full + ";"},
	{"scheme twice", "v=BIMI1; l=https://" + logoURL + "; a=" + markURL,
		"invalid 69 location.invalid", full + ";"},
	{"two schemes", "v=BIMI1; l=https://http://brand.example.com/logo.svg; a=" + markURL,
		"invalid 69 location.invalid", ""},
	{"host that begins like a scheme", "v=BIMI1; l=https://https.example.com/logo.svg; a=" + markURL,
		"valid 100", ""},
	{"digit for l", "v=BIMI1; 1=" + logoURL + "; a=" + markURL,
		"invalid 69 record.syntax", full + ";"},
	{"capital for l", "v=BIMI1; I=" + logoURL + "; a=" + markURL,
		"invalid 69 location.missing", full + ";"},
	{"url for l", "v=BIMI1; url=" + logoURL + "; a=" + markURL,
		"invalid 69 location.missing", full + ";"},
	{"beyond ASCII", "v=BIMI1; l=https://br\u00e4nd.example.com/logo.svg; a=" + markURL,
		"invalid 69 location.invalid", ""},
	{"control character", "v=BIMI1; l=" + logoURL + "\x00; a=" + markURL,
		"invalid 69 location.invalid", full + ";"},
	{"quotation marks of a word processor", "v=BIMI1; l=“" + logoURL + "”; a=" + markURL,
		"invalid 69 location.invalid", full + ";"},
	{"angle brackets", "v=BIMI1; l=<" + logoURL + ">; a=<" + markURL + ">",
		"invalid 69 location.invalid authority.invalid", full + ";"},
	{"several", "v=BIMI1; l=" + logoURL + ",https://b.example.com/logo.svg; a=" + markURL,
		"invalid 69 location.invalid", ""},
	{"comma", "v=BIMI1; l=https://brand.example.com/a,b.svg; a=" + markURL,
		"invalid 69 location.invalid", "v=BIMI1; l=https://brand.example.com/a%2Cb.svg; a=" + markURL + ";"},
	{"address", "v=BIMI1; l=https://192.0.2.1/logo.svg; a=" + markURL,
		"invalid 69 location.invalid", ""},
	{"self", "v=BIMI1; l=" + logoURL + "; a=self",
		"invalid 69 authority.invalid", alone},
	{"no certificate in words", "v=BIMI1; l=" + logoURL + "; a=none",
		"invalid 69 authority.invalid", alone},
	{"nothing in words", "v=BIMI1; l=none; a=none",
		"invalid 69 location.invalid authority.invalid", ""},
	{"quotation marks in it", `v=BIMI1; l="` + logoURL + `"; a="` + markURL + `"`,
		"invalid 69 location.invalid authority.invalid", full + ";"},
	{"line of a zone file without quotes", "default._bimi.example.com. 3600 IN TXT " + full,
		"invalid 0 record.version", full + ";"},
	{"other avatar", full + "; avp=logo",
		"warning 89 avp.invalid", full + ";"},
	{"letter case of the avatar", full + "; avp=Personal",
		"warning 89 avp.invalid", full + "; avp=personal;"},
	{"prefix with a dot", full + "; lps=no.reply,news",
		"warning 89 lps.invalid", full + "; lps=no-reply,news;"},
	{"empty prefix", full + "; lps=news,",
		"warning 89 lps.invalid", full + "; lps=news;"},
	{"no prefix but a comma", full + "; lps=,",
		"warning 89 lps.invalid lps.invalid", ""},
	{"prefix that cannot be", full + "; lps=info@example.com",
		"warning 89 lps.invalid", ""},
}

// seen collects the verdicts of all tests for the coverage of rules.
func TestValidate(t *testing.T) {
	for _, tt := range records {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Validate(ValidateRequest{Record: tt.record})
			require.NoError(t, err)
			require.Equal(t, tt.outcome, outcome(r.Verdict), "%+v", r.Findings)
			require.Equal(t, tt.suggested, suggested(r.Verdict))
			require.Equal(t, r.Valid, r.State == diag.Valid || r.State == diag.Warned)
			checkCorrection(t, suggested(r.Verdict), tt.record)
		})
	}
}

func TestValidateReport(t *testing.T) {
	r, err := Validate(ValidateRequest{Record: full + "; avp=personal; lps=news"})
	require.NoError(t, err)
	require.Equal(t, "BIMI1", r.Version)
	require.Equal(t, logoURL, r.LogoURL)
	require.Equal(t, markURL, r.CertificateURL)
	require.EqualValues(t, "personal", r.AvatarPreference)
	require.Equal(t, []string{"news"}, *r.LocalPartSelectors)
	require.Len(t, r.ParsedTags, 5)
	require.False(t, r.Declined)
	r, err = Validate(ValidateRequest{Record: "v=BIMI1; l=; a=;"})
	require.NoError(t, err)
	require.True(t, r.Declined)
	require.True(t, r.Valid)
	require.Nil(t, r.LocalPartSelectors)
}

func TestValidateRefuses(t *testing.T) {
	for _, text := range []string{"", " \n", strings.Repeat("x", maxRecordLength+1)} {
		_, err := Validate(ValidateRequest{Record: text})
		_, ok := errors.AsType[*diag.InputError](err)
		require.True(t, ok, "%v", err)
	}
}
