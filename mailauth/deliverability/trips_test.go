package deliverability

import (
	"context"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/bimi"
	"github.com/diagkit/diagkit/mailauth/dmarc"
	"github.com/diagkit/diagkit/mailauth/dnsbl"
	"github.com/diagkit/diagkit/mailauth/internal/reception"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/diagkit/diagkit/mailauth/tlsrpt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// chains are the diagnostics that the score consists of, each for itself.
var chains = map[string]func(context.Context, *diag.Env) error{
	"spf": func(ctx context.Context, env *diag.Env) error {
		_, err := spf.Lookup(ctx, env, spf.LookupRequest{Domain: example.Domain})
		return err
	},
	"dmarc": func(ctx context.Context, env *diag.Env) error {
		_, err := dmarc.Lookup(ctx, env, dmarc.LookupRequest{Domain: example.Domain})
		return err
	},
	"bimi": func(ctx context.Context, env *diag.Env) error {
		_, err := bimi.Lookup(ctx, env, bimi.LookupRequest{Domain: example.Domain})
		return err
	},
	"tlsrpt": func(ctx context.Context, env *diag.Env) error {
		_, err := tlsrpt.Lookup(ctx, env, tlsrpt.Request{Domain: example.Domain})
		return err
	},
	"reputation": func(ctx context.Context, env *diag.Env) error {
		for _, h := range reception.LookupHosts(ctx, env, example.Domain.Name(), 1).List {
			if _, err := dnsbl.Check(ctx, env, dnsbl.Request{IP: diag.IP{Addr: h.Addresses.All()[0]}}); err != nil {
				return err
			}
		}
		return nil
	},
}

// The whole lasts as long as the longest chain of round trips of its components, and one more at most.
func TestRoundTrips(t *testing.T) {
	for name, e := range map[string]edits{
		"usual": {}, "listed": {"more": listed("25.113.0.203", "zen.spamhaus.org")}, "no DKIM": {"dkim": ""},
	} {
		longest, which := 0, ""
		for chain, f := range chains {
			n := diagtest.RoundTrips(t, e.build, func(ctx context.Context, env *diag.Env) { require.NoError(t, f(ctx, env)) })
			if n > longest {
				longest, which = n, chain
			}
		}
		n := diagtest.RoundTrips(t, e.build, func(ctx context.Context, env *diag.Env) {
			_, err := Score(ctx, env, example)
			require.NoError(t, err)
		})
		t.Logf("%s: %d round trips, of %s alone %d", name, n, which, longest)
		assert.LessOrEqual(t, n, longest+1, name)
	}
}

// No query is sent twice: neither those of the components, nor those about the test addresses of blocklists, which are
// the same for each of five addresses.
func TestQuestionsAreAskedOnce(t *testing.T) {
	w := diagtest.NewWorld(t)
	e := edits{"more": "example.com. MX 20 mx2.example.com.\nmx2.example.com. A 203.0.113.26\nmx2.example.com. A 203.0.113.27"}
	e.build(w)
	asked := diagtest.Questions(w.NewEnv(), func(env *diag.Env) {
		_, err := Score(t.Context(), env, example)
		require.NoError(t, err)
	})
	for question, n := range asked {
		assert.Equal(t, 1, n, question)
	}
	t.Logf("%d questions", len(asked))
}
