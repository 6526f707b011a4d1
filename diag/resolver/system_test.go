package resolver_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseConfig(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       resolver.Config
	}{
		{"empty", "", resolver.Config{Servers: servers("127.0.0.1", "::1")}},
		{"one", "nameserver 192.0.2.1\n", resolver.Config{Servers: servers("192.0.2.1")}},
		{"no line end", "nameserver 192.0.2.1", resolver.Config{Servers: servers("192.0.2.1")}},
		{"three at most", "nameserver 192.0.2.1\nnameserver 2001:db8::1\nnameserver fe80::1%eth0\nnameserver 192.0.2.4\n",
			resolver.Config{Servers: servers("192.0.2.1", "2001:db8::1", "fe80::1%eth0")}},
		{"comments", "# nameserver 192.0.2.1\n; nameserver 192.0.2.2\n\tnameserver  192.0.2.3 # mine\n",
			resolver.Config{Servers: servers("192.0.2.3")}},
		{"nonsense", "nameserver\nnameserver example.com\nfrobnicate 1\nnameserver 192.0.2.1\noptions\n",
			resolver.Config{Servers: servers("192.0.2.1")}},
		{"search is not used", "search example.com\ndomain example.net\noptions ndots:5\nnameserver 192.0.2.1\n",
			resolver.Config{Servers: servers("192.0.2.1")}},
		{"options", "nameserver 192.0.2.1\noptions timeout:3 attempts:4 rotate\n",
			resolver.Config{Servers: servers("192.0.2.1"), Timeout: 3 * time.Second, Attempts: 4, Rotate: true}},
		{"options bounded", "nameserver 192.0.2.1\noptions timeout:9999999999 attempts:1000 timeout:-1 attempts:0\n",
			resolver.Config{Servers: servers("192.0.2.1"), Timeout: 30 * time.Second, Attempts: 5}},
		{"use-vc", "options use-vc\nnameserver 192.0.2.1\n",
			resolver.Config{Servers: servers("tcp://192.0.2.1"), UseTCP: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := resolver.ParseConfig(strings.NewReader(c.text))
			require.NoError(t, err)
			for i := range c.want.Servers { // as written for the client: UDP is meant
				assert.Equal(t, c.want.Servers[i].String(), got.Servers[i].String())
			}
			assert.Len(t, got.Servers, len(c.want.Servers))
			got.Servers, c.want.Servers = nil, nil
			assert.Equal(t, c.want, got)
		})
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add("nameserver 192.0.2.1\noptions timeout:3 attempts:4 rotate use-vc\n# x\n; y\nsearch z\n")
	f.Add("nameserver fe80::1%eth0")
	f.Fuzz(func(t *testing.T, text string) {
		conf, err := resolver.ParseConfig(strings.NewReader(text))
		if err != nil {
			require.Empty(t, conf)
			return
		}
		require.NotEmpty(t, conf.Servers)
		require.LessOrEqual(t, len(conf.Servers), 3)
		require.LessOrEqual(t, conf.Timeout, 30*time.Second)
		require.LessOrEqual(t, conf.Attempts, 5)
		for _, s := range conf.Servers {
			again, err := resolver.ParseServer(s.String())
			require.NoError(t, err)
			require.Equal(t, s, again)
		}
	})
}

// asked returns which of the servers of a file are asked, in order.
func asked(t *testing.T, c *resolver.Client) []string {
	t.Helper()
	var trace resolver.Trace
	_, err := c.Exchange(resolver.WithTrace(t.Context(), &trace), question())
	require.Error(t, err) // the network is closed
	list := []string{}
	for _, s := range trace.Steps() {
		list = append(list, s.Server.String())
	}
	return list
}

func TestConfigFileIsFollowed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "resolv.conf")
	mtime := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	write := func(text string) {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		mtime = mtime.Add(time.Second)
		require.NoError(t, os.Chtimes(path, mtime, mtime))
	}
	synctest.Test(t, func(t *testing.T) {
		c := &resolver.Client{ConfigFile: path, Dial: network{}.dial, Attempts: 1}
		defer c.Close()
		wait := func() { <-time.After(6 * time.Second) }

		assert.Equal(t, []string{"udp://127.0.0.1", "udp://[::1]"}, asked(t, c), "no file")
		write("nameserver 192.0.2.1\n")
		assert.Equal(t, []string{"udp://127.0.0.1", "udp://[::1]"}, asked(t, c), "not looked at again yet")
		wait()
		assert.Equal(t, []string{"udp://192.0.2.1"}, asked(t, c), "written")
		wait()
		assert.Equal(t, []string{"udp://192.0.2.1"}, asked(t, c), "not changed")
		write("nameserver 192.0.2.7\n")
		wait()
		assert.Equal(t, []string{"udp://192.0.2.7"}, asked(t, c), "changed")
		require.NoError(t, os.Remove(path))
		wait()
		assert.Equal(t, []string{"udp://127.0.0.1", "udp://[::1]"}, asked(t, c), "removed")
	})
}

func TestConfigFileOptions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "resolv.conf")
	text := "nameserver 192.0.2.1\nnameserver 192.0.2.2\noptions attempts:1 rotate timeout:1\n"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	synctest.Test(t, func(t *testing.T) {
		c := &resolver.Client{ConfigFile: path, Dial: network{
			"udp 192.0.2.1:53": packets(deaf),
			"udp 192.0.2.2:53": packets(deaf),
		}.dial}
		defer c.Close()
		began := time.Now()
		first, second := asked(t, c), asked(t, c)
		assert.Equal(t, 4*time.Second, time.Since(began))
		assert.ElementsMatch(t, first, second)
		assert.NotEqual(t, first, second)
	})
}

func TestSystem(t *testing.T) {
	c := resolver.System()
	defer c.Close()
	assert.Empty(t, c.Servers)
	for _, s := range resolver.FallbackServers() {
		assert.True(t, netip.Addr.IsLoopback(s.Addrs[0]))
	}
}
