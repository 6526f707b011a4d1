package svg

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// TestConformanceSVG judges the images of the manifest. Where it expects neither validity nor the opposite there must
// be a warning.
func TestConformanceSVG(t *testing.T) {
	type vector struct {
		File     string
		Expected *bool `json:"expected_valid"`
	}
	passed, total := 0, 0
	for _, manifest := range diagtest.Vectors(t, "mail/bimi/svg/MANIFEST.json") {
		for _, c := range diagtest.Cases[vector](t, []string{manifest}) {
			total++
			if t.Run(c.File, func(t *testing.T) {
				file, err := os.ReadFile(filepath.Join(filepath.Dir(manifest), c.File))
				require.NoError(t, err)
				image, _, err := Decode(file)
				require.NoError(t, err)
				d := Validate(image)
				if c.Expected == nil {
					require.True(t, d.Compliant(), "%+v", d.Faults)
					require.True(t, slices.ContainsFunc(d.Faults, func(f Fault) bool { return f.Severity() == diag.Warning }))
					return
				}
				require.Equal(t, *c.Expected, d.Compliant(), "%+v", d.Faults)
			}) {
				passed++
			}
		}
	}
	t.Logf("svg: %d/%d", passed, total)
}
