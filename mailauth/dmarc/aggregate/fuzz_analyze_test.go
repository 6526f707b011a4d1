package aggregate

import (
	"encoding/json"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// Whatever is sent, the numbers of an analysis agree with each other, and it is the same every time.
func FuzzAnalyze(f *testing.F) {
	for _, tt := range verdictTests(f) {
		f.Add([]byte(tt.file))
	}
	f.Add([]byte(feedbackXML(`<p>reject</p><sp>none</sp><pct>1</pct>`, own, mailchimp, forwarder, spoofer)))
	w := diagtest.NewWorld(f)
	w.SetTime(testNow)
	env := w.Env()
	f.Fuzz(func(t *testing.T, file []byte) {
		a, err := Analyze(t.Context(), env, Request{Content: file})
		if err != nil {
			return
		}
		checkSums(t, a)
		require.NotEmpty(t, a.Headline)
		require.NotEmpty(t, a.State)
		for _, finding := range a.Findings {
			require.NotEmpty(t, finding.Detail)
		}
		again, err := Analyze(t.Context(), env, Request{Content: file})
		require.NoError(t, err)
		again.Timing = a.Timing
		one, err := json.Marshal(a)
		require.NoError(t, err)
		other, err := json.Marshal(again)
		require.NoError(t, err)
		require.JSONEq(t, string(one), string(other))
	})
}
