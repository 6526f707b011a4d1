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

const judgedScreen = `▲ example.com  spf/lookup  warning  69/100
  SPF works

Do first
  1. Flatten the record.
     example.com. IN TXT "v=spf1 ip4:192.0.2.1 -all"
  2. Publish MTA-STS.

Findings
  ▲ More than 10 DNS lookups  warning
`

// The judge of scenarios reports every difference, and nothing else.
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
		{"screen", `{"screen": {"has": [["spf"], ["none", "FLATTEN"]]}}`, `{"screen": {"has": [["spf"], ["none"]]}}`},
		{"screen that lacks", `{"screen": {"lacks": ["critical", "\n  3. "]}}`, `{"screen": {"lacks": ["DO FIRST"]}}`},
		{"lines of a screen", `{"screen": {"lacks": ["first 1."]}}`, `{"screen": {"lacks": ["\n  2. "]}}`},
		{"first step", `{"screen": {"first_step": [["the record"], ["IP4"]]}}`, `{"screen": {"first_step": [["mta-sts"]]}}`},
		{"first step alone", `{"screen": {"first_step": [["flatten", "lookups"]]}}`, `{"screen": {"first_step": [["lookups"]]}}`},
		{"order", `{"screen": {"order": ["FLATTEN", "publish"]}}`, `{"screen": {"order": ["publish", "flatten"]}}`},
		{"order without the second", `{"screen": {"order": ["nothing", "dnssec"]}}`, `{"screen": {"order": ["nothing", "publish"]}}`},
		{"order of lines", `{"screen": {"order": ["works", "do first"]}}`, `{"screen": {"order": ["flatten", "the record"]}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Empty(t, judged(t, c.good))
			require.Len(t, judged(t, c.bad), 1)
		})
	}
	require.Len(t, (&screenExpectation{}).judge(""), 1, "an error has no screen")
	// Another value of the same kind may not contain what a good one must not.
	var e suggestionExpectation
	require.NoError(t, json.Unmarshal([]byte(`{"present": true, "holds": ["mx"], "lacks": ["-all"]}`), &e))
	require.Empty(t, e.judge([]string{"v=spf1 mx ~all", "v=DMARC1; x=-all"}))
	require.Len(t, e.judge([]string{"v=spf1 mx ~all", "v=spf1 mx -all"}), 1)
}

func judged(t *testing.T, text string) []string {
	var e expectation
	require.NoError(t, json.Unmarshal([]byte(text), &e))
	return e.judge(playedReply{200, []byte(judgedReply), judgedScreen})
}
