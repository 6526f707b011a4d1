package header

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// TestConformanceAnalyze analyzes real messages without DNS answers: each has a report, and no message is called
// forged for lack of answers.
func TestConformanceAnalyze(t *testing.T) {
	messages, known := 0, 0
	for _, folder := range []string{"mail/headers", "mail/dkim", "mail/arc/stalwart"} {
		before := messages
		for _, path := range diagtest.Suite(t, folder) {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			if len(text) == 0 || filepath.Ext(path) == ".tsv" || filepath.Ext(path) == ".dat" {
				continue
			}
			messages++
			r, err := Analyze(t.Context(), &diag.Env{Resolver: silence{}}, AnalyzeRequest{MessageBase64: text})
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			if r.Conclusion.Authentic != NotDecided || len(r.Conclusion.Reasons) == 0 {
				t.Errorf("%s: %+v", path, r.Conclusion)
			}
			if r.Live.OutsideHop.Known {
				known++
			}
			t.Logf("%s: %s %s", filepath.Base(path), r.Conclusion.SendingIP, r.Live.OutsideHop.Reason)
		}
		require.Greater(t, messages, before, folder)
	}
	t.Logf("messages: %d, of which %d tell the server that delivered from outside", messages, known)
}
