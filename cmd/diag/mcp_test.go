package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// diag mcp speaks the protocol and nothing else, and ends with its client.
func TestMCP(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone("example.com. MX 10 mx.example.com.")
	asked, in := io.Pipe()
	out, answers := io.Pipe()
	var stderr strings.Builder
	code := make(chan int, 1)
	a := &app{stdin: asked, stdout: answers, stderr: &stderr, env: w.Env()}
	go func() { code <- a.run(t.Context(), []string{"mcp"}) }()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	say := func(message string, answered bool) (reply string) {
		_, err := io.WriteString(in, message+"\n")
		require.NoError(t, err)
		if answered {
			require.True(t, lines.Scan())
			require.True(t, json.Valid(lines.Bytes()), lines.Text())
		}
		return lines.Text()
	}
	say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},`+
		`"clientInfo":{"name":"t","version":"1"}}}`, true)
	say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, false)
	reply := say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"resolve",`+
		`"arguments":{"name":"example.com","type":"MX"}}}`, true)
	assert.Contains(t, reply, "mx.example.com")
	require.NoError(t, in.Close())
	assert.Zero(t, <-code)
	assert.Empty(t, stderr.String())
}

// With a server it needs a key, and sends it.
func TestMCPOfServer(t *testing.T) {
	var stderr strings.Builder
	a := &app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: &stderr}
	server := httptest.NewServer(nil)
	defer server.Close()
	assert.Equal(t, exitUsage, a.run(t.Context(), []string{"mcp", "--server", server.URL, "--key", ""}))
	assert.Contains(t, stderr.String(), "--key")
}
