//go:build !race || nightly

package dane

// The race detector makes these many times slower, and other tests cover what runs concurrently in them.

import (
	"fmt"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// Whatever two mail servers are like, a good verdict means that DANE protects both, and a finding or a domain that is
// not signed explains every server that is not protected.
func TestCombinations(t *testing.T) {
	for a := range kinds {
		for b := range kinds {
			for _, signed := range []string{"example.com.", "none"} {
				t.Run(fmt.Sprintf("%s and %s, %s", a, b, signed), func(t *testing.T) {
					r := combination(a, b, signed).lookup(t)
					require.Len(t, r.Hosts, 2)
					complete := r.Hosts[0].Status == Pass && r.Hosts[1].Status == Pass
					require.Equal(t, complete, r.Summary.Complete)
					require.Equal(t, complete, r.State == diag.Valid, "%s %v", r.State, diagtest.Codes(r.Verdict))
					require.NotEmpty(t, r.Findings[0].Advice)
					if r.State == diag.Unknown {
						require.True(t, r.Partial)
					}
				})
			}
		}
	}
}
