//go:build !race || nightly

package main

// The race detector makes these many times slower, and their only concurrency is covered by other tests.

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Three servers share one PostgreSQL and one Redis. They are loaded concurrently, one is killed, and both shared
// services are cut off and come back.
func TestNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	c := startCluster(t)
	require.Len(t, commandOf[[]accountView](c, "account", "list"), 1, "servers that start at once make one account")
	profiles := c.hostedSPF()
	c.soldOut()
	c.revocation()
	c.rates()
	for _, id := range profiles {
		assert.EqualValues(t, 2, c.db.number("SELECT count(*) FROM spf_resolutions WHERE profile = $1", id), "resolved once")
	}
	for _, n := range c.nodes {
		assert.NotContains(t, n.log.String(), "panic")
		assert.NotContains(t, n.log.String(), "DATA RACE")
	}
}
