package bimi

import (
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/mailauth/bimi/record"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// draws generates records with all the usual mistakes.
var draws = rapid.Custom(func(t *rapid.T) string {
	pick := func(what string, of ...string) string { return rapid.SampledFrom(of).Draw(t, what) }
	text := pick("version", "v=BIMI1", "v=BIMI1", "v=BIMI1", "v = BIMI1", "V=BIMI1", "v=bimi1", "BIMI1", " v=BIMI1", "v=BIMI2",
		"“v=BIMI1", "")
	for range rapid.IntRange(0, 4).Draw(t, "tags") {
		text += pick("separator", "; ", "; ", "; ", ";", " ", ", ", ";; ", " ; ")
		text += pick("name", "l", "l", "a", "a", "L", "avp", "lps", "location", "vmc", "apv", "s", "x", "v", "") +
			pick("equals", "=", "=", " = ", ":", "")
		text += pick("value", logoURL, markURL, "https://b.example.com/other.svgz", "http://brand.example.com/logo.svg", "",
			"self", "brand", "Personal", "news,no.reply", "https:/one.example.com/a.svg", "<"+logoURL+">", "a,,b",
			logoURL+","+logoURL, "https://brand.example.com/a,b.svg", "https://192.0.2.1/a.svg", "https://brand.example.com/x?l=1")
	}
	return text + pick("end", "", ";", " ", "”")
})

// checkCorrection fails unless a correction is a record (CONTRACT 1.8) without an error that keeps every URI and
// prefix that receivers can use, declines only if the original did, and needs no correction itself.
func checkCorrection(t require.TestingT, suggested string, before ...string) {
	if suggested == "" {
		return
	}
	r, err := Validate(ValidateRequest{Record: suggested})
	require.NoError(t, err)
	require.True(t, r.Valid, "%q is suggested for %q: %+v", suggested, before, r.Findings)
	for _, f := range r.Findings {
		require.True(t, f.Severity < diag.Warning || f.Code == "bimi.certificate.missing", "%q: %+v", suggested, f)
	}
	require.Empty(t, correction(r), "%q is corrected again", suggested)
	after := record.Parse(suggested)
	for _, text := range before {
		found := record.Format.Read(text)
		if len(found.Records) != 1 {
			continue
		}
		b := record.Parse(found.Records[0])
		require.True(t, !b.Location.Usable() || b.Location.Text == after.Location.Text, "%q loses l of %q", suggested, text)
		require.True(t, !b.Authority.Usable() || b.Authority.Text == after.Authority.Text, "%q loses a of %q", suggested, text)
		require.True(t, !after.Declined || b.Location.Text == "", "%q declines for %q", suggested, text)
		for _, p := range b.Prefixes {
			require.True(t, slices.Contains(after.Prefixes, p), "%q loses %s of %q", suggested, p, text)
		}
	}
}

func correction(r *ValidateReport) string { return suggested(r.Verdict) }

func TestCorrectionsHarmNobody(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := draws.Draw(rt, "record")
		if text == "" {
			return
		}
		r, err := Validate(ValidateRequest{Record: text})
		if err != nil {
			return
		}
		checkCorrection(rt, suggested(r.Verdict), text)
		for _, f := range r.Findings {
			require.False(rt, r.Valid && f.Severity >= diag.Error, "%q: %+v", text, f)
		}
		require.Equal(rt, r.Valid, r.State == diag.Valid || r.State == diag.Warned, "%q: %+v", text, r.Findings)
	})
}

// Whatever the DNS holds, and whatever fails, the parts of a report agree, unknowns are not reported as absent, and
// suggestions are harmless.
func TestReportsAreConsistent(t *testing.T) {
	levels := []string{"example.com", "a.example.com", "b.a.example.com"}
	rapid.Check(t, func(rt *rapid.T) {
		w := diagtest.NewWorld(t)
		defer w.Close()
		pick := func(what string, of ...string) string { return rapid.SampledFrom(of).Draw(rt, what) }
		zone := "x.com. TXT \"x\"\n"
		for _, domain := range levels {
			for range rapid.IntRange(0, 2).Draw(rt, "records") {
				text := draws.Draw(rt, "record")
				if strings.ContainsAny(text, "\"\\") || text == "" || len(text) > dnsmsg.MaxTXTString {
					continue
				}
				zone += at(pick("name", "default._bimi.", "default._bimi.", "s1._bimi.", "_bimi.", "", "*.")+domain, text)
			}
			zone += pick("dmarc", "", at("_dmarc."+domain, "v=DMARC1; p=reject"), at("_dmarc."+domain, "v=DMARC1; p=none; rua=mailto:a@b.example"),
				at("_dmarc."+domain, "v=DMARC1; p=quarantine; sp=none; pct=20"), at("_dmarc."+domain, "v=DMARC1; psd=n; p=reject"))
			zone += pick("mail", "", domain+". MX 0 .\n", domain+". MX 10 mx.example.com.\n")
		}
		w.Zone(zone)
		for _, name := range []string{"default._bimi.example.com", "_dmarc.example.com", "_dmarc.a.example.com", "example.com"} {
			if rapid.IntRange(0, 9).Draw(rt, "broken") == 0 {
				w.Break(name, dns.RcodeServerFailure)
			}
		}
		r, err := Lookup(rt.Context(), w.Env(), LookupRequest{
			Domain: diag.MustDomain(pick("domain", levels...)), Selector: diag.MustSelector(pick("selector", "default", "default", "s1")),
			FetchLogo: new(false), FetchCertificate: new(false),
		})
		require.NoError(rt, err)
		checkReport(rt, r)
		require.NotEmpty(rt, r.Headline)
		ignorant := slices.ContainsFunc(diagtest.Codes(r.Verdict), func(c diag.Code) bool { return strings.HasSuffix(string(c), ".unknown") })
		require.True(rt, ignorant || r.State != diag.Unknown, "%+v", r.Findings)
		require.True(rt, r.Partial || !ignorant)
		require.True(rt, r.State != diag.Missing || !r.Found)
		require.True(rt, r.State != diag.Valid || r.Declined || *r.DMARC.Eligible)
	})
}

func FuzzValidate(f *testing.F) {
	for _, tt := range records {
		f.Add(tt.record)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Validate(ValidateRequest{Record: text})
		if err != nil {
			return
		}
		checkCorrection(t, suggested(r.Verdict), text)
	})
}
