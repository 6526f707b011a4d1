package zonecheck

import (
	"net/netip"
	"testing"

	"github.com/diagkit/diagkit/diag/rule"
	"github.com/stretchr/testify/require"
)

func TestNotes(t *testing.T) {
	c := &zoneSecurity{}
	for _, target := range []string{"a", "a", "b", "c", "d", "e"} {
		c.note(notice{rule: "a.expired", text: "It expired"}, target)
	}
	c.note(notice{rule: "a.expired", text: "It expired too."}, "a")
	require.Equal(t, rule.Failures{{Detail: "It expired.", Target: "a, b, c and 2 more"},
		{Detail: "It expired too.", Target: "a"}}, c.failures("a.expired"))
	require.Empty(t, c.failures("a.future"))
}

func TestPrefix(t *testing.T) {
	require.Equal(t, "192.0.2.0/24", prefixOf(netip.MustParseAddr("192.0.2.53")).String())
	require.Equal(t, "2001:db8:1::/48", prefixOf(netip.MustParseAddr("2001:db8:1:2::53")).String())
}
