package reception_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/internal/reception"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

const hostsZone = `
	example.com.       MX 20 MX2.example.com.
	example.com.       MX 10 mxb.example.com.
	example.com.       MX 10 mxa.example.com.
	example.com.       MX 30 mxa.example.com.
	example.com.       A 192.0.2.80
	mxa.example.com.   A 192.0.2.1
	mxa.example.com.   AAAA 2001:db8::1
	mxb.example.com.   CNAME b.example.net.
	b.example.net.     CNAME c.example.net.
	c.example.net.     A 192.0.2.2
`

func ExampleLookupHosts() {
	world, err := diagtest.New(diagtest.Config{Zone: hostsZone})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	name := diag.MustName("example.com")
	mail := reception.LookupHosts(context.Background(), world.Env(), name, reception.MaxHosts)
	for _, host := range mail.List {
		fmt.Println(host.Preference, host.Name, host.Addresses.All(), host.Aliases())
	}
	// Output:
	// 10 mxa.example.com [2001:db8::1 192.0.2.1] []
	// 10 mxb.example.com [192.0.2.2] [b.example.net c.example.net]
	// 20 mx2.example.com [] []
}

func TestLookupHosts(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone(zone + hostsZone)
	w.Break("broken.example", dns.RcodeServerFailure)
	w.Fault("half.example", dns.TypeA, diagtest.Fault{Rcode: dns.RcodeServerFailure})
	w.Zone(`half.example. TXT "x"`)
	w.Zone(`some.example. MX 1 half.some.example.`)
	w.Zone(`half.some.example. AAAA 2001:db8::2`)
	w.Fault("half.some.example", dns.TypeA, diagtest.Fault{Rcode: dns.RcodeServerFailure})
	tests := []struct {
		name  string
		limit int
		want  string
	}{
		{"example.com", 3, "10 mxa.example.com true, 10 mxb.example.com true, 20 mx2.example.com false"},
		{"example.com", 2, "10 mxa.example.com true, 10 mxb.example.com true; 1 more"},
		{"mail.example", 3, "10 mx.mail.example false"},
		{"none.example", 3, ""},
		{"odd.example", 3, "10 mx.mail.example false; null beside"},
		{"host.example", 3, "0 host.example true; implicit"},
		{"half.example", 3, "0 half.example false (the resolver answered SERVFAIL); implicit"},
		{"some.example", 3, "1 half.some.example true (the resolver answered SERVFAIL)"},
		{"text.example", 3, ""},
		{"gone.example", 3, ""},
		{"broken.example", 3, ""},
	}
	for _, tt := range tests {
		h := reception.LookupHosts(t.Context(), w.Env(), diag.MustName(tt.name), tt.limit)
		var hosts []string
		for _, host := range h.List {
			wire := host.MXHost()
			text := fmt.Sprintf("%d %s %t", wire.Preference, wire.Host, wire.Resolves)
			if err := host.Err(); err != nil {
				text += " (" + diag.Reason(err) + ")"
			}
			hosts = append(hosts, text)
		}
		got := strings.Join(hosts, ", ")
		if h.Surplus > 0 {
			got += fmt.Sprintf("; %d more", h.Surplus)
		}
		if h.Implicit {
			got += "; implicit"
		}
		if h.MixedNull() {
			got += "; null beside"
		}
		require.Equal(t, tt.want, got, tt.name)
	}
}

// The DNSSEC status from the resolver is kept for each lookup.
func TestLookupHostsDNSSEC(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone("signed.example. MX 10 mx.plain.example.\nmx.plain.example. A 192.0.2.1\n")
	w.Secure("signed.example")
	h := reception.LookupHosts(t.Context(), w.Env(), diag.MustName("signed.example"), 1)
	require.Equal(t, diag.Secure, h.MX.DNSSEC())
	require.Equal(t, diag.Indeterminate, h.List[0].DNSSEC())
	w.Fault("mx.plain.example", dns.TypeA, diagtest.Fault{Secure: true})
	h = reception.LookupHosts(t.Context(), w.Env(), diag.MustName("signed.example"), 1)
	require.Equal(t, diag.Secure, h.List[0].Addresses.V4.DNSSEC())
	require.Equal(t, diag.Indeterminate, h.List[0].DNSSEC(), "AAAA is not vouched for")
	w.Secure("mx.plain.example")
	h = reception.LookupHosts(t.Context(), w.Env(), diag.MustName("signed.example"), 1)
	require.Equal(t, diag.Secure, h.List[0].DNSSEC())
}

func TestLookupHostsRoundTrips(t *testing.T) {
	for name, want := range map[string]int{"example.com": 2, "host.example": 1, "text.example": 1, "none.example": 1} {
		setup := func(w *diagtest.World) { w.Zone(zone + hostsZone) }
		trips := diagtest.RoundTrips(t, setup, func(ctx context.Context, env *diag.Env) {
			reception.LookupHosts(ctx, env, diag.MustName(name), reception.MaxHosts)
		})
		require.Equal(t, want, trips, name)
	}
}
