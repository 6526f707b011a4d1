//go:build !race

package domaincheck

// The race detector makes these many times slower, and nothing in them runs concurrently.

import (
	"math/rand/v2"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
)

// For every combination the reply is consistent, and its suggestions are harmless.
func TestAnyCombination(t *testing.T) {
	keys := []string{"mx", "host", "ptr", "spf", "dkim", "dmarc", "sts", "tlsrpt", "policy", "more", "signed"}
	n := 80
	if testing.Short() {
		n = 40
	}
	for seed := range n {
		random := rand.New(rand.NewPCG(uint64(seed), 1))
		e := edits{}
		for _, key := range keys {
			if random.IntN(3) == 0 {
				e[key] = variants[key][random.IntN(len(variants[key]))]
			}
		}
		w := e.world(t)
		if random.IntN(4) == 0 {
			servfail(broken[random.IntN(len(broken))])(w)
		}
		req := example
		req.IncludeSMTP = random.IntN(4) == 0
		r := run(t, w, req)
		consistent(t, r)
		harmless(t, e, r)
		if t.Failed() {
			t.Fatalf("seed %d: %v\n%s\n%v", seed, e, r.Headline, diagtest.Codes(r.Verdict))
		}
	}
}
