package zonecheck

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
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

// What a proof of absence shows, and what it does not.
func TestProof(t *testing.T) {
	apex := "example. NSEC b.example. A SOA"
	b, deep := "b.example. NSEC x.y.example. MX", "x.y.example. NSEC example. A"
	wild := "*.example. NSEC b.example. TXT"
	tests := []struct {
		name    string
		rcode   int
		owner   string
		qtype   uint16
		records []string
		proved  bool
	}{
		{"nothing", dns.RcodeSuccess, "b.example.", dns.TypeA, nil, false},
		{"type", dns.RcodeSuccess, "b.example.", dns.TypeA, []string{b}, true},
		{"type that is there", dns.RcodeSuccess, "b.example.", dns.TypeMX, []string{b}, false},
		{"type of another name", dns.RcodeSuccess, "b.example.", dns.TypeA, []string{deep}, false},
		{"empty name", dns.RcodeSuccess, "y.example.", dns.TypeA, []string{b}, true},
		{"name instead of type", dns.RcodeSuccess, "c.example.", dns.TypeA, []string{b}, false},
		{"type of a wildcard", dns.RcodeSuccess, "c.example.", dns.TypeA, []string{b, wild}, true},
		{"type that the wildcard has", dns.RcodeSuccess, "c.example.", dns.TypeTXT, []string{b, wild}, false},
		{"wildcard alone", dns.RcodeSuccess, "c.example.", dns.TypeA, []string{wild}, false},
		{"name", dns.RcodeNameError, "c.example.", dns.TypeA, []string{b, apex}, true},
		{"name without the wildcard", dns.RcodeNameError, "c.example.", dns.TypeA, []string{b}, false},
		{"wildcard without the name", dns.RcodeNameError, "c.example.", dns.TypeA, []string{apex}, false},
		{"name below one that exists", dns.RcodeNameError, "c.b.example.", dns.TypeA, []string{b}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &dns.Msg{MsgHdr: dns.MsgHdr{Rcode: tt.rcode}}
			for _, text := range tt.records {
				m.Ns = append(m.Ns, rr(text))
			}
			require.Equal(t, tt.proved, proofOf(m, "example.").missing(m, tt.owner, tt.qtype) == "")
		})
	}
}

func TestNotes(t *testing.T) {
	c := newChecker("example.", nil, time.Time{})
	for _, target := range []string{"a", "a", "b", "c", "d", "e"} {
		c.note(sigExpired, target, "It expired.")
	}
	c.note(sigExpired, "a", "It expired too.")
	require.Equal(t, diag.Failures{{Detail: "It expired.", Target: "a, b, c and 2 more"},
		{Detail: "It expired too.", Target: "a"}}, c.failures(sigExpired))
	require.Empty(t, c.failures(sigFuture))
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
