package dnssec

import (
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// bench validates over and over; with a cache in front of the zones, each signature is met again.
func bench(b *testing.B, name string, rrtype uint16, warm bool) {
	f := newFarm(b)
	for key := range f.records { // signed beforehand, for servers do not sign while they answer either
		f.edit(key.owner.fqdn(), key.rrtype, func(*dns.Msg) {})
	}
	f.edit(name, rrtype, func(*dns.Msg) {})
	env := f.env()
	known := new(memo)
	env.Resolver = &resolver.Cache{Upstream: f, Clock: env.Now}
	for b.Loop() {
		if !warm {
			known = new(memo)
			env.Resolver = f
		}
		v := Validator{Env: env, memo: known}
		r, err := v.Validate(b.Context(), name, rrtype)
		require.NoError(b, err)
		require.Equal(b, diag.Secure, r.Status)
	}
}

func BenchmarkColdRecords(b *testing.B) { bench(b, "www.zone.test.", dns.TypeA, false) }
func BenchmarkColdDenial(b *testing.B)  { bench(b, "nope.zone.test.", dns.TypeA, false) }
func BenchmarkWarmRecords(b *testing.B) { bench(b, "www.zone.test.", dns.TypeA, true) }
func BenchmarkWarmDenial(b *testing.B)  { bench(b, "nope.zone.test.", dns.TypeA, true) }
