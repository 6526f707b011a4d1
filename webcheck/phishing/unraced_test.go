//go:build !race || nightly

package phishing

// The race detector makes these many times slower, and nothing in them runs at once but what other tests race.

import (
	"encoding/csv"
	"hash/fnv"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/webcheck/internal/lookalike"
	"github.com/stretchr/testify/require"
)

// TestMeasuredConformance measures how well the signals of the URL alone distinguish phishing from other URLs. The
// weights were chosen on the rows whose hash is even; only the others count here. None of the URLs is ever fetched.
func TestMeasuredConformance(t *testing.T) {
	file, err := os.Open(diagtest.Suite(t, "web/phishing/urls.csv")[0])
	require.NoError(t, err)
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	require.NoError(t, err)
	require.Greater(t, len(rows), 1)
	var bad, good []int
	refused := 0
	for _, row := range rows[1:] {
		h := fnv.New32a()
		h.Write([]byte(row[0]))
		if h.Sum32()%2 == 0 {
			continue
		}
		a, err := dissect(row[0], lookalike.BuiltIn())
		score := 0
		if err != nil {
			refused++ // no URL that browsers fetch
		} else {
			score = risk(signals(rules().Judge(&evidence{anatomy: a}, nil).Findings))
		}
		switch row[1] {
		case "phishing":
			bad = append(bad, score)
		case "legitimate":
			good = append(good, score)
		default:
			t.Fatalf("%s is labelled %q", row[0], row[1])
		}
	}
	require.NotEmpty(t, bad)
	require.NotEmpty(t, good)
	slices.Sort(good)
	limit := good[len(good)*95/100] // which no more than 5 % of the honest ones exceed
	area := auc(bad, good)
	t.Logf("AUC %.4f on %d held-out URLs (%d refused); recall %.3f at 5 %% false alarms; suspicious: %.3f of phishing, %.4f of others",
		area, len(bad)+len(good), refused, above(bad, limit+1), above(bad, suspicious), above(good, suspicious))
	require.GreaterOrEqual(t, area, 0.912)
	require.GreaterOrEqual(t, above(bad, limit+1), 0.70)
	require.Less(t, above(good, suspicious), 0.02)
	require.LessOrEqual(t, refused*100, len(rows))
}

// No domain of a brand is taken for an imitation, nor is one of the well-known sites of others.
func TestNoFalseAlarms(t *testing.T) {
	for _, target := range lookalike.BuiltIn().List {
		for _, d := range target.Domains {
			for _, url := range []string{d, "https://www." + d + "/", "https://login." + d + "/signin?account=verify"} {
				_, r := alone(t, url)
				require.Zero(t, r.Lookalike, url)
				if !strings.Contains(url, "signin") {
					require.NotEqual(t, Suspicious, r.Verdict, "%s: %v", url, r.Signals)
					require.NotEqual(t, Malicious, r.Verdict, "%s: %v", url, r.Signals)
				}
			}
		}
	}
	text, err := os.ReadFile("testdata/legitimate.txt")
	require.NoError(t, err)
	all, alarms, named := 0, 0, 0
	for _, d := range strings.Fields(string(text)) {
		all++
		_, r := alone(t, "https://"+d+"/")
		if r.Verdict != Inconclusive {
			alarms++
			t.Logf("%s: %s %d %v", d, r.Verdict, r.RiskScore, r.Signals)
		}
		if r.Lookalike.Brand != "" {
			named++
			t.Logf("%s resembles %s", d, r.Lookalike.Brand)
		}
	}
	t.Logf("of %d honest domains %d alarm, %d resemble a brand", all, alarms, named)
	require.LessOrEqual(t, alarms*100, all)
	require.LessOrEqual(t, named*100, 3*all)
}
