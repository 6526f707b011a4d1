package record

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// at is a record.
func at(name, text string) string { return name + ". TXT \"" + text + "\"\n" }

func TestDiscover(t *testing.T) {
	own, other := "v=BIMI1; l="+logo, "v=BIMI1; l=https://other.example.com/logo.svg"
	tests := []struct {
		name, zone, domain, selector, broken string
		at                                   string // whose record applies, by the list of public suffixes
		several, unknown                     bool
	}{
		{"own", at("default._bimi.example.com", own), "example.com", "", "", "example.com", false, false},
		{"selector", at("s1.x._bimi.example.com", own), "example.com", "s1.x", "", "example.com", false, false},
		{"other selector", at("default._bimi.example.com", own), "example.com", "s1", "", "", false, false},
		{"inherited", at("default._bimi.example.com", own), "a.b.example.com", "", "", "example.com", false, false},
		{"inherited below co.uk", at("default._bimi.example.co.uk", own), "b.example.co.uk", "", "", "example.co.uk", false, false},
		{"own before inherited", at("default._bimi.example.com", own) + at("default._bimi.a.example.com", other), "a.example.com", "", "", "a.example.com", false, false},
		{"parent in between", at("default._bimi.b.example.com", own), "a.b.example.com", "", "", "", false, false},
		{"several", at("default._bimi.example.com", own) + at("default._bimi.example.com", other), "example.com", "", "", "example.com", true, false},
		{"several end the search", at("default._bimi.example.com", own) + at("default._bimi.a.example.com", own) + at("default._bimi.a.example.com", other), "a.example.com", "", "", "a.example.com", true, false},
		{"stray does not", at("default._bimi.example.com", own) + at("default._bimi.a.example.com", "v=bimi1; l="), "a.example.com", "", "", "example.com", false, false},
		{"none", at("example.com", "x"), "example.com", "", "", "", false, false},
		{"alias", "default._bimi.example.com. CNAME b.example.net.\n" + at("b.example.net", own), "example.com", "", "", "example.com", false, false},
		{"unknown", at("default._bimi.example.com", own), "a.example.com", "", "default._bimi.a.example.com", "", false, true},
		{"unknown above", at("a.example.com", "x"), "a.example.com", "", "default._bimi.example.com", "", false, true},
		{"unknown above does not matter", at("default._bimi.a.example.com", own), "a.example.com", "", "default._bimi.example.com", "a.example.com", false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			w.Zone(tt.zone)
			if tt.broken != "" {
				w.Break(tt.broken, dns.RcodeServerFailure)
			}
			var selector diag.Selector
			if tt.selector != "" {
				selector = diag.MustSelector(tt.selector)
			}
			d, err := Discover(t.Context(), w.Env(), diag.MustDomain(tt.domain), selector)
			require.NoError(t, err)
			r, domain, err := d.Record()
			require.Equal(t, tt.unknown, err != nil, "%v", err)
			require.Equal(t, tt.at, domain)
			require.Equal(t, tt.at != "" && !tt.several, r != nil)
		})
	}
}

func TestDiscoverRoundTrips(t *testing.T) {
	trips := diagtest.RoundTrips(t, func(w *diagtest.World) { w.Zone(at("default._bimi.example.com", "v=BIMI1; l=")) },
		func(ctx context.Context, env *diag.Env) {
			_, err := Discover(ctx, env, diag.MustDomain("a.b.c.example.com"), diag.Selector{})
			require.NoError(t, err)
		})
	require.Equal(t, 1, trips)
}

func TestDiscoverRefuses(t *testing.T) {
	long := diag.MustDomain(strings.Repeat("a.", 122) + "com")
	for _, tt := range []struct {
		domain   diag.Domain
		selector string
		says     string
	}{
		{diag.Domain{}, "s1", "is missing"},
		{diag.MustDomain("example.com"), "default._bimi", `enter the part before _bimi: "default"`},
		{diag.MustDomain("example.com"), "_bimi", `enter the part before _bimi: "default"`},
		{diag.MustDomain("example.com"), "s1._bimi.example.com", `enter the part before _bimi: "s1"`},
		{long, "default", "too long for this domain"},
	} {
		_, err := Discover(t.Context(), nil, tt.domain, diag.MustSelector(tt.selector))
		_, ok := errors.AsType[*diag.InputError](err)
		require.True(t, ok, "%v", err)
		require.ErrorContains(t, err, tt.says)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Discover(ctx, diagtest.NewWorld(t).Env(), diag.MustDomain("example.com"), diag.Selector{})
	require.ErrorIs(t, err, context.Canceled)
}

func TestAncestors(t *testing.T) {
	require.Equal(t, []string{"com"}, ancestors("com"))
	require.Equal(t, []string{"example.com"}, ancestors("example.com"))
	require.Equal(t, []string{"a.b.example.com", "b.example.com", "example.com"}, ancestors("a.b.example.com"))
	long := ancestors(strings.Repeat("a.", 100) + "example.com")
	require.Len(t, long, maxPlaces)
	require.Equal(t, "example.com", long[len(long)-1])
}
