package main

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const killClients = 64

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
	p.cmd.Wait() // the error is that it was killed
}

// buyer is a client that makes one purchase after the other, and retries with the same idempotency key until it
// succeeds.
type buyer struct {
	name   string
	bought int
}

// buy continues until the server is lost. The purchase under way then is retried next time.
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
			return nil // lost: it is unknown whether it was charged
		}
		if want := strings.ToUpper(b.name); r.status != http.StatusOK || !strings.Contains(r.body, want) {
			return fmt.Errorf("%s: %v", b.name, r)
		}
		b.bought++
		count.Add(1)
	}
	return nil
}

// load64 lets all buyers buy concurrently. The function that it returns waits for them.
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
