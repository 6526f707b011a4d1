package zonecheck

import (
	"net/netip"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/zonecheck/survey"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

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

func TestPrefix(t *testing.T) {
	require.Equal(t, "192.0.2.0/24", prefixOf(netip.MustParseAddr("192.0.2.53")).String())
	require.Equal(t, "2001:db8:1::/48", prefixOf(netip.MustParseAddr("2001:db8:1:2::53")).String())
}

// What a reply may hold about other domains.
func TestUnrelated(t *testing.T) {
	alias := rr("example.com. CNAME www.example.net.")
	tests := []struct {
		name  string
		m     dns.Msg
		found string
	}{
		{"own records", dns.Msg{Answer: []dns.RR{rr("www.example.com. A 192.0.2.1")}}, ""},
		{"another domain", dns.Msg{Extra: []dns.RR{rr("www.example.org. A 192.0.2.1")}}, "www.example.org."},
		{"the parent zone", dns.Msg{Ns: []dns.RR{rr("com. SOA a. b. 1 1 1 1 1")}}, "com."},
		{"target of an alias", dns.Msg{Answer: []dns.RR{alias, rr("www.example.net. A 192.0.2.1")}}, ""},
		{"zone of the target", dns.Msg{Answer: []dns.RR{alias}, Ns: []dns.RR{rr("example.net. SOA a. b. 1 1 1 1 1")}}, ""},
		{"beside an alias", dns.Msg{Answer: []dns.RR{alias, rr("www.example.org. A 192.0.2.1")}}, "www.example.org."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := &evidence{Survey: &survey.Survey{Zone: "example.com."}}
			require.Equal(t, tt.found, e.unrelated(survey.Reply{Result: survey.Answered, Msg: &tt.m}))
		})
	}
}
