package worldflags

import (
	"encoding/pem"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func parse(t testing.TB, args ...string) *Flags {
	var f Flags
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	f.Add(fs)
	require.NoError(t, fs.Parse(args))
	return &f
}

func TestEnv(t *testing.T) {
	f := parse(t, "--resolver", "udp://192.0.2.1, tls://192.0.2.2",
		"--allow-networks=10.1.2.3/8,2001:db8::1", "--allow-ports=25,8025",
		"--deny-networks=198.51.100.0/24")
	env, release, err := f.Env()
	require.NoError(t, err)
	defer release()
	assert.NotNil(t, env.Resolver)
	assert.Nil(t, env.Roots, "the system's")
	assert.Equal(t, []uint16{25, 8025}, env.Guard.AllowPorts)
	want := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::1/128")}
	assert.Equal(t, want, env.Guard.AllowNetworks)
	assert.Equal(t, []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}, env.Guard.DenyNetworks)
}

func TestBadFlags(t *testing.T) {
	noPEM := filepath.Join(t.TempDir(), "no.pem")
	require.NoError(t, os.WriteFile(noPEM, []byte("hello"), 0o600))
	for _, test := range []struct{ flag, want string }{
		{"--resolver=192.0.2.1.5.6", "--resolver: "},
		{"--resolver=gopher://192.0.2.1", "--resolver: "},
		{"--allow-networks=10.0.0.0/33", `--allow-networks: "10.0.0.0/33" is not a network`},
		{"--allow-networks=fe80::1%eth0", "is not a network"},
		{"--deny-networks=here", `--deny-networks: "here" is not a network`},
		{"--allow-ports=0", "--allow-ports: 0 is not a port"},
		{"--allow-ports=65536", "--allow-ports: 65536 is not a port"},
		{"--ca-file=no/such/file", "--ca-file: "},
		{"--ca-file=" + noPEM, noPEM + " contains no certificate"},
		{"--root-hints=no/such/file", "--root-hints: "},
		{"--root-hints=" + noPEM, "--root-hints: " + noPEM + ": "},
		{"--trust-anchor=" + noPEM, "--trust-anchor: " + noPEM + ": "},
	} {
		_, _, err := parse(t, test.flag).Env()
		assert.ErrorContains(t, err, test.want, test.flag)
	}
}

func TestRoots(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	require.NoError(t, os.WriteFile(file, text, 0o600))
	env, release, err := parse(t, "--ca-file", file).Env()
	require.NoError(t, err)
	defer release()
	assert.NotNil(t, env.Roots)
}

func TestOwnRoot(t *testing.T) {
	dir := t.TempDir()
	hints, anchor := filepath.Join(dir, "named.root"), filepath.Join(dir, "root.key")
	require.NoError(t, os.WriteFile(hints, []byte(". NS a.root.example.\na.root.example. A 192.0.2.53\n"), 0o600))
	require.NoError(t, os.WriteFile(anchor, []byte(". DS 12345 13 2 "+strings.Repeat("ab", 32)+"\n"), 0o600))
	env, release, err := parse(t, "--root-hints", hints, "--trust-anchor", anchor).Env()
	require.NoError(t, err)
	defer release()
	assert.Len(t, env.RootServers, 1)
	assert.Len(t, env.TrustAnchors, 1)
}
