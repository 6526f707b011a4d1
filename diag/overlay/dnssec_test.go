package overlay

import (
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/dnssec"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// How a zone will be signed is not known: a domain with DS records is indeterminate, never bogus, and one without is
// insecure, as it is now.
func TestDNSSEC(t *testing.T) {
	tests := []struct {
		name   string
		signed bool
		zone   string
		domain string
		want   diag.DNSSECStatus
	}{
		{"unsigned", false, whole, "example.com", diag.Insecure},
		{"signed", true, whole, "example.com", diag.Indeterminate},
		{"signed, a snippet", true, partial, "www.example.com", diag.Indeterminate},
		{"signed, a name that will be gone", true, whole, "old.example.com", diag.Indeterminate},
		{"another", true, whole, "example.net", diag.Insecure},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			world := diagtest.NewWorld(t)
			world.Zone(published)
			world.Sign("com", diagtest.Signing{})
			if tt.signed {
				world.Sign("example.com", diagtest.Signing{})
			}
			world.ServeZones()
			env := world.Env().WithResolver(New(world, parsed(t, tt.zone)))
			r, err := dnssec.Check(t.Context(), env, dnssec.Request{Domain: diag.MustName(tt.domain)})
			require.NoError(t, err)
			assert.Equal(t, tt.want, r.Status, "%+v", r.FirstFailure)
			for _, f := range r.Findings {
				assert.Less(t, f.Severity, diag.Error, "%+v", f)
				t.Log(f.Code, f.Severity, f.Detail)
			}
		})
	}
}

// A zone that will be delegated for the first time is indeterminate too, although its parent zone proves that it is not
// there.
func TestNewZone(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(`
		com. 3600 SOA ns.nic.com. h.nic.com. 1 1 1 1 300
		com. 3600 NS ns.nic.com.
		ns.nic.com. 3600 A 192.0.2.2`)
	world.Sign("com", diagtest.Signing{})
	world.ServeZones()
	r, err := dnssec.Check(t.Context(), world.Env().WithResolver(New(world, parsed(t, whole))),
		dnssec.Request{Domain: diag.MustName("example.com")})
	require.NoError(t, err)
	assert.Equal(t, diag.Indeterminate, r.Status, "%+v", r.FirstFailure)
}
