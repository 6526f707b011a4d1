package zonecheck

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/overlay"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An audit of a zone that the parent zone does not delegate, or delegates to others, is that of the delegation to come.
func TestUndelegated(t *testing.T) {
	given := []string{"ns1.example.com/192.0.2.53", "ns1.example.com/2001:db8:1::53",
		"ns2.example.com/198.51.100.53", "ns2.example.com/2001:db8:2::53"}
	tests := []struct {
		name    string
		world   func(s *stage)
		servers []string
		ds      []string
		want    string
	}{
		{name: "as good as delegated", servers: given},
		{name: "glue that the zone does not have", servers: append([]string{"ns1.example.com/203.0.113.53"}, given[1:]...),
			want: "glue.mismatch"},
		{name: "DS that no key matches", servers: given, ds: []string{"12345 13 2 " + strings.Repeat("ab", 32)},
			want: "dnssec.unsigned"},
		{name: "a server that is not there", servers: append([]string{"ns3.example.com/203.0.113.99"}, given...),
			want: "delegation.missing_in_zone ns.address"},
	}
	delegated := codes(play(t, func(s *stage) { s.serve(goodZone) }))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &stage{World: diagtest.NewWorld(t)}
				s.serve(goodZone)
				d, err := overlay.ParseDelegation(t.Context(), s.Env(), "example.com", tt.servers, tt.ds)
				require.NoError(t, err)
				r, err := CheckUndelegated(t.Context(), s.Env(), request, d)
				require.NoError(t, err)
				if tt.want == "" {
					assert.Equal(t, delegated, codes(r))
					assert.False(t, r.Partial)
				}
				assert.Contains(t, codes(r), tt.want)
				assert.Equal(t, "com", r.Parent.Zone)
			})
		})
	}
}

// The present servers are not queried, and their answers are not faults.
func TestMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{World: diagtest.NewWorld(t)}
		s.serve(goodZone)
		moved := strings.NewReplacer("ns1.example.com.", "a.example.com.", "ns2.example.com.", "b.example.com.",
			"192.0.2.53", "192.0.2.63", "198.51.100.53", "198.51.100.63", "2001:db8:1::53", "2001:db8:1::63",
			"2001:db8:2::53", "2001:db8:2::63").Replace(goodZone)
		var given []string
		for host, addrs := range map[string][]string{
			"a": {"192.0.2.63", "2001:db8:1::63"}, "b": {"198.51.100.63", "2001:db8:2::63"},
		} {
			for _, addr := range addrs {
				s.Server(host+".example.com", addr, moved).Configure(good)
				given = append(given, host+".example.com/"+addr)
			}
		}
		d, err := overlay.ParseDelegation(t.Context(), s.Env(), "example.com", given, nil)
		require.NoError(t, err)
		before := s.ns1.Asked("example.com", 0) + s.ns2.Asked("example.com", 0)
		r, err := CheckUndelegated(t.Context(), s.Env(), request, d)
		require.NoError(t, err)
		assert.Equal(t, before, s.ns1.Asked("example.com", 0)+s.ns2.Asked("example.com", 0))
		assert.True(t, r.Delegation.Consistent)
		assert.Equal(t, []string{"a.example.com", "b.example.com"}, r.Zone.Nameservers)
		assert.Empty(t, r.Delegation.Lame)
	})
}

// For a zone file no server is queried.
func TestNotPublished(t *testing.T) {
	world := diagtest.NewWorld(t)
	zone, err := overlay.Parse("@ SOA a b 1 1 1 1 1\n", "", "example.com.zone")
	require.NoError(t, err)
	_, err = Check(t.Context(), world.Env().WithResolver(overlay.New(world, zone)), request)
	assert.ErrorIs(t, err, diag.ErrUndelegated)
	assert.ErrorIs(t, err, diag.ErrUnavailable)
	_, err = CheckUndelegated(t.Context(), world.Env(), request, diag.Delegation{})
	assert.ErrorContains(t, err, "ns: is missing")
}
