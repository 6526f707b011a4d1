package publiccheck

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/diagkit/diagkit/metering/budget"
)

// A result is a check of a domain: while it runs, and afterwards what it found.
type result struct {
	began, ended time.Time // ended is zero while it runs
	waiting      []string  // names of the checks that run
	report       *report   // nil while it runs, and if it failed
	problem      string    // why there is no report

	done chan struct{} // closed at the end
	idle *time.Timer   // ends it once nobody asks for it
}

// resultOverhead is what a result takes in memory besides its page.
const resultOverhead = 1 << 10

func (r *result) size() int {
	if r.report == nil {
		return resultOverhead
	}
	return resultOverhead + len(r.report.Body)
}

// expired reports whether a result is too old to be shown.
func (r *result) expired(now time.Time) bool {
	lifetime := resultLifetime
	if r.report == nil || r.report.busy {
		lifetime = failureLifetime
	}
	return !r.ended.IsZero() && now.Sub(r.ended) >= lifetime
}

// lookUp returns the current result of a domain. A check that runs continues for the sake of those who ask.
func (h *Handler) lookUp(domain string) (r result, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	found := h.results[domain]
	if found == nil || found.expired(h.now()) {
		return result{}, false
	}
	if found.ended.IsZero() {
		found.idle.Reset(idleTime)
	}
	return *found, true
}

// A refusal is why a check does not start.
type refusal struct {
	retryAfter time.Duration
	rate       bool // of the network; otherwise all places are taken
}

// begin starts the check of a domain for a visitor, unless it runs or has a recent result.
func (h *Handler) begin(t target.Target, ip netip.Addr) (refused *refusal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	if r := h.results[t.Text]; r != nil && !r.expired(now) {
		return nil
	}
	h.sweep(now)
	if h.ctx.Err() != nil {
		return &refusal{retryAfter: busyTime}
	}
	if d := h.Budget.PublicChecks.Take(ip, now); !d.Allowed {
		return &refusal{retryAfter: d.RetryAfter, rate: true}
	}
	release, ok := h.Budget.PublicRuns.Take(ip)
	if !ok {
		h.Budget.PublicChecks.Refund(ip, now)
		return &refusal{retryAfter: busyTime}
	}
	ctx, cancel := context.WithTimeout(h.ctx, maxRunTime)
	r := &result{began: now, done: make(chan struct{}), idle: time.AfterFunc(idleTime, cancel)}
	if old := h.results[t.Text]; old != nil {
		h.bytes -= old.size()
	}
	h.results[t.Text] = r
	h.bytes += r.size()
	h.pending.Go(func() {
		defer release()
		defer cancel()
		found, problem := h.run(ctx, t, r)
		r.idle.Stop()
		h.end(t.Text, r, found, problem, errors.Is(ctx.Err(), context.Canceled))
	})
	return nil
}

// run checks a domain. The problem is empty if there is a report.
func (h *Handler) run(ctx context.Context, t target.Target, r *result) (found *report, problem string) {
	progress := func(waiting []string) {
		h.mu.Lock()
		defer h.mu.Unlock()
		r.waiting = waiting
	}
	p := diag.Catch(func() {
		whole := target.Run(ctx, t, target.Options{}, target.Ask(h.API.Unmetered()), progress)
		if err := whole.Err(); err != nil {
			problem = h.problemText(err)
			return
		}
		var err error
		if found, err = newReport(whole); err != nil {
			h.Log.Error("writing the result of a public check", "error", err)
			problem = internalProblem
		}
	})
	if p != nil {
		h.Log.Error("panic in a public check", "panic", p.Value, "stack", string(p.Stack))
		return nil, internalProblem
	}
	return found, problem
}

const internalProblem = "Something went wrong on the server."

// problemText explains to a visitor why nothing was learned.
func (h *Handler) problemText(err error) string {
	unavailable, silent := errors.AsType[*diag.UnavailableError](err)
	switch {
	case errors.Is(err, budget.ErrFull):
		return "The server is busy."
	case silent:
		return "There was no usable answer from " + unavailable.Asked + "."
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled): // the latter is not shown
		return "The check did not finish in time."
	}
	h.Log.Error("public check", "error", err)
	return internalProblem
}

// end stores what a check found, and forgets one that was canceled. If results take too much memory, the oldest are
// removed.
func (h *Handler) end(domain string, r *result, found *report, problem string, canceled bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer close(r.done)
	if canceled {
		h.remove(domain)
		return
	}
	h.bytes -= r.size()
	r.ended, r.waiting, r.report, r.problem = h.now(), nil, found, problem
	h.bytes += r.size()
	for h.bytes > maxResultBytes {
		oldest := ""
		for name, other := range h.results {
			if !other.ended.IsZero() && (oldest == "" || other.ended.Before(h.results[oldest].ended)) {
				oldest = name
			}
		}
		if oldest == "" || oldest == domain {
			return
		}
		h.remove(oldest)
	}
}

// sweep removes expired results, at most once a minute.
func (h *Handler) sweep(now time.Time) {
	if now.Sub(h.sweptAt) < time.Minute {
		return
	}
	h.sweptAt = now
	for name, r := range h.results {
		if r.expired(now) {
			h.remove(name)
		}
	}
}

func (h *Handler) remove(domain string) {
	h.bytes -= h.results[domain].size()
	delete(h.results, domain)
}
