package clients_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"math/big"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/diagkit/diagkit/webcheck/internal/clients"
	"github.com/diagkit/diagkit/webcheck/internal/probe"
	"github.com/diagkit/diagkit/webcheck/tlscert/tlscerttest"
	"github.com/stretchr/testify/require"
)

// Each family has all that a ClientHello needs, numbers that are known, and a source with a date.
func TestFamilies(t *testing.T) {
	names := map[string]bool{}
	for _, f := range clients.Families() {
		require.False(t, names[f.Name], f.Name)
		names[f.Name] = true
		require.Regexp(t, `20\d\d-\d\d-\d\d`, f.Source, f.Name)
		require.True(t, slices.IsSortedFunc(f.Versions, func(a, b probe.Version) int { return int(b) - int(a) }), f.Name)
		for _, id := range f.Suites {
			require.NotContains(t, probe.SuiteOf(id).Name, "0x", f.Name)
			require.True(t, f.Versions[0] == probe.TLS13 || !probe.SuiteOf(id).TLS13(), f.Name)
		}
		for _, g := range f.Groups {
			require.NotContains(t, g.String(), "group", f.Name)
		}
		for _, g := range f.Shares {
			require.Contains(t, f.Groups, g, f.Name)
		}
		for _, e := range f.Extensions {
			require.Contains(t, probe.BrowserExtensions(), e, f.Name)
		}
		require.NotEmpty(t, f.Signatures)
	}
}

func dialer(serve func(net.Conn)) probe.Dialer {
	return func(context.Context) (net.Conn, error) {
		here, there := net.Pipe()
		go serve(there)
		return here, nil
	}
}

// examine scans a server and asks it as all families.
func examine(t *testing.T, serve func(net.Conn), change func(*clients.Server)) (clients.Server, []clients.Outcome) {
	dial := dialer(serve)
	s := clients.Server{ServerName: "example.com", Web: true}
	s.Scan = probe.Scan(t.Context(), dial, probe.Config{ServerName: s.ServerName, ALPN: []string{"h2", "http/1.1"}})
	if change != nil {
		change(&s)
	}
	return s, clients.Examine(t.Context(), s, func(ctx context.Context, h probe.Hello) (*probe.Reply, error) {
		conn, err := dial(ctx)
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		return probe.Ask(ctx, conn, h)
	})
}

// failing maps the families that fail to the reasons. It is empty, not nil, if all connect.
func failing(t *testing.T, list []clients.Outcome) map[string]clients.Reason {
	all := map[string]clients.Reason{}
	for _, o := range list {
		require.NotEqual(t, probe.Unknown, o.Connects, o.Family.Name)
		require.Equal(t, o.Connects == probe.No, o.Reason != "")
		if o.Connects == probe.No {
			all[o.Family.Name] = o.Reason
		}
	}
	return all
}

// all returns a reason for all families but some.
func all(why clients.Reason, but ...string) map[string]clients.Reason {
	m := map[string]clients.Reason{}
	for _, f := range clients.Families() {
		if !slices.Contains(but, f.Name) {
			m[f.Name] = why
		}
	}
	return m
}

// old are the families without TLS 1.3.
var old = []string{"Android 7.0", "Windows 10", "Windows Server 2012 R2", "Java 8u161", "OpenSSL 1.0.2"}

func of(why clients.Reason, names ...string) map[string]clients.Reason {
	m := map[string]clients.Reason{}
	for _, n := range names {
		m[n] = why
	}
	return m
}

func tls12(ids ...uint16) tlscerttest.Server {
	return tlscerttest.Server{Suites: map[probe.Version][]uint16{probe.TLS12: ids}, Groups: []probe.Group{29, 23},
		DHBits: 2048}
}

func tls13(groups ...probe.Group) tlscerttest.Server {
	return tlscerttest.Server{Suites: map[probe.Version][]uint16{probe.TLS13: {0x1301, 0x1302}}, Groups: groups}
}

func TestExamine(t *testing.T) {
	usual := tls12(0xC02B, 0xC02F, 0xC013, 0x002F)
	usual.Suites[probe.TLS13] = []uint16{0x1302, 0x1301}
	small := tls12(0x009E, 0x0033)
	small.DHBits = 1024
	ed25519Key := tls13(29, 23)
	ed25519Key.Signatures = []uint16{0x0807}
	withoutDHE := []string{"Chrome 137", "Firefox 137", "Safari 26", "Safari 18", "Android 7.0", "Windows 11",
		"Windows 10",
		"Go 1.26"}
	for _, tt := range []struct {
		name   string
		server tlscerttest.Server
		box    tlscerttest.Middlebox
		change func(*clients.Server)
		want   map[string]clients.Reason
	}{
		{"usual", usual, tlscerttest.Middlebox{}, nil, of("")},
		{"TLS 1.3 only", tls13(29, 23), tlscerttest.Middlebox{}, nil, of(clients.NoVersion, old...)},
		{"TLS 1.0 only", tlscerttest.Server{Suites: map[probe.Version][]uint16{probe.TLS10: {0x002F}}},
			tlscerttest.Middlebox{}, nil, all(clients.NoVersion, "Safari 18", "Android 7.0", "Windows 10",
				"Windows Server 2012 R2", "Java 11", "Java 8u161", "OpenSSL 1.1.1", "OpenSSL 1.0.2")},
		{"RSA key exchange", tls12(0x009C), tlscerttest.Middlebox{}, nil, of(clients.NoSuite, "Go 1.26", "Java 25")},
		{"DHE", tls12(0x009E, 0x0033), tlscerttest.Middlebox{}, nil, of(clients.NoSuite, withoutDHE...)},
		{"DHE with a small prime", small, tlscerttest.Middlebox{}, nil, func() map[string]clients.Reason {
			m := of(clients.NoSuite, withoutDHE...)
			m["OpenSSL 3.5"] = clients.SmallPrime
			return m
		}()},
		{"post-quantum only", tls13(probe.X25519MLKEM768), tlscerttest.Middlebox{}, nil, func() map[string]clients.Reason {
			m := all(clients.NoGroup, "Chrome 137", "Firefox 137", "Safari 26", "Go 1.26", "OpenSSL 3.5")
			for _, n := range old {
				m[n] = clients.NoVersion
			}
			return m
		}()},
		{"P-384 only", tlscerttest.Server{Suites: map[probe.Version][]uint16{probe.TLS12: {0xC02F, 0xC013}},
			Groups: []probe.Group{24}}, tlscerttest.Middlebox{}, nil, of(clients.NoGroup, "Android 7.0")},
		{"an Ed25519 key", ed25519Key, tlscerttest.Middlebox{}, func(s *clients.Server) {
			s.Keys = []crypto.PublicKey{ed25519.PublicKey{}}
		}, func() map[string]clients.Reason {
			m := of(clients.KeyType, "Chrome 137", "Firefox 137", "Safari 26", "Safari 18", "Windows 11", "Java 11")
			for _, n := range old {
				m[n] = clients.NoVersion
			}
			return m
		}()},
		{"a key that is not known", ed25519Key, tlscerttest.Middlebox{}, nil, func() map[string]clients.Reason {
			m := of(clients.NoSignature, "Chrome 137", "Firefox 137", "Safari 26", "Safari 18", "Windows 11", "Java 11")
			for _, n := range old {
				m[n] = clients.NoVersion
			}
			return m
		}()},
		{"small messages only", usual, tlscerttest.Middlebox{MaxOctets: 1000}, nil, of(clients.LargeHello, "Chrome 137",
			"Firefox 137", "Safari 26", "Go 1.26", "OpenSSL 3.5")},
		{"no ALPN", usual, tlscerttest.Middlebox{Dropped: []probe.Property{probe.Protocols}}, nil,
			of(clients.ALPNHello, "Chrome 137", "Firefox 137", "Safari 26", "Safari 18", "Android 7.0")},
		{"no TLS 1.3 in the message", tls12(0xC02B, 0xC02F, 0xC013, 0x002F),
			tlscerttest.Middlebox{Dropped: []probe.Property{probe.NewVersion}}, nil, all(clients.TLS13Hello, old...)},
		{"no GREASE", usual, tlscerttest.Middlebox{Dropped: []probe.Property{probe.Reserved}}, nil,
			of(clients.OddHello, "Chrome 137", "Safari 26", "Safari 18")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.box.Server = tt.server.Serve
			s, list := examine(t, tt.box.Serve, tt.change)
			require.Equal(t, tt.want, failing(t, list))
			for _, o := range list {
				if o.Connects == probe.Yes {
					require.Contains(t, o.Family.Versions, o.Version)
					require.Contains(t, o.Family.Suites, o.Suite)
					require.NotEqual(t, probe.No, o.Family.Expect(s).Connects, "what connects was expected to fail")
				}
			}
		})
	}
}

// What the server chooses for a family is reported unchanged.
func TestChoice(t *testing.T) {
	server := tls12(0xC02F, 0xC013)
	server.Suites[probe.TLS13] = []uint16{0x1302, 0x1301}
	_, list := examine(t, server.Serve, nil)
	got := map[string]clients.Outcome{}
	for _, o := range list {
		got[o.Family.Name] = o
	}
	for name, want := range map[string]clients.Outcome{
		"Chrome 137":  {Version: probe.TLS13, Suite: 0x1302, Group: 29},
		"Android 7.0": {Version: probe.TLS12, Suite: 0xC02F, Group: 23},
		"Java 8u161":  {Version: probe.TLS12, Suite: 0xC02F, Group: 23},
	} {
		require.Equal(t, want.Version, got[name].Version)
		require.Equal(t, want.Suite, got[name].Suite)
		require.Equal(t, want.Group, got[name].Group)
	}
}

// A server that stops to answer proves nothing, and beside other services than those of the web there are no browsers.
func TestUnknown(t *testing.T) {
	server := tls12(0xC02F, 0xC013)
	var asked atomic.Int32
	_, list := examine(t, server.Serve, func(s *clients.Server) { s.Web = false })
	for _, o := range list {
		require.False(t, o.Family.Browser)
	}
	s := clients.Server{Scan: probe.Scan(t.Context(), dialer(server.Serve), probe.Config{})}
	list = clients.Examine(t.Context(), s, func(ctx context.Context, h probe.Hello) (*probe.Reply, error) {
		asked.Add(1)
		conn, _ := dialer(tlscerttest.Server{}.Serve)(ctx)
		defer conn.Close()
		return probe.Ask(ctx, conn, h)
	})
	for _, o := range list {
		require.Equal(t, probe.Unknown, o.Connects, o.Family.Name)
		require.Empty(t, o.Reason)
	}
	require.LessOrEqual(t, int(asked.Load()), 5*len(list)+1)
}

func TestDistrust(t *testing.T) {
	_, list := examine(t, tls12(0xC02F, 0xC013).Serve, nil)
	isrg := "96bcec06264976f37460779acf28c5a7cfe8a3c0aae11a8ffcee05c0bddf08c6"
	require.Equal(t, of(clients.NoRoot, "Android 7.0"), failing(t, clients.Distrust(list, []string{isrg})))
	require.Equal(t, of(""), failing(t, clients.Distrust(list, []string{isrg, "another"})))
	require.Equal(t, of(""), failing(t, clients.Distrust(list, nil)))
}

// A connection that breaks off by chance says nothing.
func TestChance(t *testing.T) {
	server := tls12(0xC02F, 0xC013)
	s := clients.Server{Web: true, Scan: probe.Scan(t.Context(), dialer(server.Serve), probe.Config{})}
	var asked sync.Map
	list := clients.Examine(t.Context(), s, func(ctx context.Context, h probe.Hello) (*probe.Reply, error) {
		serve := server.Serve
		if _, again := asked.LoadOrStore(h.Octets, true); !again {
			serve = func(conn net.Conn) { conn.Close() }
		}
		conn, _ := dialer(serve)(ctx)
		defer conn.Close()
		return probe.Ask(ctx, conn, h)
	})
	require.Equal(t, of(""), failing(t, list))
}

func TestIfDisabled(t *testing.T) {
	server := tls12(0xC02B, 0xC02F, 0xC013)
	server.Suites[probe.TLS13] = []uint16{0x1301}
	server.Groups = []probe.Group{probe.X25519MLKEM768, 29, 23}
	keys := []crypto.PublicKey{
		&rsa.PublicKey{N: big.NewInt(1), E: 3}, &ecdsa.PublicKey{Curve: elliptic.P256()},
	}
	s, list := examine(t, server.Serve, func(s *clients.Server) { s.Keys = keys })
	d := clients.IfDisabled(s, list)
	require.ElementsMatch(t, old, d.TLS12)
	require.Equal(t, []string{}, d.RSA)
	require.Len(t, d.Classical, len(clients.Families())-5)

	keys[1] = &ecdsa.PublicKey{Curve: elliptic.P384()}
	d = clients.IfDisabled(s, list)
	require.Equal(t, []string{"Android 7.0"}, d.RSA)

	s, list = examine(t, tls12(0xC02F).Serve, nil)
	require.Zero(t, clients.IfDisabled(s, list))
}
