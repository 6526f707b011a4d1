//go:build !race

package httpapi_test

import (
	"context"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/target"
)

// TestPropertyAttack plays in each world what diag says of its domain in a sentence.
func TestPropertyAttack(t *testing.T) {
	httpapi.PlayAttacks(t, func(ctx context.Context, env *diag.Env, domain string) (string, error) {
		parsed, err := target.Parse(domain)
		if err != nil {
			return "", err
		}
		w := target.Run(ctx, parsed, target.Options{Only: []string{target.Mail, target.DNS}}, target.Local(env), nil)
		return w.View().Headline, w.Err()
	})
}
