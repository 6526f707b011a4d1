package aggregate

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// Each report of the vectors is analyzed: its messages are counted once, and each of its sources has a class.
func TestConformanceAnalyze(t *testing.T) {
	env := diagtest.NewWorld(t).Env()
	analyzed, classes := 0, map[Class]int{}
	for _, path := range diagtest.Suite(t, "mail/dmarc-reports") {
		if filepath.Ext(path) == ".json" { // results of other parsers
			continue
		}
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		if len(data) == 0 {
			continue // no request can carry it
		}
		a, err := Analyze(t.Context(), env, Request{Content: data})
		require.NoError(t, err, path)
		var messages int64
		_, err = Read(data, func(r *Record) error { messages += r.Count; return nil })
		require.NoError(t, err, path)
		require.Equal(t, messages, a.Totals.MessageCount, path)
		checkSums(t, a)
		for _, s := range a.Sources {
			classes[s.Classification]++
		}
		analyzed++
	}
	require.Positive(t, analyzed)
	t.Logf("%d reports analyzed, sources: %v", analyzed, classes)
}
