//go:build !race

package dmarcbis

// The race detector makes these many times slower, and nothing in them runs concurrently.

import (
	"math/rand/v2"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/stretchr/testify/require"
)

func TestMigrateProperties(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	random := rand.New(rand.NewPCG(1, 2))
	changes := map[Behavior]int{}
	for range diagtest.Share(1500, 3) {
		req := MigrateRequest{Record: generate(random)}
		if random.IntN(4) == 0 {
			req.NonexistentSubdomainPolicy = []policy.Policy{policy.None, policy.Quarantine, policy.Reject}[random.IntN(3)]
		}
		if random.IntN(4) == 0 {
			req.PSD = []policy.PSD{policy.IsPSD, policy.NotPSD, policy.Undeclared}[random.IntN(3)]
		}
		if random.IntN(4) == 0 {
			req.Domain = diag.MustDomain([]string{"example.com", "news.example.com", "co.uk"}[random.IntN(3)])
		}
		r := checkMigration(t, req)
		require.True(t, r.After.Valid, "%q became %q", req.Record, r.Migrated)
		changes[r.BehaviorChange]++
	}
	require.Len(t, changes, 3, "the records do not lead to all behaviors: %v", changes)
}
