package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The manual has all commands and exit codes of the server.
func TestManual(t *testing.T) {
	folder := t.TempDir()
	require.Equal(t, exitOK, run(t.Context(), []string{"man", folder}, io.Discard, io.Discard))
	text, err := os.ReadFile(filepath.Join(folder, "diagd.1"))
	require.NoError(t, err)
	for _, part := range []string{"\n.B key create\n", "\n.B serve\n", "\n.B \\-\\-listen\n", ".SH EXIT STATUS\n", "\n.B 3\n"} {
		assert.Contains(t, string(text), part)
	}
	require.FileExists(t, filepath.Join(folder, "diagd-key-create.1"))
	assert.Equal(t, exitUsage, run(t.Context(), []string{"man"}, io.Discard, io.Discard))
}
