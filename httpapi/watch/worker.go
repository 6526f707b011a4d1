package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/diagkit/diagkit/metering"
)

const (
	// lease is for how long a run is reserved for one node: well above runTime and what a store may take. A node that has
	// not told of the result by then is taken for dead, and another runs the watch.
	lease = 5 * time.Minute
	// runTime bounds a run: no operation takes longer than a minute, and three follow each other at most.
	runTime = 3 * time.Minute
	// storeTime bounds the wait for a store to take what came of a run.
	storeTime = 15 * time.Second
	// drainTime is how long runs under way may go on when the server ends; then they are broken off, and made again
	// elsewhere.
	drainTime = 10 * time.Second
	// What the worker does unless it is told otherwise, and how many due watches it reads past to find those of accounts
	// that have room.
	defaultRunning = 16
	defaultPoll    = 2 * time.Second
	mostRead       = 4096
	// ailing is for how long a watch that could not be looked at is left alone.
	ailing = 10 * time.Minute
)

// poke has the worker look for watches that are due. It does not block.
func (w *Watches) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Run runs watches as they fall due, until the context ends. It then begins none, waits a moment for those under way,
// breaks off the others, and returns the context's error. That the store fails is logged, and it is asked again. Any
// number of workers may share a store.
func (w *Watches) Run(ctx context.Context) error {
	poll := time.NewTicker(cmp.Or(w.Poll, defaultPoll))
	defer poll.Stop()
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	for ctx.Err() == nil {
		if _, err := w.step(ctx, running); err != nil && ctx.Err() == nil {
			w.Log.Error("looking for watches that are due", "error", err)
		}
		select {
		case <-poll.C:
		case <-w.wake:
		case <-ctx.Done():
		}
	}
	defer time.AfterFunc(drainTime, stop).Stop()
	w.under.Wait()
	return ctx.Err()
}

// Flush runs what is due, and returns when nothing is: for tests, and programs that run for a moment only. The error is
// the store's, or the context's.
func (w *Watches) Flush(ctx context.Context) error {
	for {
		began, err := w.step(ctx, ctx)
		w.under.Wait()
		w.mu.Lock()
		err, w.fault = cmp.Or(err, w.fault, ctx.Err()), nil
		w.mu.Unlock()
		if err != nil || began == 0 {
			return err
		}
	}
}

// Overdue counts the watches that have been due for longer than the lease, up to a limit: nobody runs them.
func (w *Watches) Overdue(ctx context.Context, limit int) (count int, err error) {
	f := metering.RecordFilter{Kind: kind, DueBy: w.now().Add(-lease), Limit: limit}
	for _, err := range w.Store.Records(ctx, f) {
		if err != nil {
			return 0, err
		}
		count++
	}
	return count, nil
}

// step begins what is due, as far as there is room. It returns how much it began.
func (w *Watches) step(ctx, running context.Context) (began int, err error) {
	var due []metering.Record
	free := w.free()
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
		if w.take(r) {
			due = append(due, r)
		}
	}
	// Nodes read the same list: in an order of its own each seldom meets another.
	rand.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] })
	for _, r := range due {
		w.under.Go(func() { w.done(r, w.run(running, r)) })
	}
	return len(due), nil
}

func (w *Watches) free() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.most() - len(w.taken)
}

func (w *Watches) most() int { return cmp.Or(w.Running, defaultRunning) }

// take makes room for a run, if its account has any and it did not fail a moment ago.
func (w *Watches) take(r metering.Record) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := string(r.Account) + "/" + r.ID
	share := max(1, w.most()/4)
	if w.taken[name] || w.running[r.Account] >= share || w.now().Before(w.ailing[name]) {
		return false
	}
	w.taken[name] = true
	w.running[r.Account]++
	return true
}

// done frees the room. What failed is left alone for a while, so that it is in nobody's way.
func (w *Watches) done(r metering.Record, err error) {
	name := string(r.Account) + "/" + r.ID
	w.mu.Lock()
	delete(w.taken, name)
	if w.running[r.Account]--; w.running[r.Account] == 0 {
		delete(w.running, r.Account)
	}
	for other, until := range w.ailing {
		if !w.now().Before(until) {
			delete(w.ailing, other)
		}
	}
	switch {
	case err == nil || errors.Is(err, metering.ErrVersion): // or another node was first
	case errors.Is(err, context.Canceled):
	default:
		w.ailing[name], w.fault = w.now().Add(ailing), err
		w.Log.Error("running a watch", "watch", r.ID, "account", r.Account, "error", err)
	}
	w.mu.Unlock()
	w.poke()
}
