package reception_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/internal/reception"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

const zone = `
	mail.example.    MX 10 mx.mail.example.
	none.example.    MX 0 .
	odd.example.     MX 0 .
	odd.example.     MX 10 mx.mail.example.
	host.example.    AAAA 2001:db8::1
	text.example.    TXT "x"
`

func ExampleLookup() {
	world, err := diagtest.New(diagtest.Config{Zone: zone})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	r := reception.Lookup(context.Background(), world.Env(), diag.MustName("none.example"))
	fmt.Println("none.example", r.Refusal())
	// Output: none.example has a null MX
}

func TestReceives(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone(zone)
	w.Break("broken.example", dns.RcodeServerFailure)
	w.Fault("half.example", dns.TypeA, diagtest.Fault{Rcode: dns.RcodeServerFailure})
	w.Zone(`half.example. TXT "x"`)
	w.Fault("lost.example", dns.TypeMX, diagtest.Fault{Rcode: dns.RcodeServerFailure})
	tests := []struct {
		name             string
		receives, known  bool
		refusal, unknown string
	}{
		{"mail.example", true, true, "", ""},
		{"odd.example", true, true, "", ""},
		{"host.example", true, true, "", ""},
		{"none.example", false, true, "has a null MX", ""},
		{"text.example", false, true, "has neither an MX record nor an address", ""},
		{"gone.example", false, true, "does not exist", ""},
		{"lost.example", false, true, "does not exist", ""}, // according to the addresses
		{"broken.example", false, false, "", "the MX lookup of broken.example failed: the resolver answered SERVFAIL"},
		{"half.example", false, false, "", "the address lookup of half.example failed: the resolver answered SERVFAIL"},
	}
	for _, tt := range tests {
		r := reception.Lookup(t.Context(), w.Env(), diag.MustName(tt.name))
		receives, known := r.Receives()
		got := []any{receives, known, r.Refusal(), r.Unknown()}
		require.Equal(t, []any{tt.receives, tt.known, tt.refusal, tt.unknown}, got, tt.name)
		exists, known := r.Exists()
		require.Equal(t, tt.refusal != "does not exist" && tt.name != "broken.example", exists, tt.name)
		require.Equal(t, tt.name != "broken.example", known, tt.name)
	}
}

func TestAliasAdvice(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone(zone)
	w.Zone("shop.example. CNAME host.example.\nlost.example. CNAME void.example.\n")
	for name, want := range map[string]string{"mail.example": "", "host.example": "", "gone.example": "",
		"shop.example": "the operator of host.example,", "lost.example": "the operator of void.example,"} {
		r := reception.Lookup(t.Context(), w.Env(), diag.MustName(name))
		require.Equal(t, want == "", r.AliasAdvice() == "", name)
		require.Contains(t, r.AliasAdvice(), want, name)
	}
}

func TestRoute(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone(zone)
	w.Break("broken.example", dns.RcodeServerFailure)
	for name, want := range map[string]reception.Route{
		"mail.example": reception.RouteHosts, "odd.example": reception.RouteHosts, "host.example": reception.RouteImplicit,
		"none.example": reception.RouteNull, "text.example": reception.RouteNone, "gone.example": reception.RouteNone,
		"broken.example": reception.RouteUnknown,
	} {
		r := reception.Lookup(t.Context(), w.Env(), diag.MustName(name))
		require.Equal(t, want, r.Route(), name)
	}
}

func TestRoundTrips(t *testing.T) {
	trips := diagtest.RoundTrips(t, func(w *diagtest.World) { w.Zone(zone) }, func(ctx context.Context, env *diag.Env) {
		reception.Lookup(ctx, env, diag.MustName("mail.example"))
	})
	require.Equal(t, 1, trips)
}
