//go:build !race

package aggregate

// The race detector takes memory of its own.

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// manySources is the largest report: in every record another address, other domains, selectors and comments.
func manySources(t testing.TB, records int) []byte {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	require.NoError(t, err)
	io.WriteString(z, begin)
	for i := range records {
		fmt.Fprintf(z, "<record><row><source_ip>%s</source_ip><count>%d</count><policy_evaluated><disposition>none</disposition><dkim>fail</dkim>"+
			"<reason><type>local_policy</type><comment>c%d</comment></reason></policy_evaluated></row>"+
			"<identifiers><header_from>a%[3]d.example.com</header_from></identifiers><auth_results>"+
			"<dkim><domain>k%[3]d.example</domain><selector>s%[3]d</selector><result>pass</result></dkim>"+
			"<spf><domain>b%[3]d.example</domain><result>pass</result></spf></auth_results></record>", testIP(i), 1+i%1000, i)
	}
	io.WriteString(z, end)
	require.NoError(t, z.Close())
	return b.Bytes()
}

func TestMemoryOfManySources(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	if !diagtest.InOwnProcess(t) {
		return
	}
	file := manySources(t, maxRecords)
	require.Less(t, len(file), MaxSent)
	env := diagtest.NewWorld(t).Env()
	var a *Analysis
	live := diagtest.LiveBytes(maxAnalyzed, func() { a, _ = Analyze(t.Context(), env, Request{Content: file}) })
	text, err := json.Marshal(a)
	require.NoError(t, err)
	t.Logf("%d KiB of heap, %d KiB of reply", live>>10, len(text)>>10)
	require.Less(t, live, int64(maxAnalyzed))
	require.Equal(t, maxRecords, a.Totals.SourceCount)
	require.Len(t, a.Sources, maxSources)
	require.True(t, a.SourcesTruncated)
	require.EqualValues(t, 1000, a.Sources[0].MessageCount)
	require.Len(t, a.Sources[0].HeaderFrom, 1, "details are of the second reading")
	checkSums(t, a)
}

// Many reports about many domains take no more than one about many sources.
func TestMemoryOfManyReports(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	if !diagtest.InOwnProcess(t) {
		return
	}
	for name, domains := range map[string]int{"one domain": 1, "more domains than are judged": maxReports} {
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
		require.NoError(t, err)
		for i := range maxReports {
			var rows strings.Builder
			for j := range maxRecords / maxReports / 4 {
				rows.WriteString(rowXML(fmt.Sprintf("%s 1 none fail fail a%d.example.com", testIP(j+i%5*1000), j),
					fmt.Sprintf("dkim k%d.example s%[1]d pass", j), fmt.Sprintf("spf b%d.example pass", j)))
			}
			io.WriteString(z, strings.ReplaceAll(dayXML("a.example", i, published, rows.String()), "example.com", fmt.Sprintf("d%d.example", i%domains)))
		}
		require.NoError(t, z.Close())
		req := Request{Content: b.Bytes()}
		env := diagtest.NewWorld(t).Env()
		var a *Analysis
		live := diagtest.LiveBytes(maxAnalyzed, func() { a, err = Analyze(t.Context(), env, req) })
		require.NoError(t, err)
		t.Logf("%s: %d KiB of heap of %d KiB", name, live>>10, req.Memory()>>10)
		require.Less(t, live, req.Memory())
		require.Less(t, live, int64(maxAnalyzed))
		require.Len(t, a.Reports, min(maxReports, maxReports/domains*maxDomains))
		checkSums(t, a)
	}
}
