package route

import (
	"errors"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// path returns the path described by fields, the newest first.
func path(fields []Received) *Path {
	p := &Path{}
	for i, r := range slices.Backward(fields) {
		p.Hops = append(p.Hops, Hop{Received: r, Index: len(fields) - 1 - i})
	}
	return p
}

func TestFindOutside(t *testing.T) {
	ip := netip.MustParseAddr
	const sender, vps = "192.0.2.25", "203.0.113.77"
	direct := Received{By: "mx.example.com", RDNS: "mail.example.org", HELO: "mail.example.org", IP: ip(sender)}
	forged := Received{By: "mx.example.com", RDNS: "mail.bank.example", IP: ip("192.0.2.60")}
	tests := []struct {
		name    string
		fields  []Received
		trusted []string
		hint    string
		want    string // address, or empty if the hop is unknown
		why     string
	}{
		{"none", nil, nil, "", "", "no Received field"},
		{"direct", []Received{direct}, nil, "", sender, "not one of the receiver's servers (example.com)"},
		{"what stands below is not looked at", []Received{direct, forged}, nil, "", sender, "not one of the receiver's servers"},
		{"within a host", []Received{{By: "mx.example.com"}, direct}, nil, "", sender, ""},
		{"fetched from a mailbox", []Received{{By: "localhost", RDNS: "imap.hoster.example", With: "IMAP"}, direct}, nil, "", sender, ""},
		{"by nobody", []Received{{RDNS: "mail.example.org", IP: ip(sender)}}, nil, "", sender, "An unnamed server received"},
		{"by an address", []Received{{By: "2001:db8::1"}, direct}, nil, "", sender, ""},
		{"through a filter", []Received{{By: "mx.example.com", RDNS: "localhost", IP: ip("127.0.0.1")}, direct}, nil, "", sender, ""},
		{"private network with another name", []Received{
			{By: "imap.hoster.example", RDNS: "mx.example.com", IP: ip("10.0.0.5")}, direct}, nil, "", sender, ""},
		{"own server with a name that is confirmed", []Received{
			{By: "imap.example.com", RDNS: "mx.example.com", IP: ip("198.51.100.10")}, direct}, nil, "", sender, ""},
		{"own name that is a lie", []Received{
			{By: "mx.example.com", HELO: "mx2.example.com", IP: ip(vps)}, forged}, nil, "", vps, "claims a name"},
		{"own name that cannot be looked up", []Received{
			{By: "mx.example.com", HELO: "mx2.example.com", IP: ip("203.0.113.99")}, forged}, nil, "", "", "could not be looked up"},
		{"own network without names", []Received{{By: "b.prod.outlook.com", Software: "2603:10a6:10::1",
			HELO: "a.prod.outlook.com", IP: ip("2603:10b6:20::2")}, direct}, nil, "", sender, ""},
		{"own network in two parts of the list of public suffixes", []Received{{By: "b.eurprd08.prod.outlook.com",
			Software: "2603:10a6:10::1", HELO: "A.EURP194.PROD.OUTLOOK.COM", IP: ip("2603:10a6:209::2")}, direct}, nil, "", sender, ""},
		{"own mailbox server", []Received{{By: "b.prod.outlook.com", HELO: "a.prod.outlook.com", IP: ip("2603:10b6:20::2"), With: "HTTPS"},
			direct}, nil, "", sender, ""},
		{"gateway that the caller trusts", []Received{{By: "mx.example.com", RDNS: "mx.filter.example.net", IP: ip("198.51.100.10")},
			{By: "mx.filter.example.net", RDNS: "mail.example.org", IP: ip(sender)}}, []string{"example.net"}, "", sender, ""},
		{"gateway that nobody named", []Received{{By: "mx.example.com", RDNS: "mx.filter.example.net", IP: ip("198.51.100.10")},
			{By: "mx.filter.example.net", RDNS: "mail.example.org", IP: ip(sender)}}, nil, "", "198.51.100.10", ""},
		{"no address", []Received{{By: "mx.example.com", RDNS: "mail.example.org"}}, nil, "", "", "did not record its address"},
		{"user who signed in", []Received{{By: "mx.example.com", IP: ip(vps), With: "ESMTPSA"}}, nil, "", "", "authenticated user"},
		{"noted by the receiver", []Received{{By: "a.outlook.com", RDNS: "b.outlook.com", IP: ip(vps)}, forged}, nil, vps, vps, "recorded"},
		{"all own", []Received{{By: "a.example.com", RDNS: "b.example.com", IP: ip("198.51.100.10")}}, nil, "", "", "All Received fields"},
		{"only internal", []Received{{By: "a.example.com", IP: ip("10.0.0.1")}}, nil, "", "", "No Received field shows"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			hint, _ := netip.ParseAddr(tt.hint)
			o := path(tt.fields).FindOutside(tt.trusted, hint)
			require.LessOrEqual(t, len(o.Candidates), maxCandidates)
			hop, why := o.Confirm(func(a netip.Addr) ([]string, error) {
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
				got = hop.IP.String()
			}
			require.Equal(t, tt.want, got, why)
			require.Contains(t, why, tt.why)
			require.NotEmpty(t, why)
		})
	}
	require.Empty(t, path(make([]Received, 1000)).FindOutside(nil, netip.Addr{}).Candidates)
}
