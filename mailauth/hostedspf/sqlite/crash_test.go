package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/mailauth/hostedspf/hostedspftest"
	"github.com/diagkit/diagkit/mailauth/hostedspf/sqlite"
)

const (
	// crashPath makes this test program resolve the profiles of a database until it is killed.
	crashPath = "DIAGKIT_CRASH_HOSTEDSPF"

	crashProfiles = 8
	crashKills    = 6
	crashLease    = time.Minute
)

// resolveUntilKilled lets a process work, records what it reports as finished, and kills it after a random number of
// lines.
func resolveUntilKilled(t *testing.T, path string, kill int, finished map[string]bool) {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), crashPath+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for left := 1 + rand.IntN(60); lines.Scan(); left-- {
		id, ok := strings.CutPrefix(lines.Text(), "finished ")
		require.True(t, ok, "kill %d: %s", kill, lines.Text())
		finished[id] = true
		if left == 0 {
			require.NoError(t, cmd.Process.Kill())
		}
	}
	require.Error(t, cmd.Wait(), "it should have been killed")
}

// checkCrashed examines one profile after a crash, and returns how many of its claims were interrupted.
func checkCrashed(t *testing.T, store file, n, kill int, finished map[string]bool) (cutOff int) {
	p, err := store.Profile(t.Context(), example(n).ID)
	require.NoError(t, err)
	history, err := store.Resolutions(t.Context(), hostedspf.HistoryQuery{ProfileID: p.ID, Limit: 1 << 20})
	require.NoError(t, err)
	newest := ""
	if len(history) > 0 {
		newest = history[0].RecordHash
	}
	require.Equal(t, newest, p.RecordHash, "profile and history agree")
	known := map[string]bool{}
	for _, r := range history {
		known[r.ID] = true
	}
	for id := range finished {
		if strings.HasPrefix(id, fmt.Sprintf("res_%d_", n)) {
			require.True(t, known[id], "kill %d: %s was finished and is lost", kill, id)
		}
	}
	claim, err := store.Claim(t.Context(), p.ID, crashLease)
	if errors.Is(err, hostedspf.ErrClaimed) {
		cutOff++
		store.clock.Advance(crashLease)
		claim, err = store.Claim(t.Context(), p.ID, crashLease)
	}
	require.NoError(t, err, "the claim has lapsed")
	require.NoError(t, store.Release(t.Context(), claim))
	return cutOff
}

// crashChild resolves all profiles concurrently, by a stopped clock.
func crashChild(path string) error {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, path, sqlite.Config{Clock: hostedspftest.NewClock().Now})
	if err != nil {
		return err
	}
	var out sync.Mutex
	failed := make(chan error)
	for n := range crashProfiles {
		go func() {
			for {
				id, err := crashResolve(ctx, store, n)
				if err != nil {
					failed <- err
					return
				}
				out.Lock()
				fmt.Println("finished", id)
				out.Unlock()
			}
		}()
	}
	return <-failed
}

func crashResolve(ctx context.Context, store hostedspf.Store, n int) (id string, err error) {
	claim, err := store.Claim(ctx, example(n).ID, crashLease)
	if err != nil {
		return "", err
	}
	id = fmt.Sprintf("res_%d_%020d", n, time.Now().UnixNano())
	_, err = store.Finish(ctx, claim, hostedspf.Outcome{
		Resolution: hostedspf.Resolution{
			ID: id, ProfileID: claim.ProfileID, ResolvedAt: time.Now(), Status: hostedspf.ResolutionChanged, RecordHash: id,
		},
		Published: &hostedspf.Publication{RecordHash: id, FlattenedRecord: id},
	})
	return id, err
}
