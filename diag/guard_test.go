package diag

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// refusedAddrs are addresses that the zero Guard must refuse, first and last ones of their networks
// above all.
const refusedAddrs = `
	0.0.0.0 0.0.0.1 0.255.255.255
	10.0.0.0 10.0.0.1 10.255.255.255
	100.64.0.0 100.64.0.1 100.100.100.200 100.127.255.255
	127.0.0.0 127.0.0.1 127.1.2.3 127.255.255.255
	168.63.129.16
	169.254.0.0 169.254.169.254 169.254.170.2 169.254.255.255
	172.16.0.0 172.16.0.1 172.31.255.255
	192.0.0.0 192.0.0.8 192.0.0.9 192.0.0.170 192.0.0.192 192.0.0.255
	192.0.2.0 192.0.2.255
	192.31.196.0 192.31.196.255 192.52.193.0 192.52.193.255
	192.88.99.0 192.88.99.2 192.88.99.255
	192.168.0.0 192.168.1.1 192.168.255.255
	192.175.48.0 192.175.48.255
	198.18.0.0 198.19.255.255
	198.51.100.0 198.51.100.255 203.0.113.0 203.0.113.255
	224.0.0.0 224.0.0.1 239.255.255.255
	240.0.0.0 250.1.2.3 255.255.255.254 255.255.255.255
	:: ::1 ::2 ::127.0.0.1 ::8.8.8.8
	::ffff:0.0.0.0 ::ffff:10.0.0.1 ::ffff:127.0.0.1 ::ffff:169.254.169.254 ::ffff:168.63.129.16 ::ffff:8.8.8.8
	::ffff:0:127.0.0.1 ::ffff:0:8.8.8.8
	64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b::808:808 64:ff9b:1::1 64:ff9b:1:ffff:ffff:ffff:ffff:ffff
	100::1 100:0:0:1::1
	2001:: 2001:0:7f00:1::1 2001:1::1 2001:1::2 2001:2::1 2001:3::1 2001:4:112::1 2001:10::1 2001:20::1
	2001:30::1 2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff
	2001:db8:: 2001:db8:ffff:ffff:ffff:ffff:ffff:ffff
	2002:7f00:1::1 2002:a9fe:a9fe::1 2002:808:808::1
	2620:4f:8000::1 2620:4f:8000:ffff:ffff:ffff:ffff:ffff
	3fff::1 3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff
	4000::1 5f00::1 6000::1 8000::1 a000::1
	fc00::1 fd00:ec2::254 fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
	fe00::1 fe80::1 febf::1 fec0::1 feff::1
	ff00::1 ff02::1 ff0e::1 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
	fe80::1%eth0 2606:4700::1%eth0 ::1%lo`

// allowedAddrs are addresses that the zero Guard must let pass, next to refused ones above all.
const allowedAddrs = `
	1.0.0.0 1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0
	100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0
	168.63.129.15 168.63.129.17 169.253.255.255 169.255.0.0
	172.15.255.255 172.32.0.0 191.255.255.255 192.0.1.0 192.0.1.255 192.0.3.0
	192.31.195.255 192.31.197.0 192.88.98.255 192.88.100.0 192.167.255.255 192.169.0.0
	198.17.255.255 198.20.0.0 198.51.99.255 198.51.101.0 203.0.112.255 203.0.114.0 223.255.255.255
	2000::1 2001:200::1 2001:4860:4860::8888 2001:db7:ffff::1 2001:db9::1 2003::1
	2606:4700:4700::1111 2620:4f:7fff::1 2620:4f:8001::1 2620:fe::fe 2a00:1450:4001::1
	3ffe:ffff:ffff::1 3fff:1000::1`

func TestGuardAddresses(t *testing.T) {
	refused, allowed := strings.Fields(refusedAddrs), strings.Fields(allowedAddrs)
	require.Greater(t, len(refused)+len(allowed), 120)
	var g Guard
	for _, s := range refused {
		err := g.Check(netip.AddrPortFrom(netip.MustParseAddr(s), 443), WebPorts)
		blocked, ok := errors.AsType[*BlockedError](err)
		if assert.True(t, ok, "%s must be refused", s) {
			assert.Equal(t, addressRefused, blocked.Reason, "all refusals read the same")
		}
	}
	for _, s := range allowed {
		assert.NoError(t, g.Check(netip.AddrPortFrom(netip.MustParseAddr(s), 443), WebPorts))
	}
	assert.Error(t, g.Check(netip.AddrPortFrom(netip.Addr{}, 443), WebPorts), "no address")
}

func TestGuardPorts(t *testing.T) {
	public := netip.MustParseAddr("8.8.8.8")
	tests := []struct {
		name  string
		guard Guard
		ports Ports
		port  uint16
		ok    bool
	}{
		{"of the protocol", Guard{}, WebPorts, 443, true},
		{"of another protocol", Guard{}, WebPorts, 25, false},
		{"of another protocol, the other way round", Guard{}, SMTPPorts, 443, false},
		{"none", Guard{}, nil, 443, false},
		{"zero", Guard{AllowPorts: []uint16{0}}, Ports{0}, 0, false},
		{"allowed by the operator", Guard{AllowPorts: []uint16{10025}}, SMTPPorts, 10025, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.guard.Check(netip.AddrPortFrom(public, tt.port), tt.ports)
			if tt.ok {
				require.NoError(t, err)
				return
			}
			var blocked *BlockedError
			require.ErrorAs(t, err, &blocked)
			require.Equal(t, portRefused, blocked.Reason)
		})
	}
}

func TestGuardNetworks(t *testing.T) {
	allow := func(networks ...string) (g Guard) {
		for _, n := range networks {
			g.AllowNetworks = append(g.AllowNetworks, netip.MustParsePrefix(n))
		}
		return g
	}
	deny := allow("8.8.8.0/24")
	deny.DenyNetworks, deny.AllowNetworks = deny.AllowNetworks, deny.DenyNetworks
	both := allow("8.8.8.0/24")
	both.DenyNetworks = both.AllowNetworks
	tests := []struct {
		name  string
		guard Guard
		addr  string
		ok    bool
	}{
		{"IPv4", allow("10.0.0.0/8"), "10.1.2.3", true},
		{"beside it", allow("10.0.0.0/16"), "10.1.2.3", false},
		{"mapped address", allow("10.0.0.0/8"), "::ffff:10.1.2.3", true},
		{"mapped network", allow("::ffff:10.0.0.0/104"), "10.1.2.3", true},
		{"NAT64 form of an allowed network", allow("10.0.0.0/8"), "64:ff9b::a01:203", false},
		{"NAT64 allowed", allow("64:ff9b::/96"), "64:ff9b::808:808", true},
		{"6to4 form of an allowed network", allow("10.0.0.0/8"), "2002:a01:203::1", false},
		{"6to4 allowed", allow("2002::/16"), "2002:808:808::1", true},
		{"all of IPv6 allows no IPv4", allow("::/0"), "::ffff:127.0.0.1", false},
		{"all of IPv6", allow("::/0"), "fd00::1", true},
		{"all of IPv4", allow("0.0.0.0/0"), "127.0.0.1", true},
		{"zone in an allowed network", allow("fe80::/10"), "fe80::1%eth0", false},
		{"denied", deny, "8.8.8.8", false},
		{"denied, mapped", deny, "::ffff:8.8.8.8", false},
		{"beside the denied", deny, "8.8.9.8", true},
		{"denied goes first", both, "8.8.8.8", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.guard.Check(netip.AddrPortFrom(netip.MustParseAddr(tt.addr), 80), WebPorts)
			require.Equal(t, tt.ok, err == nil)
		})
	}
}

// The hook of the real dialer judges the address that is passed to the operating system, even if another one was
// checked before: here a name that the system itself resolves.
func TestGuardControlsRealDialler(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	addr := listener.Addr().(*net.TCPAddr).AddrPort()

	env := &Env{Guard: Guard{AllowPorts: []uint16{addr.Port()}}}
	_, err = env.dialer(nil).DialContext(t.Context(), "tcp", addr.String())
	var blocked *BlockedError
	require.ErrorAs(t, err, &blocked)
	require.Equal(t, addr, blocked.Addr)

	_, err = env.DialAddr(t.Context(), "tcp", addr, nil)
	require.ErrorAs(t, err, &blocked)

	open := &Env{Guard: Guard{
		AllowPorts:    []uint16{addr.Port()},
		AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	}}
	conn, err := open.DialAddr(t.Context(), "tcp", addr, nil)
	require.NoError(t, err)
	require.NoError(t, conn.Close())

	require.Error(t, open.Guard.control(nil)("tcp", "no address", nil))
}

func TestBlockedErrorText(t *testing.T) {
	var g Guard
	err := g.Check(netip.MustParseAddrPort("10.0.0.1:80"), WebPorts)
	require.EqualError(t, err, "connecting to 10.0.0.1:80: the address is not public")
	_, err = new(Env).DialHost(t.Context(), "example.com", 22, WebPorts)
	require.EqualError(t, err, "connecting to port 22: the port is not allowed")
}

func FuzzGuard(f *testing.F) {
	for _, s := range strings.Fields(refusedAddrs + allowedAddrs) {
		ip := netip.MustParseAddr(s)
		f.Add(ip.AsSlice())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		ip, ok := netip.AddrFromSlice(b)
		if !ok {
			return
		}
		var g Guard
		if !g.allowsAddr(ip) {
			return
		}
		// Every permission must agree with the standard library's classification of addresses.
		plain := ip.Unmap()
		if !plain.IsGlobalUnicast() || plain.IsPrivate() || plain.IsLoopback() || plain.IsMulticast() {
			t.Errorf("%s is allowed", ip)
		}
		if ip.Is4In6() {
			t.Errorf("%s is allowed in the mapped spelling", ip)
		}
	})
}

func BenchmarkGuardCheck(b *testing.B) {
	for name, s := range map[string]string{"v4": "93.184.216.34:443", "v6": "[2606:2800:220:1::1]:443"} {
		b.Run(name, func(b *testing.B) {
			var g Guard
			addr := netip.MustParseAddrPort(s)
			b.ReportAllocs()
			for b.Loop() {
				if g.Check(addr, WebPorts) != nil {
					b.Fatal("refused")
				}
			}
		})
	}
}

// Public does not depend on the networks that the operator denies.
func TestPublic(t *testing.T) {
	env := &Env{Guard: Guard{
		AllowNetworks: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")},
		DenyNetworks:  []netip.Prefix{netip.MustParsePrefix("9.9.9.0/24")},
	}}
	tests := []struct {
		addr string
		env  *Env
		want bool
	}{
		{"9.9.9.9", env, true},
		{"192.0.2.1", env, true},
		{"192.0.2.1", nil, false},
		{"10.0.0.1", env, false},
		{"127.0.0.1", nil, false},
		{"::ffff:9.9.9.9", nil, false},
		{"fd00::1", nil, false},
		{"2620:fe::fe", nil, true},
		{"2620:fe::fe%eth0", nil, false},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, tt.env.Public(netip.MustParseAddr(tt.addr)), tt.addr)
	}
	assert.False(t, env.Public(netip.Addr{}))
}
