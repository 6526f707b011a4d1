package nameserver_test

import (
	"context"
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/zonecheck"
	"github.com/diagkit/diagkit/mailauth/hostedspf/memory"
	"github.com/diagkit/diagkit/mailauth/hostedspf/nameserver"
)

// around holds the delegation of the zone and the addresses of its servers.
const around = `
example.net.        3600 SOA ns1.nic.net. hostmaster.nic.net. 1 14400 3600 1209600 3600
example.net.        3600 NS  ns1.nic.net.
example.net.        3600 NS  ns2.nic.net.
ns1.nic.net.        3600 A   192.0.2.2
ns2.nic.net.        3600 A   198.51.100.2
example.net.        3600 MX  10 mail.nic.net.
mail.nic.net.       3600 A   203.0.113.25
spf.example.net.    3600 SOA ns1.spf.example.net. hostmaster.example.net. 7 14400 3600 1209600 300
spf.example.net.    3600 NS  ns1.spf.example.net.
spf.example.net.    3600 NS  ns2.spf.example.net.
ns1.spf.example.net. 3600 A    192.0.2.53
ns2.spf.example.net. 3600 A    198.51.100.53
ns2.spf.example.net. 3600 AAAA 2001:db8:2::53
53.2.0.192.in-addr.arpa.      PTR ns1.spf.example.net.
53.100.51.198.in-addr.arpa.   PTR ns2.spf.example.net.
53.2.0.192.origin.asn.cymru.com.    TXT "64496 | 192.0.2.0/24 | US | arin | 2026-01-01"
53.100.51.198.origin.asn.cymru.com. TXT "64497 | 198.51.100.0/24 | US | arin | 2026-01-01"
3.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.2.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa. PTR ns2.spf.example.net.
3.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.2.0.0.0.8.b.d.0.1.0.0.2.origin6.asn.cymru.com. TXT "64497 |"
`

// A moved connection leads to loopback but hides it.
type moved struct {
	net.Conn
	to net.Addr
}

func (m *moved) RemoteAddr() net.Addr { return m.to }

func (m *moved) ReadFrom(b []byte) (int, net.Addr, error) {
	n, err := m.Read(b)
	return n, m.to, err
}

func (m *moved) WriteTo(b []byte, _ net.Addr) (int, error) { return m.Write(b) }

// The audit of zones finds nothing wrong with the zone as it is served, unsigned or signed.
func TestAudit(t *testing.T) {
	key, err := nameserver.NewSigningKey(diag.MustName("spf.example.net"))
	require.NoError(t, err)
	t.Run("unsigned", func(t *testing.T) {
		audit(t, around)
	})
	t.Run("signed", func(t *testing.T) {
		passed := map[diag.Code]bool{}
		for _, c := range audit(t, around+key.DS(), key).Checks {
			passed[c.Code] = c.Status == "pass"
		}
		for _, code := range []diag.Code{"zone.dnssec.ds.mismatch", "zone.dnssec.signature.invalid", "zone.dnssec.denial"} {
			require.True(t, passed[code], code)
		}
	})
}

func audit(t *testing.T, around string, keys ...nameserver.SigningKey) *zonecheck.Report {
	servers := map[string]string{} // where the addresses are served
	addr := netip.MustParseAddr
	zone := nameserver.Zone{Name: diag.MustName("spf.example.net"), Nameservers: []nameserver.Nameserver{
		{Name: diag.MustName("ns1.spf.example.net"), Addrs: []netip.Addr{addr("192.0.2.53")}},
		{Name: diag.MustName("ns2.spf.example.net"), Addrs: []netip.Addr{addr("198.51.100.53"), addr("2001:db8:2::53")}},
	}}
	world, err := diagtest.New(diagtest.Config{Zone: around, Running: true})
	require.NoError(t, err)
	defer world.Close()
	world.ServeZones()
	env := world.Env()
	store := memory.New(memory.Config{})
	defer store.Close()
	s, err := nameserver.Listen(t.Context(), "127.0.0.1:0", nameserver.Config{
		Zone: zone, Store: store, Rate: -1, Signing: keys, Clock: env.Now,
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Shutdown(context.Background())) }()
	for _, ns := range zone.Nameservers {
		for _, ip := range ns.Addrs {
			servers[netip.AddrPortFrom(ip, 53).String()] = s.Addr()
		}
	}
	elsewhere := env.Dial
	env.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if to, ok := servers[address]; ok {
			var d net.Dialer
			conn, err := d.DialContext(ctx, network, to)
			if err != nil || network == "tcp" {
				return conn, err
			}
			return &moved{conn, net.UDPAddrFromAddrPort(netip.MustParseAddrPort(address))}, nil
		}
		return elsewhere(ctx, network, address)
	}
	report, err := zonecheck.Check(t.Context(), env, zonecheck.Request{Domain: diag.MustDomain("spf.example.net")})
	require.NoError(t, err)
	for _, f := range report.Findings {
		require.Equal(t, diag.Info, f.Severity, "%s: %s", f.Code, f.Detail)
	}
	require.Len(t, report.Nameservers, 2)
	return report
}
