//go:build !race

package hostedspf

// The race detector makes these tests many times slower, and they run nothing concurrently.

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

// For any zones and client, the flat records give the same result as the original, and a domain that includes them
// passes exactly the hosts that the original passes.
func TestFlatIsTheSame(t *testing.T) {
	flat, kept, split, failed := 0, 0, 0, 0
	rapid.Check(t, func(r *rapid.T) {
		m := &maker{T: r}
		w, err := diagtest.New(diagtest.Config{})
		require.NoError(r, err)
		defer w.Close()
		source := m.zone(w)
		require.NoError(r, w.Err())
		host := m.pick(host, strings.Repeat("label.", 24)+"example.net")
		report, err := Flatten(context.Background(), w.Env(), FlattenRequest{domain, source, diag.MustName(host), false, false})
		require.NoError(r, err)
		p := report.Published
		if p == nil {
			failed++
			require.NotEmpty(r, report.Error)
			return
		}
		flat++
		publish(w, p.Records)
		tree, err := spf.Walk(context.Background(), w.Env(), domain, source)
		require.NoError(r, err)
		outline := outlineOf(tree)
		limit := eval.MaxLookups
		if len(outline.kept()) > 0 {
			kept++
		}
		if slices.ContainsFunc(outline.kept(), func(s *keptTerm) bool { return s.atLeast || s.reason == byContent }) {
			limit = eval.MaxTerms // its cost depends on the message
		}
		if len(p.Records) > 1 {
			split++
		}
		passing := authorized(p.FlattenedRecord)
		for _, ip := range m.clients() {
			want := check(r, w, ip, domain.String(), eval.MaxTerms)
			got := check(r, w, ip, host, limit)
			require.Equal(r, want.Outcome, got.Outcome, "%s\n%s\n%v\n%s: %s / %s", source, p.FlattenedRecord, p.Records, ip,
				want.Reason, got.Reason)
			included := check(r, w, ip, "customer.example", limit+1)
			require.Equal(r, want.Outcome == eval.Pass, included.Outcome == eval.Pass)
			if len(outline.kept()) == 0 {
				require.Equal(r, want.Outcome == eval.Pass, passing.Contains(ip), "%s %s", p.FlattenedRecord, ip)
			}
		}
	})
	t.Logf("%d were flattened, %d of them with kept terms and %d in several records; %d failed", flat, kept,
		split, failed)
	require.Positive(t, flat, "nothing was compared")
}
