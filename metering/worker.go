package metering

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"
)

// pauseFactor is the multiple of the duration of a poll for which a [Worker] pauses after it.
const pauseFactor = 3

// A Worker runs jobs as they fall due: [Record]s by their Due. A worker leases a record by moving its Due to the end
// of the lease. The first to write that gets it, so any number of workers may share a store; a node that has not
// written a result when the lease ends counts as dead, and another does the job. Start and Interval are required.
type Worker struct {
	// Start finds the jobs that are due, starts each for which there is room by [Worker.Go], and returns how many it
	// started. The jobs end with the second context.
	Start    func(ctx, jobs context.Context) (started int, err error)
	Kind     string        // what falls due, in the log, such as "watches"
	Interval time.Duration // between polls
	MaxPause time.Duration // after a poll that took long, so that a long queue costs a part of the time; 0 means none
	Drain    time.Duration // how long jobs may go on after the context of Run has ended
	Log      *slog.Logger  // nil disables logging

	once sync.Once
	log  *slog.Logger
	wake chan struct{}
	jobs sync.WaitGroup
	mu   sync.Mutex
	err  error // of a job, for Flush
}

func (w *Worker) init() {
	w.once.Do(func() {
		if w.Start == nil {
			panic("metering: Worker.Start is nil")
		}
		w.wake = make(chan struct{}, 1)
		w.log = cmp.Or(w.Log, slog.New(slog.DiscardHandler))
	})
}

// Wake makes the worker poll now. It does not block.
func (w *Worker) Wake() {
	w.init()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Go runs a job, and polls again when it has succeeded. After a failure that waits for the next interval. A panic of
// the job is its error, and is logged.
func (w *Worker) Go(job func() error) {
	w.jobs.Go(func() {
		finished := false
		err := Contain(func() error { err := job(); finished = true; return err })
		if !finished {
			w.log.Error("a job panicked", "kind", w.Kind, "error", err)
		}
		if err == nil {
			w.Wake()
			return
		}
		w.mu.Lock()
		w.err = err
		w.mu.Unlock()
	})
}

// Run runs jobs until the context ends. It then starts none, waits for those that are running, and returns the
// context's error. An error of Start is logged, and Start is called again.
func (w *Worker) Run(ctx context.Context) error {
	w.init()
	ticker := time.NewTicker(w.Interval)
	defer ticker.Stop()
	jobs, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	for ctx.Err() == nil {
		began := time.Now()
		err := Contain(func() error { _, err := w.Start(ctx, jobs); return err })
		if err != nil && ctx.Err() == nil {
			w.log.Error("starting "+w.Kind+" that are due", "error", err)
		}
		select {
		case <-time.After(min(pauseFactor*time.Since(began), w.MaxPause)):
		case <-ctx.Done():
		}
		select {
		case <-ticker.C:
		case <-w.wake:
		case <-ctx.Done():
		}
	}
	defer time.AfterFunc(w.Drain, cancel).Stop()
	w.jobs.Wait()
	return ctx.Err()
}

// Flush runs what is due, and returns when nothing is: for tests, and short-lived programs. The error is that of Start
// or of a job, or the context's.
func (w *Worker) Flush(ctx context.Context) error {
	w.init()
	for {
		started, err := w.Start(ctx, ctx)
		w.jobs.Wait()
		w.mu.Lock()
		err, w.err = cmp.Or(err, w.err, ctx.Err()), nil
		w.mu.Unlock()
		if err != nil || started == 0 {
			return err
		}
	}
}
