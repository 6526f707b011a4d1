package httpapi

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
	"github.com/stretchr/testify/require"
)

// weighing makes a table of one operation that waits, and one that does not.
func weighing(release chan bool) []Endpoint {
	slow := row("/slow", 1, func(context.Context, *diag.Env, testRequest) (*testReport, error) {
		<-release
		return &testReport{}, nil
	})
	fast := row("/fast", 1, echo)
	slow.Operation.fixedMemory, fast.Operation.fixedMemory = 100, 100
	return []Endpoint{slow, fast}
}

// A key that holds its share waits, is finally refused without a charge, and blocks no other key.
func TestOverloadOfOneKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan bool)
		a := newAPI(t, "self", func(c *Config) { c.Memory = 400 }, weighing(release)...)
		_, other := a.newKey(metering.DNSRead)
		done := make(chan int)
		go func() { done <- a.post("/slow", ``, "Content-Type", "").Code }()
		synctest.Wait()
		began := time.Now()
		r := a.post("/fast", ``, "Content-Type", "")
		require.Equal(t, 503, r.Code)
		require.Equal(t, reasonOverloaded, r.problem().Details.Reason)
		require.Equal(t, "1", r.header("Retry-After"))
		require.Equal(t, budget.MaxWait, time.Since(began))
		require.Equal(t, 200, a.post("/fast", ``, "Content-Type", "", "Authorization", "Bearer "+other).Code)
		close(release)
		require.Equal(t, 200, <-done)
		require.Equal(t, 200, a.post("/fast", ``, "Content-Type", "").Code)
		require.Equal(t, int64(3), a.used())
	})
}

// Work that no context can end does not keep its client waiting, and keeps its memory until it ends.
func TestDeadlineOfPureWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan bool)
		heavy := Endpoint{"POST", "/heavy", metering.DNSRead, 1, "test", Pure(func(testRequest) (*testReport, error) {
			<-release
			return &testReport{}, nil
		}).WithMemory(64 << 20)}
		a := newAPI(t, "self", nil, heavy)
		began := time.Now()
		r := a.post("/heavy", `{}`)
		require.Equal(t, 504, r.Code)
		require.Equal(t, reasonTimeout, r.problem().Details.Reason)
		require.Equal(t, pureTime, time.Since(began))
		require.Zero(t, a.used())
		s := a.handler.(*server)
		require.GreaterOrEqual(t, s.Budget.Work.Held(), int64(64<<20))
		close(release)
		synctest.Wait()
		require.Zero(t, s.Budget.Work.Held())
		require.Zero(t, s.Budget.Bodies.Held())
		require.Equal(t, 200, a.post("/heavy", `{}`).Code)
	})
}

// Heavy work of one key leaves half of the processors to others, and waits in the end in vain; light work does not wait.
func TestProcessorsOfOneKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan bool)
		heavy := Endpoint{"POST", "/heavy", metering.DNSRead, 1, "test", Pure(func(r testRequest) (*testReport, error) {
			<-release
			return &testReport{}, nil
		}).WithMemory(4 << 20)}
		light := Endpoint{"POST", "/light", metering.DNSRead, 1, "test", Pure(func(r testRequest) (*testReport, error) {
			return &testReport{}, nil
		})}
		a := newAPI(t, "self", func(c *Config) {
			c.Observe, c.Budget = nil, budget.New(budget.Config{Processors: 4})
		}, heavy, light)
		s := a.handler.(*server)
		_, other := a.newKey(metering.DNSRead)
		codes := make(chan int, 8)
		for range 3 {
			go func() { codes <- a.post("/heavy", `{}`).Code }()
		}
		synctest.Wait()
		require.EqualValues(t, 2, s.Budget.Processors.Held())
		go func() { codes <- a.post("/heavy", `{}`, "Authorization", "Bearer "+other).Code }()
		synctest.Wait()
		require.EqualValues(t, 3, s.Budget.Processors.Held())
		require.Equal(t, 200, a.post("/light", `{}`).Code)
		require.Equal(t, 503, <-codes, "the third has waited long enough")
		close(release)
		for range 3 {
			require.Equal(t, 200, <-codes)
		}
		synctest.Wait()
		require.Zero(t, s.Budget.Processors.Held())
		require.EqualValues(t, 4, a.used(), "what was refused costs nothing")
	})
}

// A panic in work of its own goroutine is an internal error like any other.
func TestPanicOfHeavyWork(t *testing.T) {
	heavy := Endpoint{"POST", "/heavy", metering.DNSRead, 1, "test", Pure(func(testRequest) (*testReport, error) {
		panic("while working")
	}).WithMemory(64 << 20)}
	a := newAPI(t, "self", nil, heavy)
	require.Equal(t, 500, a.post("/heavy", `{}`).Code)
	require.Contains(t, a.log.String(), "while working")
	require.Zero(t, a.handler.(*server).Budget.Work.Held())
}

// A large reply that can be made again is not kept, but its repetition is the same and free.
func TestLargeRepliesAreMadeAgain(t *testing.T) {
	a := newAPI(t, "pack", nil)
	body := `{"text":"` + strings.Repeat("ab ", 100_000) + `"}`
	first := a.post("/text/urlencode", body, "Idempotency-Key", "0123456789")
	require.Equal(t, 200, first.Code)
	require.Greater(t, first.Body.Len(), maxRepeatable)
	again := a.post("/text/urlencode", body, "Idempotency-Key", "0123456789")
	require.Equal(t, "true", again.header("X-Idempotent-Replay"))
	require.True(t, bytes.Equal(first.Body.Bytes(), again.Body.Bytes()))
	require.Equal(t, int64(1), a.used())

	hash, err := metering.ParseIdempotencyKey([]string{"0123456789"})
	require.NoError(t, err)
	begun, err := a.gate.Begin(t.Context(), &metering.Caller{Key: &a.key, Account: &a.account, Plan: &metering.Plan{}}, metering.Op{
		RequestID: "x", Endpoint: "x", Credits: 1, Now: a.clock.Now(), Idempotency: hash,
		Fingerprint: new(metering.Fingerprint("POST", Prefix+"/text/urlencode", jsonMedia, []byte(body))),
	})
	require.NoError(t, err)
	require.Equal(t, metering.RerunReply, begun.Replay.Reply.Form)
	require.Empty(t, begun.Replay.Reply.Body)
}
