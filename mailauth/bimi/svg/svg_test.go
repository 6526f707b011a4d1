package svg

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// TestConformanceSVG judges the images of the manifest. Where it expects neither validity nor the opposite there must
// be a warning.
func TestConformanceSVG(t *testing.T) {
	dir := diagtest.Vectors(t, "mail/bimi/svg")
	text, err := os.ReadFile(filepath.Join(dir, "MANIFEST.json"))
	require.NoError(t, err)
	var cases []struct {
		File     string
		Expected *bool `json:"expected_valid"`
	}
	require.NoError(t, json.Unmarshal(text, &cases))
	require.NotEmpty(t, cases)
	passed := 0
	for _, c := range cases {
		if t.Run(c.File, func(t *testing.T) {
			file, err := os.ReadFile(filepath.Join(dir, c.File))
			require.NoError(t, err)
			image, _, err := Decode(file)
			require.NoError(t, err)
			d := Validate(image)
			if c.Expected == nil {
				require.True(t, d.Compliant(), "%+v", d.Faults)
				require.True(t, d.any(func(k Kind) bool { return k.Severity() == diag.Warning }))
				return
			}
			require.Equal(t, *c.Expected, d.Compliant(), "%+v", d.Faults)
		}) {
			passed++
		}
	}
	t.Logf("svg: %d/%d", passed, len(cases))
}
