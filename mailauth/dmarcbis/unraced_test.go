//go:build !race || nightly

package dmarcbis

// The race detector makes these many times slower, and other tests cover what runs concurrently in them.

import (
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// Every suggestion is valid, keeps all addresses, and requests nothing that receivers do not do today.
func TestCheckSuggestions(t *testing.T) {
	for _, list := range [][]string{values["pct"], values["t"], values["p"], values["sp"]} {
		require.NotEmpty(t, list)
	}
	for _, p := range values["p"] {
		for _, sp := range values["sp"] {
			for _, rest := range []string{"; pct=0", "; pct=30", "; t=y", "; t=y; pct=0", "; ri=1",
				"; np=quarantine; pct=10", ""} {
				for _, rua := range []string{"", "; rua=mailto:a@example.com!10m,mailto:b@example.net",
					"; rua=mailto:c@example.com"} {
					w := diagtest.NewWorld(t)
					record := "v=DMARC1; p=" + p + "; sp=" + sp + rest + rua
					w.Zone(mx + at("example.com", record))
					r, err := Check(t.Context(), w.Env(), CheckRequest{Domain: diag.MustDomain("example.com")})
					require.NoError(t, err)
					for _, one := range r.Recommendations {
						if one.SuggestedValue != "" {
							checkSuggestion(t, record, one.SuggestedValue)
						}
					}
				}
			}
		}
	}
}
