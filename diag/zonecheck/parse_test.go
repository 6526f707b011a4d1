package zonecheck

import (
	"net/netip"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
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

func TestNotes(t *testing.T) {
	c := newChecker("example.", nil, time.Time{})
	for _, target := range []string{"a", "a", "b", "c", "d", "e"} {
		c.note(sigExpired, target, time.Time{}, "It expired")
	}
	c.note(sigExpired, "a", time.Time{}, "It expired too.")
	require.Equal(t, diag.Failures{{Detail: "It expired.", Target: "a, b, c and 2 more"},
		{Detail: "It expired too.", Target: "a"}}, c.failures(sigExpired))
	require.Empty(t, c.failures(sigFuture))
}

func TestMixed(t *testing.T) {
	require.Equal(t, "ExAmPlE1.cOm.", mixed("example1.com."))
}

func TestPrefix(t *testing.T) {
	require.Equal(t, "192.0.2.0/24", prefixOf(netip.MustParseAddr("192.0.2.53")).String())
	require.Equal(t, "2001:db8:1::/48", prefixOf(netip.MustParseAddr("2001:db8:1:2::53")).String())
}
