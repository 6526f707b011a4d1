package survey

import (
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// Over a real socket replies from elsewhere are seen, and those that are asked come through.
func TestOpenSocket(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs a second loopback address, 127.0.0.2, which Linux has")
	}
	server, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	defer server.Close()
	other, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 2)})
	require.NoError(t, err)
	defer other.Close()
	go func() {
		b := make([]byte, 512)
		for {
			n, from, err := server.ReadFromUDPAddrPort(b)
			if err != nil {
				return
			}
			b[2] |= 0x80
			other.WriteToUDPAddrPort(b[:n], from)
			server.WriteToUDPAddrPort(b[:n], from)
		}
	}()
	client, err := net.ListenUDP("udp", nil)
	require.NoError(t, err)
	defer client.Close()
	q := plain("example.com.", dns.TypeSOA)
	packed, err := q.Pack()
	require.NoError(t, err)
	w := newWire(nil)
	socket := openSocket{client, server.LocalAddr().(*net.UDPAddr).AddrPort()}
	r := w.converse(t.Context(), socket, netip.MustParseAddr("127.0.0.1"), q, packed, 2, 2*time.Second)
	require.True(t, r.OK())
	require.Equal(t, netip.MustParseAddr("127.0.0.2"), r.From.Addr().Unmap())
	require.Equal(t, Blocked, newWire(nil).udp(t.Context(), netip.MustParseAddr("127.0.0.1"), q, 1, time.Second).Result)
	require.Equal(t, NotAsked, newWire(nil).stray(t.Context(), netip.MustParseAddr("127.0.0.1"), q).Result)
}

// However many servers the parent zone has, one IPv6 address is among those that are asked.
func TestParentServers(t *testing.T) {
	w := diagtest.NewWorld(t)
	var hosts []string
	for i := range 13 {
		host := fmt.Sprintf("n%02d.nic.com.", i)
		hosts = append(hosts, host)
		w.Zone(fmt.Sprintf("%s A 192.0.2.%d\n%s AAAA 2001:db8::%d", host, i+1, host, i+1))
	}
	views := newAudit(w.Env(), diag.MustDomain("example.com")).parentServers(t.Context(), hosts, nil)
	require.Len(t, views, maxParents)
	require.Equal(t, netip.MustParseAddr("192.0.2.1"), views[0].IP)
	require.True(t, views[maxParents-1].IP.Is6())
}

func TestMixed(t *testing.T) {
	require.Equal(t, "ExAmPlE1.cOm.", MixedCase("example1.com."))
}
