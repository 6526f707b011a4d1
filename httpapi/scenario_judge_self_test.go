package httpapi

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

const judgedReply = `{"state": "warning", "score": 69, "policy": {"mode": "none"}, "hosts": [{"covered": false}],
	"verdict_headline": "SPF works", "verdict_sub": "Two senders are missing.",
	"findings": [{"code": "spf.a.b", "severity": "warning", "title": "More than 10 DNS lookups", "detail": "It takes 11.", "advice": "Flatten it."}],
	"recommendations": [{"suggested_value": "v=spf1 mx -all"}, {"suggested_value": "v=DMARC1; p=none"}]}`

// The judge of scenarios sees what differs, and nothing else.
func TestScenarioJudge(t *testing.T) {
	for _, c := range []struct {
		name, good, bad string // expectations that are fulfilled, and that are not
	}{
		{"status", `{"status": 200}`, `{"status": 400}`},
		{"field", `{"fields": {"policy.mode": "none", "hosts.0.covered": false}}`, `{"fields": {"policy.mode": "enforce"}}`},
		{"field that is not there", `{"fields": {"hosts.1": {"absent": true}}}`, `{"fields": {"hosts.0": {"absent": true}}}`},
		{"field that must be there", `{"fields": {"state": {"absent": false}}}`, `{"fields": {"hosts.0.name": false}}`},
		{"one of several values", `{"fields": {"state": {"in": ["warning", "valid"]}}}`, `{"fields": {"state": {"in": ["valid"]}}}`},
		{"gravest", `{"gravest": ["warning"]}`, `{"gravest": ["none"]}`},
		{"lowest score", `{"score": {"min": 69}}`, `{"score": {"min": 70}}`},
		{"highest score", `{"score": {"max": 69}}`, `{"score": {"max": 68}}`},
		{"no score", `{}`, `{"score": {"absent": true}}`},
		{"headline", `{"headline": [["spf"], ["none", "MISSING"]]}`, `{"headline": [["spf"], ["none"]]}`},
		{"finding", `{"findings": [{"words": [["10"], ["takes"]], "severity": ["warning"], "advice": [["flatten"]]}]}`, `{"findings": [{"words": [["20"]]}]}`},
		{"severity of a finding", `{"findings": [{"words": [["10"]]}]}`, `{"findings": [{"words": [["10"]], "severity": ["error"]}]}`},
		{"advice of a finding", `{"findings": [{"words": [["10"]]}]}`, `{"findings": [{"words": [["10"]], "advice": [["delete"]]}]}`},
		{"no finding", `{"no_findings": [{"words": [["pct"]]}]}`, `{"no_findings": [{"words": [["lookups"]]}]}`},
		{"no grave finding", `{"no_findings": [{"words": [["lookups"]], "severity": ["error"]}]}`, `{"no_findings": [{"words": [["lookups"]], "severity": ["warning"]}]}`},
		{"suggestion", `{"suggestion": {"present": true, "holds": ["mx"], "lacks": ["p="]}}`, `{"suggestion": {"present": true, "holds": ["ip4"]}}`},
		{"suggestion that lacks", `{"suggestion": {"present": true, "holds": ["mx"]}}`, `{"suggestion": {"present": true, "holds": ["mx"], "lacks": ["-all"]}}`},
		{"no suggestion", `{}`, `{"suggestion": {"present": false}}`},
		{"never", `{"suggestion": {"never": [{"holds": ["MX"], "lacks": ["-ALL"]}]}}`, `{"suggestion": {"never": [{"holds": ["MX"], "lacks": ["ip4"]}]}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Empty(t, judged(t, c.good))
			require.Len(t, judged(t, c.bad), 1)
		})
	}
	// Another value of the same kind may not have what a good one lacks.
	var e suggestionExpectation
	require.NoError(t, json.Unmarshal([]byte(`{"present": true, "holds": ["mx"], "lacks": ["-all"]}`), &e))
	require.Empty(t, e.judge([]string{"v=spf1 mx ~all", "v=DMARC1; x=-all"}))
	require.Len(t, e.judge([]string{"v=spf1 mx ~all", "v=spf1 mx -all"}), 1)
}

func judged(t *testing.T, text string) []string {
	var e expectation
	require.NoError(t, json.Unmarshal([]byte(text), &e))
	return e.judge(200, []byte(judgedReply))
}
