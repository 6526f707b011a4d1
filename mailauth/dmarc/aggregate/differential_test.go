package aggregate

import (
	"encoding/xml"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// decorate writes the same report in another way: with comments, instructions, character data and references
// between and in its elements.
func decorate(r *rand.Rand, text string) string {
	var b strings.Builder
	for _, piece := range strings.SplitAfter(text, ">") {
		if value, tag, ok := strings.Cut(piece, "<"); ok && value != "" && !strings.Contains(value, "&") && r.IntN(6) == 0 {
			cut := r.IntN(len(value))
			piece = pick(r, value[:cut]+"<![CDATA["+value[cut:]+"]]>", value+"<!-- > -->", "<![CDATA["+value+"]]>") + "<" + tag
		}
		b.WriteString(piece)
		if strings.HasSuffix(piece, ">") && strings.Contains(piece, "</") && r.IntN(6) == 0 {
			b.WriteString(pick(r, "<!-- <record> -->", "<?x y?>", "\r\n\t", "<!---->"))
		}
	}
	return b.String()
}

// What encoding/xml reads of well-formed reports, Read does.
func TestAgainstEncodingXML(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		text := string(newReport(r, r.IntN(30)).encode(pick(r, "", " ", "\t")))
		if seed%2 == 1 {
			text = decorate(r, text)
		}
		var want xmlReport
		require.NoError(t, xml.Unmarshal([]byte(text), &want), text)
		report, records, err := read(t, []byte(text))
		require.NoError(t, err)
		require.Equal(t, len(want.Records) == 0, len(report.Faults) > 0, "%v\n%s", report.Faults, text)
		require.Equal(t, want.Metadata.Organization, report.Metadata.Organization)
		require.Equal(t, want.Metadata.ID, report.Metadata.ReportID)
		require.Equal(t, want.Metadata.Begin, report.Metadata.Begin.Unix())
		require.Equal(t, want.Policy.Domain, report.Policy.Domain)
		require.Equal(t, want.Policy.PCT, *report.Policy.Percentage)
		require.Equal(t, want.Policy.FO, report.Policy.FailureOptions)
		require.Len(t, records, len(want.Records))
		for i, record := range records {
			require.Equal(t, expected(want.Records[i]), withoutPlace(record), text)
		}
	}
}

// withoutPlace is a record without what encoding/xml does not know.
func withoutPlace(r Record) Record {
	r.Number, r.Line, r.Policy = 0, 0, nil
	return r
}

// expected is the Record of one that encoding/xml read. White space in texts is folded.
func expected(x xmlRecord) Record {
	r := Record{SourceIP: netip.MustParseAddr(x.Address), SourceText: x.Address, Count: x.Count,
		Disposition: Disposition(x.Disposition), DKIM: Result(x.DKIM), SPF: Result(x.SPF), HeaderFrom: x.HeaderFrom,
		EnvelopeFrom: x.EnvelopeFrom, EnvelopeTo: x.EnvelopeTo, Overrides: []Override{}, DKIMAuth: []DKIMAuth{},
		SPFAuth: []SPFAuth{}, Extensions: []Extension{}}
	for _, o := range x.Reasons {
		r.Overrides = append(r.Overrides, Override{OverrideType(o.Type), strings.Join(strings.Fields(o.Comment), " ")})
	}
	for _, d := range x.AuthDKIM {
		r.DKIMAuth = append(r.DKIMAuth, DKIMAuth{d.Domain, d.Selector, Result(d.Result), d.Human})
	}
	for _, s := range x.AuthSPF {
		r.SPFAuth = append(r.SPFAuth, SPFAuth{s.Domain, Scope(s.Scope), Result(s.Result), ""})
	}
	return r
}
