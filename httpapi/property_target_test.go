//go:build !race

package httpapi_test

import (
	"context"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/target"
)

// TestPropertyAttack plays in each world the one-sentence summary that diag prints of its domain.
func TestPropertyAttack(t *testing.T) { httpapi.PlayAttacks(t, viewOf(target.Mail, target.DNS)) }

// TestPropertyOrderOfTarget does the steps that diag prints.
func TestPropertyOrderOfTarget(t *testing.T) { httpapi.PlayOrder(t, viewOf(target.Mail)) }

// viewOf shows groups of checks of a domain.
func viewOf(groups ...string) func(context.Context, *diag.Env, string) (*view.View, error) {
	return func(ctx context.Context, env *diag.Env, domain string) (*view.View, error) {
		t, err := target.Parse(domain)
		if err != nil {
			return nil, err
		}
		w := target.Run(ctx, t, target.Options{Only: groups}, target.Local(env), nil)
		return w.View(), w.Err()
	}
}
