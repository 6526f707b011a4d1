package domaincheck

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/dnssec"
	"github.com/diagkit/diagkit/mailauth/bimi"
	"github.com/diagkit/diagkit/mailauth/dane"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/dmarc"
	"github.com/diagkit/diagkit/mailauth/mtasts"
	"github.com/diagkit/diagkit/mailauth/mx"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/diagkit/diagkit/mailauth/tlsrpt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// deep leads SPF down a chain of includes, which is then the longest part.
var deep = edits{"spf": `example.com. TXT "v=spf1 ip4:192.0.2.25 include:a.example.net -all"
a.example.net. TXT "v=spf1 include:b.example.net -all"
b.example.net. TXT "v=spf1 include:c.example.net -all"
c.example.net. TXT "v=spf1 include:d.example.net -all"
d.example.net. TXT "v=spf1 ip4:203.0.113.0/28 -all"`}

// parts are the diagnostics that the check consists of, each for itself.
var parts = map[string]func(context.Context, *diag.Env) error{
	"spf": func(ctx context.Context, env *diag.Env) error {
		_, err := spf.Lookup(ctx, env, spf.LookupRequest{Domain: example.Domain})
		return err
	},
	"dkim": func(ctx context.Context, env *diag.Env) error {
		_, err := dkim.Lookup(ctx, env, dkim.LookupRequest{Domain: example.Domain, Selector: diag.MustSelector("default")})
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
	"mx": func(ctx context.Context, env *diag.Env) error {
		_, err := mx.Lookup(ctx, env, mx.Request{Domain: example.Domain})
		return err
	},
	"mtasts": func(ctx context.Context, env *diag.Env) error {
		_, err := mtasts.Lookup(ctx, env, mtasts.Request{Domain: example.Domain})
		return err
	},
	"dane": func(ctx context.Context, env *diag.Env) error {
		_, err := dane.Lookup(ctx, env, dane.Request{Domain: example.Domain})
		return err
	},
	"tlsrpt": func(ctx context.Context, env *diag.Env) error {
		_, err := tlsrpt.Lookup(ctx, env, tlsrpt.Request{Domain: example.Domain})
		return err
	},
	"dnssec": func(ctx context.Context, env *diag.Env) error {
		_, err := dnssec.Check(ctx, env, dnssec.Request{Domain: example.Domain.Name()})
		return err
	},
}

// The whole lasts as long as the longest chain of round trips of its parts, and one more at most.
func TestRoundTrips(t *testing.T) {
	for name, e := range map[string]edits{"usual": {}, "deep SPF": deep, "no DKIM": {"dkim": ""}} {
		longest, which := 0, ""
		for part, f := range parts {
			n := diagtest.RoundTrips(t, e.build, func(ctx context.Context, env *diag.Env) { require.NoError(t, f(ctx, env)) })
			if n > longest {
				longest, which = n, part
			}
		}
		n := diagtest.RoundTrips(t, e.build, func(ctx context.Context, env *diag.Env) {
			_, err := Check(ctx, env, example)
			require.NoError(t, err)
		})
		t.Logf("%s: %d round trips, of %s alone %d", name, n, which, longest)
		assert.LessOrEqual(t, n, longest+1, name)
	}
}

// record counts the questions of f in a world whose answers take some time, so that what is asked at once is under way
// at once.
func record(t *testing.T, e edits, f func(context.Context, *diag.Env) error) (asked map[string]int) {
	synctest.Test(t, func(t *testing.T) {
		w := e.world(t)
		w.SetLatencies(diagtest.Latency{DNS: time.Second, Connect: time.Second})
		asked = diagtest.Questions(w.NewEnv(), func(env *diag.Env) { require.NoError(t, f(t.Context(), env)) })
	})
	return asked
}

// No query is sent twice, though nearly every part needs the MX records.
func TestQuestionsAreAskedOnce(t *testing.T) {
	asked := record(t, edits{}, func(ctx context.Context, env *diag.Env) error {
		_, err := Check(ctx, env, example)
		return err
	})
	for question, n := range asked {
		assert.Equal(t, 1, n, question)
	}
	separately := 0
	for _, f := range parts {
		for _, n := range record(t, edits{}, f) {
			separately += n
		}
	}
	t.Logf("%d questions, 40 of them for selectors; the parts one by one ask %d", len(asked), separately)
	assert.Less(t, len(asked)-40, separately)
}
