//go:build !race

// Under the race detector these images take minutes; `.ci/run` reads them without it.

package raster

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/diag/diagtest"
)

func TestConformancePNG(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	files := diagtest.Vectors(t, "web/qr/*/*.png")
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		checkPNG(t, file, data)
	}
	t.Logf("PNG: %d/%d", len(files), len(files))
}
