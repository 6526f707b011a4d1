package zonecheck

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

func TestBadTerm(t *testing.T) {
	for record, want := range map[string]string{
		"v=spf1": "",
		"v=spf1 +a ~mx/24 ?a:example.com//64 ptr -all":                      "",
		"v=SPF1 INCLUDE:example.com exists:%{i}.example.com redirect=x.org": "",
		"v=spf1 ip4:192.0.2.0/24 ip4:192.0.2.1 ip6:2001:db8::/32 exp=e.org": "",
		"v=spf1 ip4:2001:db8::1":                                            "ip4:2001:db8::1",
		"v=spf1 ip6:192.0.2.1":                                              "ip6:192.0.2.1",
		"v=spf1 ip4=192.0.2.1":                                              "ip4=192.0.2.1",
		"v=spf1 ip4:192.0.2.1 al":                                           "al",
		"v=spf1 all:example.com":                                            "all:example.com",
		"v=spf1 include:":                                                   "include:",
		"v=spf1 include=example.org":                                        "include=example.org",
		"v=spf1 a:":                                                         "a:",
		"v=spf1 =x":                                                         "=x",
		"v=spf1 -":                                                          "-",
	} {
		require.Equal(t, want, badTerm(record), record)
	}
}

func TestOrder(t *testing.T) {
	sorted := []string{"example.", "a.example.", "yljkjljk.a.example.", "z.a.example.", "zabc.a.example.", "z.example.",
		`\001.z.example.`, "*.z.example.", `\200.z.example.`} // RFC 4034 section 6.1
	for i := range sorted[1:] {
		require.Negative(t, strings.Compare(string(orderKey(sorted[i])), string(orderKey(sorted[i+1]))), sorted[i])
	}
	require.Equal(t, orderKey("A.Example."), orderKey("a.example."))
}

func TestCovers(t *testing.T) {
	nsec := rr("b.example. NSEC d.example. A").(*dns.NSEC)
	last := rr("y.example. NSEC example. A").(*dns.NSEC)
	for name, want := range map[string]bool{"c.example.": true, "a.b.example.": true, "b.example.": false,
		"d.example.": false, "a.example.": false, "x.d.example.": false, "c.org.": false} {
		require.Equal(t, want, covers(nsec, name, "example."), name)
	}
	require.True(t, covers(last, "z.example.", "example."))
	require.False(t, covers(last, "x.example.", "example."))
}

func TestMixed(t *testing.T) {
	require.Equal(t, "ExAmPlE1.cOm.", mixed("example1.com."))
}

func TestModulusBits(t *testing.T) {
	for key, want := range map[string]int{"": 0, "!": 0, "AQ==": 0, "AwEAAf8=": 8, "AAADAQAB/w==": 8, "AwEAAQ==": 0} {
		require.Equal(t, want, modulusBits(key), key)
	}
}

func TestPrefix(t *testing.T) {
	require.Equal(t, "192.0.2.0/24", prefixOf(netip.MustParseAddr("192.0.2.53")).String())
	require.Equal(t, "2001:db8:1::/48", prefixOf(netip.MustParseAddr("2001:db8:1:2::53")).String())
}
