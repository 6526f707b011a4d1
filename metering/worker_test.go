package metering_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/require"
)

// A queue has jobs for a worker.
type queue struct {
	metering.Worker
	log  bytes.Buffer
	jobs []func(ctx context.Context) error
	err  error
	poll []time.Duration // when it was polled
}

func newQueue(jobs ...func(ctx context.Context) error) *queue {
	q := &queue{jobs: jobs}
	began := time.Now()
	q.Worker = metering.Worker{Kind: "jobs", Interval: time.Minute, Log: slog.New(slog.NewTextHandler(&q.log, nil))}
	q.Start = func(_, ctx context.Context) (int, error) {
		q.poll = append(q.poll, time.Since(began))
		started := q.jobs
		q.jobs = nil
		for _, job := range started {
			q.Go(func() error { return job(ctx) })
		}
		return len(started), q.err
	}
	return q
}

// run runs the worker for a time.
func (q *queue) run(t *testing.T, d time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	require.ErrorIs(t, q.Run(ctx), context.DeadlineExceeded)
}

func TestWorkerPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(func(context.Context) error { time.Sleep(10 * time.Second); return nil })
		q.run(t, 150*time.Second)
		require.Equal(t, []time.Duration{0, 10 * time.Second, time.Minute, 2 * time.Minute}, q.poll, "and after a success")
		require.Empty(t, q.log.String())
	})
}

// A failed job and a poll that fails wait for the next interval; a panic of a job ends neither the worker nor others.
func TestWorkerFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(
			func(context.Context) error { return errors.New("boom") },
			func(context.Context) error { panic("a bug in one job") },
		)
		q.err = errors.New("the store is away")
		q.run(t, 90*time.Second)
		require.Equal(t, []time.Duration{0, time.Minute}, q.poll)
		require.Contains(t, q.log.String(), "the store is away")
		require.Contains(t, q.log.String(), "a bug in one job")
		require.Contains(t, q.log.String(), "worker_test.go")
	})
}

func TestWorkerPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		start := q.Start
		q.Start = func(ctx, jobs context.Context) (int, error) {
			defer time.Sleep(2 * time.Second)
			q.Wake()
			return start(ctx, jobs)
		}
		q.MaxPause = 5 * time.Second
		q.run(t, 15*time.Second)
		require.Equal(t, []time.Duration{0, 7 * time.Second, 14 * time.Second}, q.poll)
	})
}

// When the context ends, jobs may go on for the drain, and are waited for.
func TestWorkerDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended time.Duration
		began := time.Now()
		q := newQueue(func(ctx context.Context) error {
			<-ctx.Done()
			ended = time.Since(began)
			return ctx.Err()
		})
		q.Drain = 10 * time.Second
		q.run(t, time.Second)
		require.Equal(t, 11*time.Second, ended)
	})
}

func TestWorkerFlush(t *testing.T) {
	ran := false
	q := newQueue()
	q.jobs = append(q.jobs, func(context.Context) error {
		q.jobs = append(q.jobs, func(context.Context) error { ran = true; return nil })
		return nil
	})
	require.NoError(t, q.Flush(t.Context()))
	require.True(t, ran, "what became due meanwhile")
	boom := errors.New("boom")
	q.jobs = append(q.jobs, func(context.Context) error { return boom })
	require.ErrorIs(t, q.Flush(t.Context()), boom)
	require.NoError(t, q.Flush(t.Context()), "an error is returned once")
}

func TestRequiredFields(t *testing.T) {
	for want, call := range map[string]func(){
		"metering: GateConfig.Store is nil": func() { metering.NewGate(t.Context(), metering.GateConfig{}) },
		"metering: Admin.Store is nil":      func() { metering.Admin{}.CreateAccount(t.Context(), "name", "free") },
		"metering: Worker.Start is nil":     func() { new(metering.Worker).Run(t.Context()) },
	} {
		require.PanicsWithValue(t, want, call)
	}
}
