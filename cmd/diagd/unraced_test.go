//go:build !race || nightly

package main

// The race detector makes these many times slower, and nothing in them runs at once but what other tests race.

import (
	"encoding/json"
	"fmt"
	"net/url"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Servers that are killed at random moments under load, and asked again about everything that was left open, have
// charged each thing exactly once.
func TestBenchCrash(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	t.Setenv(childEnv, "1")
	rounds := diagtest.Share(10, 2)
	args := []string{"bench", "crash", fmt.Sprintf("--rounds=%d", rounds), "--dir=" + t.TempDir(), "--postgres=" + settingsOfTests["DIAG_TEST_POSTGRES"]}
	for _, v := range parsed[[]crashView](t, args...) {
		t.Logf("%+v", v)
		assert.Positive(t, v.Open, "the kills came too late: the test proves too little")
		assert.Greater(t, v.Replays, 50*rounds)
	}
	assert.Contains(t, command(t, "bench", "crash", "--rounds=1"), "nothing lost, nothing doubled")
}

// Three servers share one PostgreSQL and one Redis. They are driven at once, one is killed, and both of what they
// share is cut off and comes back.
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

// Every fault that can be played on this machine leaves ledger and invoices as they must be.
func TestBenchFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	t.Setenv(childEnv, "1")
	stores := map[string]string{onSQLite: ""}
	if text := settingsOfTests["DIAG_TEST_POSTGRES"]; text != "" {
		u, err := url.Parse(text)
		require.NoError(t, err)
		query := u.Query()
		query.Set("pool_max_conns", "6") // of servers, not of connections that faults are played by
		u.RawQuery = query.Encode()
		stores[onPostgres] = "--store=" + u.String()
	}
	for kind, store := range stores {
		args := []string{"bench", "faults", "--json", "--hold=200ms", "--connections=8", "--dir=" + t.TempDir()}
		if store != "" {
			args = append(args, store)
		}
		out, log := newWatched(), newWatched()
		assert.Equal(t, exitOK, run(t.Context(), args, out, log), "%s%s", out, log)
		var list []faultView
		require.NoError(t, json.Unmarshal([]byte(out.String()), &list))
		require.Len(t, list, len(allFaults()))
		for i, v := range list {
			t.Logf("%+v", v)
			f := allFaults()[i]
			assert.Equal(t, f.only != "" && f.only != kind, v.NotPlayed == "it needs "+f.only, v.Fault)
			if v.NotPlayed == "" && !f.bare {
				assert.GreaterOrEqual(t, v.Charges, 2*enough, v.Fault)
			}
			if v.Fault == "kill" || v.Fault == "cut" && v.NotPlayed == "" {
				assert.Positive(t, v.Refusals, "%s came too late: the test proves too little", v.Fault)
			}
		}
	}
}
