//go:build !race || nightly

package aggregate

// The race detector makes these many times slower, and other tests cover what runs concurrently in them.

import (
	"context"
	"encoding/xml"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// Read agrees with encoding/xml on well-formed reports.
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
		require.Equal(t, want.Metadata.Begin, report.Metadata.BeginAt.Unix())
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
		if f.Kind == FaultTooMany {
			require.Equal(t, Fault{FaultTooMany, "record", 7, f.Places}, f)
		}
	}
}

func TestBadRequests(t *testing.T) {
	env := diagtest.NewWorld(t).Env()
	for name, req := range map[string]Request{
		"nothing": {}, "both": {XML: "<a/>", Content: []byte("<a/>")},
	} {
		_, err := Analyze(t.Context(), env, req)
		var input *diag.InputError
		require.ErrorAs(t, err, &input, name)
		require.Equal(t, "xml", input.Field)
	}
	bomb := pack(t, "<feedback>"+strings.Repeat(" ", maxExpanded/5))
	_, err := Analyze(t.Context(), env, Request{Content: []byte(bomb)})
	var over *LimitError
	require.ErrorAs(t, err, &over)
	require.Equal(t, "The file unpacks to more than 200 times its size.", over.Sentence())

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Analyze(ctx, env, Request{XML: feedbackXML(pReject, own), ResolvePTR: true})
	require.ErrorIs(t, err, context.Canceled)
}

// The bounds hold for all reports together.
func TestBoundsOfSeveral(t *testing.T) {
	var files []string
	for i := range maxReports + 1 {
		files = append(files, fmt.Sprintf("%d.xml", i), reportXML)
	}
	_, err := Read(tarred(files[:2*maxReports]...), func(*Record) error { return nil })
	require.NoError(t, err)
	_, err = Read(tarred(files...), func(*Record) error { return nil })
	require.Equal(t, &LimitError{"reports", maxReports}, err)

	many := begin + strings.Repeat("<record><count>1</count></record>", maxRecords/2+1) + end
	f, err := Read(tarred("1.xml", many, "2.xml", many), func(*Record) error { return nil })
	require.NoError(t, err)
	require.False(t, f.Reports[0].Excess)
	require.True(t, f.Reports[1].Excess)
	require.Equal(t, maxRecords, f.Reports[0].Records+f.Reports[1].Records)
}
