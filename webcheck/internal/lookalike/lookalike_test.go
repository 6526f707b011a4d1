package lookalike_test

import (
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/webcheck/internal/lookalike"
	"github.com/stretchr/testify/require"
)

// easy are the techniques of which nearly every one must be detected.
var easy = map[string]bool{
	"homoglyph": true, "cyrillic": true, "hyphenation": true, "repetition": true, "transposition": true,
	"omission": true, "subdomain": true, "dictionary": true,
}

func TestConformanceLookalikes(t *testing.T) {
	type vector struct{ Domain, Target, Technique string }
	list := diagtest.Cases[vector](t, diagtest.Vectors(t, "web/phishing/lookalikes.json"))
	targets := lookalike.BuiltIn()
	type count struct{ named, all int }
	total, simple, by := count{}, count{}, map[string]count{}
	for _, c := range list {
		d, err := diag.ParseDomain(c.Domain)
		require.NoError(t, err)
		m := targets.Find(d)
		named := 0
		if m != nil && m.Target == targets.Owner(c.Target) {
			named = 1
		} else {
			t.Logf("%s of %s (%s): %+v", c.Domain, c.Target, c.Technique, m)
		}
		b := by[c.Technique]
		by[c.Technique] = count{b.named + named, b.all + 1}
		total = count{total.named + named, total.all + 1}
		if easy[c.Technique] {
			simple = count{simple.named + named, simple.all + 1}
		}
	}
	t.Logf("targets named: %d/%d, of the easy kinds %d/%d, %v", total.named, total.all, simple.named, simple.all, by)
	require.GreaterOrEqual(t, total.named*100, total.all*80)
	require.GreaterOrEqual(t, simple.named*100, simple.all*95)
}
