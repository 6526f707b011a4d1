package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The server has the tools for agents at /mcp, with its keys and its ledger.
func TestAgents(t *testing.T) {
	s := start(t, "--store=memory:")
	call := func(secret string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/mcp", strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_operation",`+
				`"arguments":{"operation":"text/upper","arguments":`+upper+`}}}`))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+secret)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		resp, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(text)
	}
	status, text := call(s.secret)
	assert.Equal(t, http.StatusOK, status, text)
	assert.Contains(t, text, "STRASSE")
	assert.Contains(t, text, "1 credit charged")
	status, _ = call("")
	assert.Equal(t, http.StatusUnauthorized, status)
	require.Equal(t, exitOK, s.wait())
}
