package postgres

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/diagkit/diagkit/metering"
)

const (
	// maxGroup bounds the work of one transaction, and with it how long the first of a group waits for the
	// last. Beyond it a larger group is hardly faster.
	maxGroup = 256
	// maxGroupBytes bounds the replies of one transaction.
	maxGroupBytes = 8 << 20
	// maxWaiting bounds the waiting jobs of all accounts. A later one is refused immediately, rather than after its
	// caller has left.
	maxWaiting = 1 << 16
)

// errWaiting is the error beyond maxWaiting.
var errWaiting = fmt.Errorf("%w: too many requests are waiting for PostgreSQL", metering.ErrUnavailable)

// A job is one thing to be done for an account.
type job[In, Out any] struct {
	in   In
	out  Out
	err  error
	left bool // the caller has stopped waiting
}

// A group is a set of jobs of one account in one transaction. All its waiters are woken together.
type group[In, Out any] struct {
	account metering.AccountID
	period  metering.Period
	jobs    []*job[In, Out]
	bytes   int
	begun   bool
	ended   bool
	done    chan struct{}
}

// lanes carry jobs to the database: one lane per account, in which one group runs while the next one collects. No job
// is delayed to fill a group, and a busy account does not delay another.
type lanes[In, Out any] struct {
	run func(*group[In, Out]) // does the jobs, and sets out or err of each
	// Both may be nil. late receives a job that was done after its caller had left; fits checks whether a job fits
	// into a group, which has one period and a bound of bytes.
	late func(*job[In, Out])
	fits func(In) (period metering.Period, bytes int)

	mu      sync.Mutex
	groups  map[metering.AccountID][]*group[In, Out] // that wait, oldest first; an entry means a running lane
	waiting int
	closed  bool
	tasks   sync.WaitGroup
}

// do runs a job and waits for its outcome. When the context ends before its group began, the job is taken back; later
// the outcome is unknown, which is metering.ErrUnavailable.
func (l *lanes[In, Out]) do(ctx context.Context, account metering.AccountID, in In) (out Out, err error) {
	j := &job[In, Out]{in: in}
	g, err := l.add(account, j)
	if err != nil {
		return out, err
	}
	select {
	case <-g.done:
		return j.out, j.err
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	err = ctx.Err()
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: PostgreSQL does not answer in time: %w", metering.ErrUnavailable, err)
	}
	switch {
	case g.ended:
		return j.out, j.err
	case g.begun:
		j.left = true
		return out, fmt.Errorf("%w: the outcome is not known yet: %w", metering.ErrUnavailable, err)
	default:
		g.jobs = slices.DeleteFunc(g.jobs, func(other *job[In, Out]) bool { return other == j })
		l.waiting--
		return out, err
	}
}

// add puts a job into the last group of the account if it fits there, and starts the lane if needed.
func (l *lanes[In, Out]) add(account metering.AccountID, j *job[In, Out]) (*group[In, Out], error) {
	var period metering.Period
	var bytes int
	if l.fits != nil {
		period, bytes = l.fits(j.in)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return nil, metering.ErrClosed
	case l.waiting >= maxWaiting:
		return nil, errWaiting
	}
	if l.groups == nil {
		l.groups = make(map[metering.AccountID][]*group[In, Out])
	}
	list, running := l.groups[account]
	var g *group[In, Out]
	if n := len(list); n > 0 {
		g = list[n-1]
	}
	if g == nil || len(g.jobs) >= maxGroup || g.bytes+bytes > maxGroupBytes || g.period != period {
		g = &group[In, Out]{account: account, period: period, done: make(chan struct{})}
		l.groups[account] = append(list, g)
	}
	g.jobs = append(g.jobs, j)
	g.bytes += bytes
	l.waiting++
	if !running {
		l.tasks.Go(func() { l.lane(account) })
	}
	return g, nil
}

// lane does the groups of an account until none waits.
func (l *lanes[In, Out]) lane(account metering.AccountID) {
	for {
		// The clients of the last group are about to send their next requests: let them, and share the transaction.
		// Gosched runs the goroutines that are ready once, and waits for no other.
		runtime.Gosched()
		g := l.cut(account)
		if g == nil {
			return
		}
		if len(g.jobs) > 0 {
			l.run(g)
		}
		for _, j := range l.end(g) {
			if l.late != nil {
				l.late(j)
			}
		}
	}
}

// cut takes the oldest group, or ends the lane.
func (l *lanes[In, Out]) cut(account metering.AccountID) *group[In, Out] {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.groups[account]
	if len(list) == 0 {
		delete(l.groups, account)
		return nil
	}
	g := list[0]
	g.begun = true
	l.groups[account] = slices.Delete(list, 0, 1)
	l.waiting -= len(g.jobs)
	return g
}

// end wakes all waiters of a group, and returns the jobs whose callers have left.
func (l *lanes[In, Out]) end(g *group[In, Out]) (left []*job[In, Out]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g.ended = true
	close(g.done)
	for _, j := range g.jobs {
		if j.left {
			left = append(left, j)
		}
	}
	return left
}

// fail gives all jobs of a group one error.
func (g *group[In, Out]) fail(err error) {
	for _, j := range g.jobs {
		j.err = err
	}
}

// close refuses new jobs and waits for the rest.
func (l *lanes[In, Out]) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.tasks.Wait()
}
