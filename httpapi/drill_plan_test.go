//go:build !race

package httpapi_test

import (
	"errors"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// No step of a plan makes anything worse, whatever the domain.
func TestDrillPlan(t *testing.T) {
	steps, computed := 0, 0
	httpapi.EachDomain(t, func(t *testing.T, env *diag.Env, domain string) {
		tg, err := target.Parse(domain)
		if err != nil || tg.Kind != target.Domain {
			return
		}
		p, err := target.MakePlan(t.Context(), env, tg, target.Options{Only: []string{target.Mail}})
		if errors.Is(err, diag.ErrUnavailable) {
			return // in a world that answers nothing
		}
		require.NoError(t, err)
		for _, s := range p.Steps {
			if steps++; s.Result != nil {
				computed++
			}
			assert.Empty(t, s.Worse, "%s\n%+v", s.Code, s.Changes)
		}
	})
	t.Logf("%d steps, %d of them computed", steps, computed)
	require.Greater(t, computed, 100)
}
