package spf

import (
	"context"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
	"github.com/stretchr/testify/require"
)

// tenTerms is a record of ten terms, typical of a larger domain.
const tenTerms = "v=spf1 ip4:192.0.2.0/24 ip4:198.51.100.7 ip6:2001:db8::/32 a mx a:relay.example.com/29 " +
	"include:_spf.example.net include:mail.example.org exists:%{i}._spf.%{d2} ~all"

// BenchmarkAnalyse parses a record and derives all results that need no DNS, except for the texts.
func BenchmarkAnalyse(b *testing.B) {
	b.ReportAllocs()
	req := ValidateRequest{Record: tenTerms, Domain: diag.MustName("example.com")}
	for b.Loop() {
		newOffline(req.Record, req.Domain, netip.Addr{})
	}
}

func BenchmarkValidate(b *testing.B) {
	b.ReportAllocs()
	req := ValidateRequest{Record: tenTerms, Domain: diag.MustName("example.com")}
	for b.Loop() {
		if _, err := Validate(req); err != nil {
			b.Fatal(err)
		}
	}
}

// deepTree is a tree of ten terms that need the DNS, on three levels below the record.
const deepTree = `
example.com.     TXT "v=spf1 include:one.example.net include:two.example.net a:a.example.com -all"
one.example.net. TXT "v=spf1 include:three.example.net a:b.example.com ~all"
two.example.net. TXT "v=spf1 include:four.example.net mx:mx.example.net ~all"
three.example.net. TXT "v=spf1 a:c.example.com include:five.example.net ~all"
four.example.net.  TXT "v=spf1 ip4:192.0.2.128/25 exists:%{i}.example.com ~all"
five.example.net.  TXT "v=spf1 ip4:198.51.100.0/24 ~all"
`

const deepHosts = `
a.example.com.   A 192.0.2.1
b.example.com.   A 192.0.2.2
c.example.com.   A 192.0.2.3
mx.example.net.  MX 10 mail.example.net.
mail.example.net. A 192.0.2.4
`

// With 20 ms for every answer of the DNS the whole tree, and an evaluation for an address that nothing
// matches, take the time of four answers: one for each level of records, and one for hosts.
func TestLatency(t *testing.T) {
	ip := diag.MustIP("203.0.113.1")
	tests := []struct {
		name string
		run  func(context.Context, *diag.Env) (lookups int, err error)
	}{
		{"tree", func(ctx context.Context, env *diag.Env) (int, error) {
			r, err := Lookup(ctx, env, request)
			return r.DNSLookups.Count, err
		}},
		{"tree and evaluation", func(ctx context.Context, env *diag.Env) (int, error) {
			r, err := Lookup(ctx, env, LookupRequest{Domain: request.Domain, IP: ip})
			return r.DNSLookups.Count, err
		}},
		{"evaluation", func(ctx context.Context, env *diag.Env) (int, error) {
			r, err := eval.Check(ctx, env, eval.Request{IP: ip.Addr, Sender: "a@example.com"})
			return r.DNSLookups, err
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := diagtest.NewWorld(t)
				w.Zone(deepTree + deepHosts)
				w.Latency(20 * time.Millisecond)
				begin := time.Now()
				lookups, err := tt.run(t.Context(), w.Env())
				require.NoError(t, err)
				require.Equal(t, 10, lookups)
				require.Equal(t, 80*time.Millisecond, time.Since(begin))
			})
		})
	}
}
