//go:build !race

// Under the race detector these images take minutes; `.ci/run` reads them without it.

package raster

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/diag/diagtest"
)

func TestConformancePNG(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	files, err := filepath.Glob(filepath.Join(diagtest.Vectors(t, "web", "qr"), "*", "*.png"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		checkPNG(t, file, data)
	}
	t.Logf("PNG: %d/%d", len(files), len(files))
}
