//go:build !race || nightly

package markcert

// The race detector makes these many times slower, and other tests cover what runs concurrently in them.

import (
	"slices"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/bimi/markcert/markcerttest"
	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	var seen diagtest.Seen
	for _, tt := range parseCases {
		t.Run(tt.name, func(t *testing.T) {
			leaf, err := authority.Certificate(tt.mark)
			require.NoError(t, err)
			parts := tt.text
			if parts == nil {
				parts = func(leaf, issuer string) string { return leaf + issuer }
			}
			req := ParseRequest{PEM: parts(markcerttest.PEM(leaf), markcerttest.PEM(authority.Intermediate))}
			if tt.domain != "" {
				req.Domain = diag.MustDomain(tt.domain)
			}
			now := tt.now
			if now.IsZero() {
				now = june
			}
			r, err := Parse(t.Context(), testEnv(now), req)
			require.NoError(t, err)
			slices.Sort(tt.codes)
			require.ElementsMatch(t, tt.codes, uniq(seen.Add(r.Verdict)), "%+v", r.Findings)
			checkReport(t, r)
			checkSuggestion(t, now, r)
		})
	}
	seen = append(seen, lookupVerdicts(t)...)
	seen = append(seen, distrustVerdicts(t)...)
	diagtest.CoverRules(t, lookupRules(), seen)
	diagtest.CheckTexts(t, texts, lookupRules().Describe(), seen)
}
