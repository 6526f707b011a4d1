package tlsrpt

import (
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// draws generates records with all common mistakes.
var draws = rapid.Custom(func(t *rapid.T) string {
	pick := func(what string, of ...string) string { return rapid.SampledFrom(of).Draw(t, what) }
	text := pick("version", "v=TLSRPTv1", "v=TLSRPTv1", "v=TLSRPTv1", "v = TLSRPTv1", "v=tlsrptv1", "TLSRPTv1",
		" v=TLSRPTv1", "v=TLSRPT1", "“v=TLSRPTv1")
	for range rapid.IntRange(0, 4).Draw(t, "fields") {
		text += pick("separator", "; ", "; ", "; ", ";", " ", ", ", ";; ", " ; ")
		text += pick("name", "rua", "rua", "rua", "RUA", "rau", "ruf", "x-y", "foo", "v", "") + pick("equals", "=", "=", " = ", ":", "")
		text += pick("value", "mailto:a@example.com", "mailto:b@example.net!10m", "c@example.com", "MAILTO:D@example.com",
			"mailto:d@example.com mailto:e@example.com", "mailto://f@example.com", "https://example.com/?u=mailto:g@example.com",
			"http://example.com/", "mailto: h@example.com", "bogus", "mailto:i@example.com,", "mailto:j@example.com;mailto:k@example.com",
			"mailto:o'l@example.com", "https://[::1]/", "mailto:m@example.com,https://t.example.com/v1", "")
	}
	return text + pick("end", "", ";", " ", "”")
})

// checkCorrection fails if a correction violates the rules for suggestions (CONTRACT 1.8); it must be a record that
// is valid, keeps every destination that senders can read, and needs no correction itself.
func checkCorrection(t require.TestingT, suggested string, before []string) {
	if suggested == "" {
		return
	}
	after, err := ParseRecord(suggested)
	require.NoError(t, err, "%q is suggested for %q", suggested, before)
	for _, text := range before {
		l := format.Parse(text)
		for _, a := range addresses(&l) {
			same := func(uri string) bool { return strings.EqualFold(uri, a.Text) }
			require.True(t, !a.valid() || slices.ContainsFunc(after.RUA, same), "%q loses %q of %q", suggested, a.Text, before)
		}
	}
	e := evidence{found: taglist.Found{Records: []string{suggested}, List: format.Parse(suggested)}}
	e.addresses = addresses(&e.found.List)
	require.Empty(t, e.correct(), "%q is corrected again", suggested)
}

// For any DNS contents and failures, the parts of a report agree, and suggestions do no harm.
func TestReportsAreConsistent(t *testing.T) {
	levels := []string{"example.com", "a.example.com"}
	rapid.Check(t, func(rt *rapid.T) {
		w := diagtest.NewWorld(t)
		defer w.Close()
		var zone strings.Builder
		zone.WriteString("x.com. TXT \"x\"\n")
		for _, domain := range levels {
			for range rapid.IntRange(0, 2).Draw(rt, "records") {
				text := draws.Draw(rt, "record")
				if strings.ContainsAny(text, "\"\\") || len(text) > dnsmsg.MaxTXTString {
					continue
				}
				name := rapid.SampledFrom([]string{"_smtp._tls.", "_smtp._tls.", "_smtp._tls.", "_smtp-tls.", "", "*."}).Draw(rt, "name")
				zone.WriteString(name + domain + ". TXT \"" + text + "\"\n")
			}
			zone.WriteString(rapid.SampledFrom([]string{"", domain + ". MX 0 .\n", domain + ". MX 10 mx.example.com.\n",
				domain + ". A 192.0.2.1\n"}).Draw(rt, "mail"))
		}
		w.Zone(zone.String())
		for _, name := range []string{"_smtp._tls.example.com", "example.com", "_mta-sts.example.com", "example.net"} {
			if rapid.IntRange(0, 9).Draw(rt, "broken") == 0 {
				w.Break(name, dns.RcodeServerFailure)
			}
		}
		domain := rapid.SampledFrom(levels).Draw(rt, "domain")
		r, err := Lookup(rt.Context(), w.Env(), Request{Domain: diag.MustDomain(domain)})
		require.NoError(rt, err)
		checkReport(rt, r)
		require.NotEmpty(rt, r.Headline)
		ignorant := slices.Contains(diagtest.Codes(r.Verdict), "tlsrpt.record.unknown")
		require.Equal(rt, ignorant, r.State == diag.Unknown, "%+v", r.Findings)
		for _, rec := range r.Recommendations {
			checkCorrection(rt, rec.SuggestedValue, r.Records)
		}
	})
}

func FuzzCorrect(f *testing.F) {
	for _, text := range []string{
		"v=TLSRPTv1; rua=tls@example.com", "v=TLSRPTv1 rua=mailto:a@b", "v=TLSRPTv1; rua = mailto:a@b mailto:c@d; x=y",
		"v=tlsrpt1; rau=https://a.example/?b=mailto:c@d", "v=TLSRPTv1;; rua=mailto:a@b!10m; mailto:c@d",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e := evidence{found: format.Read(text)}
		if len(e.found.Records) == 1 {
			e.addresses = addresses(&e.found.List)
		}
		checkCorrection(t, e.correct(), e.found.Records)
		for _, fault := range e.found.List.Faults {
			_ = e.found.List.Text[fault.Offset : fault.Offset+fault.Length]
		}
	})
}
