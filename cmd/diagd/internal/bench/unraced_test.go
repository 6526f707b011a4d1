//go:build !race || nightly

package main

// The servers are processes of their own, which the race detector does not see.

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Servers that are killed at random moments under load have charged each purchase exactly once, after all open
// purchases were retried.
func TestBenchCrash(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	rounds := diagtest.Share(10, 2)
	out := command(t, "crash", "--json", fmt.Sprintf("--rounds=%d", rounds), "--dir="+t.TempDir(),
		"--diagd="+built(), "--postgres="+os.Getenv("DIAG_TEST_POSTGRES"))
	var list []crashView
	require.NoError(t, json.Unmarshal([]byte(out), &list))
	for _, v := range list {
		t.Logf("%+v", v)
		assert.Positive(t, v.Open, "the kills came too late: the test proves too little")
		assert.Greater(t, v.Replays, 50*rounds)
	}
	assert.Contains(t, command(t, "crash", "--rounds=1"), "nothing lost, nothing doubled")
}

// Every fault that can be played on this machine leaves ledger and invoices as they must be.
func TestBenchFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	stores := map[string]string{onSQLite: ""}
	if text := os.Getenv("DIAG_TEST_POSTGRES"); text != "" {
		u, err := url.Parse(text)
		require.NoError(t, err)
		query := u.Query()
		query.Set("pool_max_conns", "6") // of servers, not of connections that faults are played by
		u.RawQuery = query.Encode()
		stores[onPostgres] = "--store=" + u.String()
	}
	for kind, store := range stores {
		args := []string{"faults", "--json", "--hold=200ms", "--connections=8", "--dir=" + t.TempDir(), "--diagd=" + built()}
		if store != "" {
			args = append(args, store)
		}
		var list []faultView
		require.NoError(t, json.Unmarshal([]byte(command(t, args...)), &list))
		require.Len(t, list, len(allFaults()))
		for i, v := range list {
			t.Logf("%+v", v)
			f := allFaults()[i]
			assert.Equal(t, f.storeKind != "" && f.storeKind != kind, v.NotPlayed == "it needs "+f.storeKind, v.Fault)
			if f.movesClock {
				assert.Empty(t, v.NotPlayed, v.Fault)
			}
			if v.NotPlayed == "" && !f.noServer {
				assert.GreaterOrEqual(t, v.Charges, 2*minCharges, v.Fault)
			}
			if v.Fault == "kill" || v.Fault == "cut" && v.NotPlayed == "" {
				assert.Positive(t, v.Refusals, "%s came too late: the test proves too little", v.Fault)
			}
		}
	}
}

// The clock of the diagd that is built here can be moved, and no other's.
func TestMovableClock(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	assert.False(t, hasMovableClock(self))
	require.True(t, hasMovableClock(built()))
	ctx, cancel := context.WithTimeout(t.Context(), recovery)
	defer cancel()
	p := &trial{tempStore: tempStore{file: filepath.Join(t.TempDir(), "bench.db")}}
	cmd := exec.CommandContext(ctx, built(), "serve", "--listen=127.0.0.1:0")
	cmd.Env = append(victimEnv("memory:"), "DIAGD_CLOCK="+p.clockFile())
	log, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer cmd.Wait()
	defer cancel()
	served, doubted := false, false
	for lines := bufio.NewScanner(log); !doubted && lines.Scan(); {
		doubted = strings.Contains(lines.Text(), "the clock is in doubt")
		require.False(t, doubted && !served, "before it was moved")
		if url := servingLine().FindStringSubmatch(lines.Text()); url != nil {
			served = true
			require.NoError(t, p.setClockOffset(clockJump))
			require.True(t, newCustomers(1).buy(ctx, url[1], "purchase-000000001"))
		}
	}
	assert.True(t, doubted)
}
