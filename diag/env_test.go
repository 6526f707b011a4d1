package diag

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/netip"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEnvClock(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	require.Equal(t, noon, (&Env{Clock: func() time.Time { return noon }}).Now())
	for _, e := range []*Env{nil, {}} {
		require.WithinDuration(t, time.Now(), e.Now(), time.Minute)
	}
}

func TestEnvTLSConfig(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	roots := x509.NewCertPool()
	e := &Env{Roots: roots, Clock: func() time.Time { return noon }}
	c := e.TLSConfig("mail.example.com.")
	require.Equal(t, "mail.example.com", c.ServerName)
	require.Same(t, roots, c.RootCAs)
	require.Equal(t, noon, c.Time())
	require.EqualValues(t, tls.VersionTLS12, c.MinVersion)
	require.False(t, c.InsecureSkipVerify)
	require.NotSame(t, c, e.TLSConfig("mail.example.com"), "each caller may change its own")

	c = (*Env)(nil).TLSConfig("192.0.2.1")
	require.Nil(t, c.RootCAs, "the system's")
	require.WithinDuration(t, time.Now(), c.Time(), time.Minute)
}

func TestEnvDNS(t *testing.T) {
	own := new(fakeDNS)
	require.Equal(t, Resolver(answering{own}), (&Env{Resolver: own}).DNS())
	inner := (&Env{Resolver: own}).DNS()
	require.Equal(t, inner, (&Env{Resolver: inner}).DNS(), "wrapped once")
	client := new(resolver.Client)
	require.Same(t, client, (&Env{Resolver: client}).DNS(), "ours always answer")
	var e Env
	require.NotNil(t, e.DNS())
	require.Equal(t, e.DNS(), e.DNS(), "made once")
	require.Equal(t, (*Env)(nil).DNS(), (*Env)(nil).DNS())
}

// Name servers are asked through the network of the environment, at most once made for each id, and
// past the guard: they are the operator's choice.
func TestEnvUpstream(t *testing.T) {
	var mu sync.Mutex
	var dialed []string
	e := &Env{Dial: func(_ context.Context, network, addr string) (net.Conn, error) {
		mu.Lock()
		defer mu.Unlock()
		dialed = append(dialed, network+" "+addr)
		near, far := net.Pipe()
		go answer(far)
		return near, nil
	}}
	servers := []resolver.Server{{Addrs: []netip.Addr{netip.MustParseAddr("10.0.0.53")}}}
	upstream := e.Upstream("office", servers...)
	require.Equal(t, upstream, e.Upstream("office", servers...))
	require.NotEqual(t, upstream, e.Upstream("home", servers...))
	defer upstream.(*resolver.Client).Close()

	m, err := upstream.Exchange(t.Context(), dnsmsg.Question("example.com.", dns.TypeA, false))
	require.NoError(t, err)
	assert.Equal(t, dns.RcodeNameError, m.Rcode)
	assert.Equal(t, []string{"udp 10.0.0.53:53"}, dialed)
}

// A name server given by name is looked up in the environment, not through the system.
func TestEnvUpstreamByName(t *testing.T) {
	network := new(fakeNet)
	e := &Env{Resolver: new(fakeDNS).set(host, dns.TypeA, has(v4a)), Dial: network.dial}
	server := resolver.Server{Transport: resolver.DoT, Name: "www.example.com"}
	_, err := e.Upstream("tls", server).Exchange(t.Context(), dnsmsg.Question("example.com.", dns.TypeA, false))
	require.Error(t, err)
	require.Subset(t, []string{v4a}, network.dialedAddrs())
	require.NotEmpty(t, network.dialedAddrs())

	_, err = e.lookUpServer(t.Context(), "nowhere.example.com")
	var none *NoAddressError
	require.ErrorAs(t, err, &none)
}

// answer plays a name server that knows no names, for one message after the other.
func answer(conn net.Conn) {
	defer conn.Close()
	buf := make([]byte, 4096)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return
		}
		q := new(dns.Msg)
		if q.Unpack(buf[:n]) != nil {
			return
		}
		wire, err := new(dns.Msg).SetRcode(q, dns.RcodeNameError).Pack()
		if err != nil {
			return
		}
		if _, err := conn.Write(wire); err != nil {
			return
		}
	}
}

// A derived environment asks the same question once, whatever its answer, and shares what its origin keeps.
func TestEnvCached(t *testing.T) {
	refusing := new(fakeDNS).set("example.com.", dns.TypeMX, fakeAnswer{rcode: dns.RcodeRefused})
	e := &Env{
		Resolver: refusing,
		Data:     fstest.MapFS{"list.txt": {Data: []byte("mine")}}, HideResolver: true,
	}
	c := e.Cached()
	for range 2 {
		a := Lookup[*dns.MX](t.Context(), c, "example.com")
		require.Error(t, a.Err())
	}
	require.Len(t, refusing.asked, 1)
	Lookup[*dns.MX](t.Context(), e.Cached(), "example.com")
	require.Len(t, refusing.asked, 2, "each operation has a cache of its own")
	require.True(t, c.HideResolver)

	read := 0
	list := func(e *Env) string {
		text, err := List(e, "list.txt", func() string { return "" }, func(b []byte) (string, error) {
			read++
			return string(b), nil
		})
		require.NoError(t, err)
		return text
	}
	require.Equal(t, []string{"mine", "mine", "mine"}, []string{list(c), list(e), list(c.Cached())})
	require.Equal(t, 1, read)
	require.Same(t, e.Upstream("x"), c.Upstream("x"))
	require.NotNil(t, (*Env)(nil).Cached().DNS())
}

func TestSharedIsMadeOncePerEnvironment(t *testing.T) {
	type key struct{}
	made := 0
	get := func(e *Env) int { return Shared(e, key{}, func() int { made++; return made }) }
	a, b := &Env{}, &Env{}
	for range 2 {
		require.Equal(t, 1, get(a))
		require.Equal(t, 1, get(a.Cached()))
		require.Equal(t, 2, get(b))
	}
}
