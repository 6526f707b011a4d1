package diag

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	host = "www.example.com."
	v4a  = "192.0.2.1"
	v4b  = "192.0.2.2"
	v6a  = "2001:db8::1"
	v6b  = "2001:db8::2"
)

// testNets are the networks that a test may dial.
var testNets = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::/32")}

func has(addrs ...string) fakeAnswer {
	a := fakeAnswer{}
	for _, s := range addrs {
		kind := "A"
		if netip.MustParseAddr(s).Is6() {
			kind = "AAAA"
		}
		a.records = append(a.records, fmt.Sprintf("%s 60 IN %s %s", host, kind, s))
	}
	return a
}

func after(d time.Duration, a fakeAnswer) fakeAnswer {
	a.delay = d
	return a
}

// TestDialHost shows in what order and at what time addresses are tried. Time is virtual.
func TestDialHost(t *testing.T) {
	const ms = time.Millisecond
	up, down, dead := fakeHost{delay: 10 * ms}, fakeHost{delay: 10 * ms, down: true}, fakeHost{dead: true}
	tests := []struct {
		name   string
		v6, v4 fakeAnswer
		hosts  map[string]fakeHost
		dialed []fakeDial
		winner string // empty if no connection is made
		took   time.Duration
	}{
		{
			"IPv6 first", has(v6a), has(v4a), map[string]fakeHost{v6a: up, v4a: up},
			[]fakeDial{{v6a, 0}}, v6a, 10 * ms,
		},
		{
			"IPv6 answers first", has(v6a), after(30*ms, has(v4a)), map[string]fakeHost{v6a: up},
			[]fakeDial{{v6a, 0}}, v6a, 10 * ms,
		},
		{
			"IPv6 answers within the resolution delay", after(40*ms, has(v6a)), has(v4a),
			map[string]fakeHost{v6a: up, v4a: up}, []fakeDial{{v6a, 40 * ms}}, v6a, 50 * ms,
		},
		{
			"IPv6 answers too late", after(200*ms, has(v6a)), has(v4a),
			map[string]fakeHost{v6a: up, v4a: up}, []fakeDial{{v4a, 50 * ms}}, v4a, 60 * ms,
		},
		{
			"IPv6 answers late, and is of use then", after(200*ms, has(v6a)), has(v4a),
			map[string]fakeHost{v6a: up, v4a: dead}, []fakeDial{{v4a, 50 * ms}, {v6a, 300 * ms}}, v6a, 310 * ms,
		},
		{
			"no IPv6, said at once", has(), has(v4a), map[string]fakeHost{v4a: up},
			[]fakeDial{{v4a, 0}}, v4a, 10 * ms,
		},
		{
			"no IPv6, IPv4 answers late", has(), after(500*ms, has(v4a)), map[string]fakeHost{v4a: up},
			[]fakeDial{{v4a, 500 * ms}}, v4a, 510 * ms,
		},
		{
			"name servers silent about IPv6", fakeAnswer{silent: true}, has(v4a), map[string]fakeHost{v4a: up},
			[]fakeDial{{v4a, 50 * ms}}, v4a, 60 * ms,
		},
		{
			"IPv6 refuses", has(v6a), has(v4a), map[string]fakeHost{v6a: down, v4a: up},
			[]fakeDial{{v6a, 0}, {v4a, 10 * ms}}, v4a, 20 * ms,
		},
		{
			"IPv6 is dead", has(v6a), has(v4a), map[string]fakeHost{v6a: dead, v4a: up},
			[]fakeDial{{v6a, 0}, {v4a, 250 * ms}}, v4a, 260 * ms,
		},
		{
			"families take turns", has(v6a, v6b), has(v4a, v4b),
			map[string]fakeHost{v6a: down, v6b: down, v4a: down, v4b: up},
			[]fakeDial{{v6a, 0}, {v4a, 10 * ms}, {v6b, 20 * ms}, {v4b, 30 * ms}}, v4b, 40 * ms,
		},
		{
			"one family left", has(v6a), has(v4a, v4b), map[string]fakeHost{v6a: dead, v4a: dead, v4b: up},
			[]fakeDial{{v6a, 0}, {v4a, 250 * ms}, {v4b, 500 * ms}}, v4b, 510 * ms,
		},
		{
			"a slow first address wins", has(v6a), has(v4a),
			map[string]fakeHost{v6a: {delay: 300 * ms}, v4a: {delay: 300 * ms}},
			[]fakeDial{{v6a, 0}, {v4a, 250 * ms}}, v6a, 300 * ms,
		},
		{
			"the loser connects all the same", has(v6a), has(v4a),
			map[string]fakeHost{v6a: {delay: time.Hour, late: true}, v4a: up},
			[]fakeDial{{v6a, 0}, {v4a, 250 * ms}}, v4a, 260 * ms,
		},
		{
			"all refuse", has(v6a), has(v4a), map[string]fakeHost{v6a: down, v4a: down},
			[]fakeDial{{v6a, 0}, {v4a, 10 * ms}}, "", 20 * ms,
		},
		{
			"all are dead", has(v6a), has(v4a), map[string]fakeHost{v6a: dead, v4a: dead},
			[]fakeDial{{v6a, 0}, {v4a, 250 * ms}}, "", dialTimeout + 250*ms,
		},
		{
			"refused addresses are not dialled", has("::1", v6a), has("127.0.0.1", "10.0.0.1", v4a),
			map[string]fakeHost{v6a: down, v4a: up}, []fakeDial{{v6a, 0}, {v4a, 10 * ms}}, v4a, 20 * ms,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := &fakeNet{hosts: tt.hosts, begun: time.Now()}
				env := &Env{
					Resolver: new(fakeDNS).set(host, dns.TypeAAAA, tt.v6).set(host, dns.TypeA, tt.v4),
					Dial:     network.dial,
					Guard:    Guard{AllowNetworks: testNets},
				}
				conn, err := env.DialHost(t.Context(), "www.example.com", 443, WebPorts)
				assert.Equal(t, tt.took, time.Since(network.begun))
				assert.Equal(t, tt.dialed, network.dialed)
				if tt.winner == "" {
					require.Error(t, err)
				} else {
					require.NoError(t, err)
					assert.Equal(t, net.JoinHostPort(tt.winner, "443"), conn.RemoteAddr().String())
					require.NoError(t, conn.Close())
				}
				synctest.Wait() // for the losers; a goroutine left behind would end the test
				assert.Zero(t, network.open, "connections left open")
			})
		})
	}
}

func TestDialHostErrors(t *testing.T) {
	nothing := fakeAnswer{}
	servfail := fakeAnswer{rcode: dns.RcodeServerFailure}
	nxdomain := fakeAnswer{rcode: dns.RcodeNameError}
	tests := []struct {
		name   string
		v6, v4 fakeAnswer
		want   string
		dialed []string
	}{
		{"no address", nothing, nothing, "www.example.com has no address", []string{}},
		{
			"name servers failed", servfail, servfail,
			"the resolver answered SERVFAIL", []string{},
		},
		{
			"no IPv4, and name servers failed about IPv6", servfail, nothing,
			"the resolver answered SERVFAIL", []string{},
		},
		{
			"all refused by the guard", has("fd00::1"), has("10.0.0.1", "127.0.0.1"),
			"connecting to [fd00::1]:443: the address is not public", []string{},
		},
		{
			"one refused by the guard, and name servers failed about the other", servfail, has("10.0.0.1"),
			"the resolver answered SERVFAIL", []string{},
		},
		{"does not exist, and name servers failed about IPv6", servfail, nxdomain, "www.example.com does not exist", []string{}},
		{
			"one down, and name servers failed about the other", servfail, has(v4a),
			"dial tcp 192.0.2.1:443: permission denied; the resolver answered SERVFAIL", []string{v4a},
		},
		{
			"one address down", nothing, has(v4a),
			"dial tcp 192.0.2.1:443: permission denied", []string{v4a},
		},
		{
			"one down, one refused", has("::1"), has(v4a),
			"dial tcp 192.0.2.1:443: permission denied; connecting to [::1]:443: the address is not public",
			[]string{v4a},
		},
		{
			"two down", has(v6a), has(v4a),
			"dial tcp [2001:db8::1]:443: permission denied; dial tcp 192.0.2.1:443: permission denied",
			[]string{v6a, v4a},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := &fakeNet{begun: time.Now()}
				// The IPv4 answer is the later one, so that the order of the errors is settled.
				env := &Env{
					Resolver: new(fakeDNS).set(host, dns.TypeAAAA, tt.v6).set(host, dns.TypeA, after(1, tt.v4)),
					Dial:     network.dial,
					Guard:    Guard{AllowNetworks: testNets},
				}
				_, err := env.DialHost(t.Context(), "www.example.com", 443, WebPorts)
				require.EqualError(t, err, tt.want)
				require.Equal(t, tt.dialed, network.dialedAddrs())
			})
		})
	}
}

func TestDialHostErrorTypes(t *testing.T) {
	network := new(fakeNet)
	dialler := func(answer fakeAnswer) error {
		env := &Env{
			Resolver: new(fakeDNS).set(host, dns.TypeA, answer), Dial: network.dial,
			Guard: Guard{AllowNetworks: testNets},
		}
		_, err := env.DialHost(t.Context(), host, 443, WebPorts)
		return err
	}
	var none *NoAddressError
	require.ErrorAs(t, dialler(fakeAnswer{}), &none)
	require.NoError(t, none.Err, "absence is a fact")
	require.False(t, none.Missing || none.Resolver)
	require.ErrorAs(t, dialler(fakeAnswer{rcode: dns.RcodeNameError}), &none)
	require.True(t, none.Missing)
	require.ErrorAs(t, dialler(fakeAnswer{rcode: dns.RcodeRefused}), &none)
	require.Error(t, none.Err, "the name servers did not say")
	require.False(t, none.Resolver, "it answered about IPv6")
	require.ErrorIs(t, none, none.Err)

	var blocked *BlockedError
	require.ErrorAs(t, dialler(has("10.0.0.1")), &blocked)
	require.ErrorAs(t, dialler(has("10.0.0.1", v4a)), &blocked)
	var failed *net.OpError
	require.ErrorAs(t, dialler(has("10.0.0.1", v4a)), &failed)
}

// A name whose addresses change between two lookups gains nothing: what was checked is dialed, and
// it is looked up once.
func TestDialHostRebinding(t *testing.T) {
	world := new(fakeDNS).set(host, dns.TypeA, has(v4a), has("127.0.0.1"))
	network := &fakeNet{hosts: map[string]fakeHost{v4a: {}, "127.0.0.1": {}}}
	env := &Env{Resolver: world, Dial: network.dial, Guard: Guard{AllowNetworks: testNets}}

	conn, err := env.DialHost(t.Context(), host, 80, WebPorts)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	require.Equal(t, []string{v4a}, network.dialedAddrs())
	require.Len(t, world.asked, 2, "one question for each family")

	_, err = env.DialHost(t.Context(), host, 80, WebPorts)
	var blocked *BlockedError
	require.ErrorAs(t, err, &blocked)
	require.Equal(t, []string{v4a}, network.dialedAddrs(), "nothing more was dialled")
}

func TestDialAddr(t *testing.T) {
	network := &fakeNet{hosts: map[string]fakeHost{v4a: {}, "127.0.0.1": {}}}
	env := &Env{Dial: network.dial, Guard: Guard{AllowNetworks: testNets}}
	conn, err := env.DialAddr(t.Context(), "udp", netip.MustParseAddrPort(v4a+":53"), DNSPorts)
	require.NoError(t, err)
	require.NoError(t, conn.Close())

	var blocked *BlockedError
	_, err = env.DialAddr(t.Context(), "udp", netip.MustParseAddrPort("127.0.0.1:53"), DNSPorts)
	require.ErrorAs(t, err, &blocked)
	_, err = env.DialAddr(t.Context(), "udp", netip.MustParseAddrPort(v4a+":123"), DNSPorts)
	require.ErrorAs(t, err, &blocked)
	require.Equal(t, []string{v4a}, network.dialedAddrs(), "what is refused is not dialled")
}

func TestDialHostLiterals(t *testing.T) {
	network := &fakeNet{hosts: map[string]fakeHost{v4a: {}, v6a: {}}}
	env := &Env{Resolver: new(fakeDNS), Dial: network.dial, Guard: Guard{AllowNetworks: testNets}}
	for _, host := range []string{v4a, v6a} {
		conn, err := env.DialHost(t.Context(), host, 80, WebPorts)
		require.NoError(t, err)
		require.NoError(t, conn.Close())
	}
	for _, host := range []string{
		"127.0.0.1", "::1", "::ffff:127.0.0.1", "fe80::1%eth0", "localhost", "LOCALHOST.", "a.localhost",
	} {
		_, err := env.DialHost(t.Context(), host, 80, WebPorts)
		var blocked *BlockedError
		assert.ErrorAs(t, err, &blocked, host)
	}
	require.Equal(t, []string{v4a, v6a}, network.dialedAddrs())
	require.Empty(t, env.Resolver.(*fakeDNS).asked, "nothing of this is a question for the DNS")
}

func TestDialHostTriesFew(t *testing.T) {
	many := fakeAnswer{}
	for i := range 200 {
		many.records = append(many.records, fmt.Sprintf("%s A 192.0.2.%d", host, i))
	}
	network := new(fakeNet)
	env := &Env{
		Resolver: new(fakeDNS).set(host, dns.TypeA, many), Dial: network.dial,
		Guard: Guard{AllowNetworks: testNets},
	}
	_, err := env.DialHost(t.Context(), host, 80, WebPorts)
	require.Error(t, err)
	require.Len(t, network.dialed, maxTries)
}

func TestDialHostObeysContext(t *testing.T) {
	tests := []struct {
		name string
		v4   fakeAnswer
	}{
		{"while looking up", fakeAnswer{silent: true}},
		{"while dialling", has(v4a)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := &fakeNet{hosts: map[string]fakeHost{v4a: {dead: true}}}
				env := &Env{
					Resolver: new(fakeDNS).set(host, dns.TypeA, tt.v4), Dial: network.dial,
					Guard: Guard{AllowNetworks: testNets},
				}
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				begun := time.Now()
				_, err := env.DialHost(ctx, host, 443, WebPorts)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Equal(t, 3*time.Second, time.Since(begun))

				_, err = env.DialHost(ctx, host, 443, WebPorts)
				require.Equal(t, context.DeadlineExceeded, err, "an ended context is not even begun with")
			})
		})
	}
}

func TestDialHostCarriesPanic(t *testing.T) {
	env := &Env{Resolver: new(fakeDNS), Guard: Guard{AllowNetworks: testNets}}
	env.Dial = func(context.Context, string, string) (net.Conn, error) { panic("a bug in the dialler") }
	defer func() {
		p, ok := recover().(*GoPanic)
		require.True(t, ok)
		require.Equal(t, "a bug in the dialler", p.Value)
	}()
	_, _ = env.DialHost(t.Context(), v4a, 443, WebPorts)
}

func TestDialErrorsUnwrap(t *testing.T) {
	a, b := errors.New("a"), errors.New("b")
	require.ErrorIs(t, dialErrors{a, b}, b)
	require.EqualError(t, dialErrors{a, b}, "a; b")
}
