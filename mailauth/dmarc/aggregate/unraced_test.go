//go:build !race || nightly

package aggregate

// The race detector makes these many times slower, and nothing in them runs at once but what other tests race.

import (
	"encoding/xml"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What encoding/xml reads of well-formed reports, Read does.
func TestAgainstEncodingXML(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
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

// More than MaxRecords records are not read, and counted where they are.
func TestReadExcess(t *testing.T) {
	text := begin + strings.Repeat("<record><count>1</count></record>", maxRecords+7) + end
	r, err := readOne([]byte(text), func(*Record) error { return nil })
	require.NoError(t, err)
	require.Equal(t, maxRecords, r.Records)
	require.Equal(t, maxRecords, r.Read)
	require.True(t, r.Excess)
	for _, f := range r.Faults {
		if f.Kind == tooMany {
			require.Equal(t, Fault{tooMany, "record", 7, f.Places}, f)
		}
	}
}
