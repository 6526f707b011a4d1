package header

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFindOutside(t *testing.T) {
	ip := netip.MustParseAddr
	const sender, vps = "192.0.2.25", "203.0.113.77"
	direct := relay{by: "mx.example.com", from: "mail.example.org", helo: "mail.example.org", ip: ip(sender)}
	forged := relay{by: "mx.example.com", from: "mail.bank.example", ip: ip("192.0.2.60")}
	tests := []struct {
		name    string
		relays  []relay
		trusted []string
		hint    string
		want    string // address, or empty if the hop is not known
		why     string
	}{
		{"none", nil, nil, "", "", "no Received field"},
		{"direct", []relay{direct}, nil, "", sender, "not one of the receiver's servers (example.com)"},
		{"what stands below is not looked at", []relay{direct, forged}, nil, "", sender, "not one of the receiver's servers"},
		{"within a host", []relay{{by: "mx.example.com"}, direct}, nil, "", sender, ""},
		{"fetched from a mailbox", []relay{{by: "localhost", from: "imap.hoster.example", fetched: true}, direct}, nil, "", sender, ""},
		{"by nobody", []relay{{from: "mail.example.org", ip: ip(sender)}}, nil, "", sender, "An unnamed server received"},
		{"by an address", []relay{{by: "2001:db8::1"}, direct}, nil, "", sender, ""},
		{"through a filter", []relay{{by: "mx.example.com", from: "localhost", ip: ip("127.0.0.1")}, direct}, nil, "", sender, ""},
		{"private network with another name", []relay{
			{by: "imap.hoster.example", from: "mx.example.com", ip: ip("10.0.0.5")}, direct}, nil, "", sender, ""},
		{"own server with a name that is confirmed", []relay{
			{by: "imap.example.com", from: "mx.example.com", ip: ip("198.51.100.10")}, direct}, nil, "", sender, ""},
		{"own name that is a lie", []relay{
			{by: "mx.example.com", helo: "mx2.example.com", ip: ip(vps)}, forged}, nil, "", vps, "claims a name"},
		{"own name that cannot be looked up", []relay{
			{by: "mx.example.com", helo: "mx2.example.com", ip: ip("203.0.113.99")}, forged}, nil, "", "", "could not be looked up"},
		{"own network without names", []relay{{by: "b.prod.outlook.com", byIP: ip("2603:10a6:10::1"),
			helo: "a.prod.outlook.com", ip: ip("2603:10b6:20::2")}, direct}, nil, "", sender, ""},
		{"own network in two parts of the list of public suffixes", []relay{{by: "b.eurprd08.prod.outlook.com",
			byIP: ip("2603:10a6:10::1"), helo: "A.EURP194.PROD.OUTLOOK.COM", ip: ip("2603:10a6:209::2")}, direct}, nil, "", sender, ""},
		{"own mailbox server", []relay{{by: "b.prod.outlook.com", helo: "a.prod.outlook.com", ip: ip("2603:10b6:20::2"), https: true},
			direct}, nil, "", sender, ""},
		{"gateway that the caller trusts", []relay{{by: "mx.example.com", from: "mx.filter.example.net", ip: ip("198.51.100.10")},
			{by: "mx.filter.example.net", from: "mail.example.org", ip: ip(sender)}}, []string{"example.net"}, "", sender, ""},
		{"gateway that nobody named", []relay{{by: "mx.example.com", from: "mx.filter.example.net", ip: ip("198.51.100.10")},
			{by: "mx.filter.example.net", from: "mail.example.org", ip: ip(sender)}}, nil, "", "198.51.100.10", ""},
		{"no address", []relay{{by: "mx.example.com", from: "mail.example.org"}}, nil, "", "", "did not record its address"},
		{"user who signed in", []relay{{by: "mx.example.com", ip: ip(vps), authUser: true}}, nil, "", "", "authenticated user"},
		{"noted by the receiver", []relay{{by: "a.outlook.com", from: "b.outlook.com", ip: ip(vps)}, forged}, nil, vps, vps, "recorded"},
		{"all own", []relay{{by: "a.example.com", from: "b.example.com", ip: ip("198.51.100.10")}}, nil, "", "", "All Received fields"},
		{"only internal", []relay{{by: "a.example.com", ip: ip("10.0.0.1")}}, nil, "", "", "No Received field shows"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			hint, _ := netip.ParseAddr(tt.hint)
			o := findOutside(tt.relays, tt.trusted, hint)
			require.LessOrEqual(t, len(o.candidates), maxCandidates)
			hop, why := o.confirm(func(a netip.Addr) ([]string, error) {
				switch a.String() {
				case "198.51.100.10":
					return []string{"mx.example.com"}, nil
				case "203.0.113.99":
					return nil, errors.New("SERVFAIL")
				default:
					return nil, nil
				}
			})
			got := ""
			if hop != nil {
				got = hop.ip.String()
			}
			require.Equal(t, tt.want, got, why)
			require.Contains(t, why, tt.why)
			require.NotEmpty(t, why)
		})
	}
	require.Len(t, findOutside(make([]relay, 1000), nil, netip.Addr{}).candidates, 0)
}
