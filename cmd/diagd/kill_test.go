package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	killRounds  = 5
	killClients = 64
)

// process is diagd serving as a process of its own.
type process struct {
	cmd *exec.Cmd
	url string
	log *watched
}

func startProcess(t testing.TB, args ...string) *process {
	args = append([]string{"serve", "--listen=127.0.0.1:0", "--ip-rate=0"}, args...)
	p := &process{cmd: child(t.Context(), args...), log: newWatched()}
	p.cmd.Stderr = p.log
	require.NoError(t, p.cmd.Start())
	p.url = p.log.wait(t, `msg=serving url=(\S+)`)[1]
	return p
}

func (p *process) kill(t testing.TB) {
	require.NoError(t, p.cmd.Process.Kill())
	p.cmd.Wait() // says that it was killed
}

// buyer is a client that buys one thing after the other, and asks again with the same idempotency key
// until it knows that it has one.
type buyer struct {
	name   string
	bought int
}

// buy goes on until the server is lost. The thing that was being bought then is tried again next time.
func (b *buyer) buy(
	ctx context.Context, client *http.Client, url, secret string, count *atomic.Int64, until int,
) error {
	for b.bought < until {
		body := fmt.Sprintf(`{"text":"%s number %d"}`, b.name, b.bought)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/public/v1/text/upper", strings.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+secret)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", fmt.Sprintf("%s-%06d", b.name, b.bought))
		r, err := do(client, req)
		if err != nil {
			return nil // lost: nobody knows whether it was charged
		}
		if want := strings.ToUpper(b.name); r.status != http.StatusOK || !strings.Contains(r.body, want) {
			return fmt.Errorf("%s: %v", b.name, r)
		}
		b.bought++
		count.Add(1)
	}
	return nil
}

// A server that is killed at random moments under load, and asked again about everything that was
// left open, has charged each thing exactly once.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	file := filepath.Join(t.TempDir(), "diag.db")
	store := "--store=sqlite:" + file
	p := startProcess(t, store)
	secret := secretPattern.FindString(p.log.String())
	buyers := make([]*buyer, killClients)
	for i := range buyers {
		buyers[i] = &buyer{name: fmt.Sprintf("buyer-%02d", i)}
	}
	var count atomic.Int64
	const endless = 1 << 30
	for round := range killRounds {
		deadline := count.Load() + 50 + rand.Int64N(500)
		wait := load64(t, p.url, secret, buyers, &count, endless)
		for count.Load() < deadline && !t.Failed() {
			runtime.Gosched() // the server is another process: there is nothing but to look
		}
		p.kill(t)
		wait()
		t.Logf("round %d: killed after %d replies", round+1, count.Load())
		p = startProcess(t, store)
	}
	most := 0
	for _, b := range buyers {
		most = max(most, b.bought+1) // the one that is open, and for some a few more
	}
	load64(t, p.url, secret, buyers, &count, most)()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, p.cmd.Wait(), "%s", p.log)

	assert.EqualValues(t, most*killClients, count.Load())
	assert.EqualValues(t, count.Load(), parsed[usageView](t, "usage", store).Used, "each was charged exactly once")
	assert.Empty(t, parsed[auditView](t, "audit", store).Faults)
	assertNoTrouble(t, p.log.String())
}

// load64 lets all buyers buy at once. The function that it returns waits for them.
func load64(t testing.TB, url, secret string, buyers []*buyer, count *atomic.Int64, until int) (wait func()) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: killClients}}
	var wg sync.WaitGroup
	for _, b := range buyers {
		wg.Go(func() { assert.NoError(t, b.buy(context.Background(), client, url, secret, count, until)) })
	}
	return func() { wg.Wait(); client.CloseIdleConnections() }
}

func assertNoTrouble(t testing.TB, log string) {
	for line := range strings.Lines(log) {
		assert.NotRegexp(t, `level=(WARN|ERROR)|panic`, line)
	}
}
