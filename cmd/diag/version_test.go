package main

import (
	"encoding/json"
	"testing"

	"github.com/diagkit/diagkit/cmd/internal/buildinfo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestVersion(t *testing.T) {
	for _, command := range []string{"version", "--version"} {
		s := newSession(nil)
		assert.Equal(t, exitOK, s.run(t.Context(), []string{command}))
		assert.Equal(t, buildinfo.Read().Text("diag"), s.out.String())
	}
	s := newSession(nil)
	assert.Equal(t, exitOK, s.run(t.Context(), []string{"version", "--json"}))
	var info buildinfo.Info
	require.NoError(t, json.Unmarshal(s.out.Bytes(), &info))
	assert.Equal(t, buildinfo.Read(), info)
}
