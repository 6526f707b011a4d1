package dkim

import (
	"context"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

const searchZone = `
	s1._domainkey.example.com.        TXT "v=DKIM1; k=ed25519; p=iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w="
	k1._domainkey.example.com.        TXT "v=DKIM1; p="
	selector2._domainkey.example.com. CNAME gone.example.net.
	*._domainkey.wild.example.        TXT "v=DKIM1; p="
	s1._domainkey.wild.example.       TXT "v=DKIM1; k=ed25519; p=iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w="
	other._domainkey.else.example.    TXT "v=DKIM1; p="
	bare.example.                     TXT "x"
`

func TestFind(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone(searchZone)
	w.Break("google._domainkey.example.com", dns.RcodeServerFailure)
	for _, tt := range []struct {
		domain, found, usable, failed string
		none, wildcard                bool
	}{
		{domain: "example.com", found: "selector2 k1 s1", usable: "s1", failed: "google"},
		{domain: "wild.example", found: "s1", usable: "s1", wildcard: true},
		{domain: "else.example"},
		{domain: "bare.example", none: true},
		{domain: "gone.example", none: true},
	} {
		s, err := Find(t.Context(), w.Env(), diag.MustDomain(tt.domain), CommonSelectors())
		require.NoError(t, err, tt.domain)
		require.Equal(t, []string{tt.found, tt.usable, tt.failed},
			[]string{joined(s.Found), joined(s.Usable), joined(s.Failed)}, tt.domain)
		require.Equal(t, []bool{tt.none, tt.wildcard}, []bool{s.None, s.Wildcard}, tt.domain)
		require.Equal(t, tt.failed != "", s.Err != nil, tt.domain)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Find(ctx, w.Env(), diag.MustDomain("example.com"), CommonSelectors())
	require.ErrorIs(t, err, context.Canceled)
}

func joined(list []diag.Selector) (text string) {
	for i, s := range list {
		if i > 0 {
			text += " "
		}
		text += s.String()
	}
	return text
}

func TestFindTakesOneRoundTrip(t *testing.T) {
	n := diagtest.RoundTrips(t, func(w *diagtest.World) { w.Zone(searchZone) }, func(ctx context.Context, env *diag.Env) {
		_, err := Find(ctx, env, diag.MustDomain("example.com"), CommonSelectors())
		require.NoError(t, err)
	})
	require.Equal(t, 1, n)
}

func TestCommonSelectors(t *testing.T) {
	seen := map[diag.Selector]bool{}
	for _, s := range CommonSelectors() {
		require.False(t, seen[s], s)
		seen[s] = true
	}
	require.Len(t, seen, 40) // CONTRACT 3.3.2
}
