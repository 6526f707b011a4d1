package registry

import (
	"testing"
	"testing/fstest"

	"github.com/diagkit/diagkit/diag"
	"github.com/stretchr/testify/require"
)

func TestClientOf(t *testing.T) {
	client, err := clientOf(nil)
	require.NoError(t, err)
	require.Same(t, DefaultBootstrap(), client.Bootstrap)
	require.Same(t, DefaultServers(), client.WhoisServers)

	own := &diag.Env{Data: fstest.MapFS{ServersFile: {Data: []byte(`{"example": "whois.example"}`)}}}
	client, err = clientOf(own)
	require.NoError(t, err)
	require.Same(t, DefaultBootstrap(), client.Bootstrap, "what is not replaced stays")
	require.NotSame(t, DefaultServers(), client.WhoisServers)

	for _, file := range []string{BootstrapFile, ServersFile} {
		_, err := clientOf(&diag.Env{Data: fstest.MapFS{file: {Data: []byte("{")}}})
		require.ErrorContains(t, err, "reading the list "+file)
	}
}
