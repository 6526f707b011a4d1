package watch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
)

const (
	// lease is for how long a run is reserved for one node: well above runTime and what a store may take. A node that
	// has not written the result by then counts as dead, and another runs the watch.
	lease = 5 * time.Minute
	// runTime bounds a run: no operation takes longer than a minute, and three follow each other at most.
	runTime = 3 * time.Minute
	// storeTime bounds the wait for a store to write the result of a run.
	storeTime = 15 * time.Second
	// drainTime is how long runs under way may continue when the server ends; then they are aborted, and repeated
	// elsewhere.
	drainTime = 10 * time.Second
	// pollInterval is the interval at which the worker checks for watches that are due.
	pollInterval = 2 * time.Second
	// skipTime is for how long a watch is skipped that is running here, or that could not be checked.
	skipTime = 10 * time.Minute
)

// mostRead is how many due watches the worker reads to find some of accounts that have room: more than one account
// has, so that none blocks others.
var mostRead = 2 * int(budget.Of(budget.Watches).Account)

// Run runs watches as they fall due, until the context ends. It then begins none, waits a moment for those under way,
// aborts the others, and returns the context's error. A failure of the store is logged, and retried. Any number of
// workers may share a store.
func (w *Watches) Run(ctx context.Context) error { return w.worker.Run(ctx) }

// Flush runs what is due, and returns when nothing is: for tests, and short-lived programs. The error is the store's,
// or the context's.
func (w *Watches) Flush(ctx context.Context) error { return w.worker.Flush(ctx) }

// Overdue counts the watches that have been due for longer than the lease, up to a limit: no node runs them.
func (w *Watches) Overdue(ctx context.Context, limit int) (count int, err error) {
	for _, err = range w.Store.Records(ctx, metering.RecordFilter{Kind: kind, DueBy: w.now().Add(-lease), Limit: limit}) {
		if err == nil {
			count++
		}
	}
	return count, err
}

// start starts the runs that are due, as far as there is room.
func (w *Watches) start(ctx, runs context.Context) (started int, err error) {
	var due []metering.Record
	free := w.freeSlots()
	if free <= 0 {
		return 0, nil
	}
	for r, err := range w.Store.Records(ctx, metering.RecordFilter{Kind: kind, DueBy: w.now(), Limit: mostRead}) {
		if err != nil {
			return 0, fmt.Errorf("listing watches: %w", err)
		}
		if len(due) >= free {
			break
		}
		if w.reserve(r) {
			due = append(due, r)
		}
	}
	// Nodes read the same list: in an order of its own each seldom meets another.
	rand.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] })
	for _, r := range due {
		w.worker.Go(func() error {
			return w.release(r, metering.Contain(func() error { return w.run(runs, r) }))
		})
	}
	return len(due), nil
}

// name is that of a watch among those of all accounts.
func name(r metering.Record) string { return string(r.Account) + "/" + r.ID }

// freeSlots returns how many more watches may run here.
func (w *Watches) freeSlots() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n = w.Running
	for _, running := range w.running {
		n -= running
	}
	return n
}

// An account has a share of the runs on a node, however many these are.
var allRuns, accountRuns = int(budget.Of(budget.WatchRuns).All), int(budget.Of(budget.WatchRuns).Account)

// reserve makes room for a run, if its account has any, it is not running and did not fail a moment ago.
func (w *Watches) reserve(r metering.Record) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running[r.Account] >= max(1, w.Running*accountRuns/allRuns) || w.now().Before(w.skipUntil[name(r)]) {
		return false
	}
	w.skipUntil[name(r)] = w.now().Add(skipTime)
	w.running[r.Account]++
	return true
}

// release frees the room of a run that ended, and returns its error unless that is no fault of the store's. A failed
// watch is skipped for a while, so that it does not block others.
func (w *Watches) release(r metering.Record, err error) error {
	defer w.worker.Wake()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running[r.Account]--; w.running[r.Account] == 0 {
		delete(w.running, r.Account)
	}
	now := w.now()
	maps.DeleteFunc(w.skipUntil, func(_ string, until time.Time) bool { return !now.Before(until) })
	if err == nil || errors.Is(err, metering.ErrVersion) || errors.Is(err, context.Canceled) { // or another node was first
		delete(w.skipUntil, name(r))
		return nil
	}
	w.Log.Error("running a watch", "watch", r.ID, "account", r.Account, "error", err)
	return err
}
