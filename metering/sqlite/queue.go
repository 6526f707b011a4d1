package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/internal/hold"
)

const (
	// maxBatch bounds the work of one transaction, and with it how long the first of a batch waits
	// for the last. Beyond some hundred the flush of the disk is no longer what costs.
	maxBatch = 1024
	// maxBatchBytes bounds the replies of one transaction, which are in memory until it ends.
	maxBatchBytes = 32 << 20
	// maxQueue bounds the waiting jobs of the writer: some seconds of work. A later one is refused immediately, rather
	// than after its caller has left.
	maxQueue = 1 << 16
)

var (
	// errQueue is the error beyond maxQueue.
	errQueue = fmt.Errorf("%w: too many writes are waiting for the disk", metering.ErrUnavailable)

	// errSlow is the error for a context that ended before the writer was done.
	errSlow = fmt.Errorf("%w: the disk does not answer in time", metering.ErrUnavailable)
)

// A job is one thing to be written: a charge, or an act of administration.
type job struct {
	ticket   metering.Ticket
	settling hold.Settling
	at       int64 // microseconds
	reply    *metering.Reply
	tag      uint32

	act   func(*writer) error // administration; nil for a charge
	after func()              // once the act is durable

	err error
}

var jobs = sync.Pool{New: func() any { return new(job) }}

func newJob() *job { return jobs.Get().(*job) }

// bytes is the size of its reply.
func (j *job) bytes() int {
	if j.reply == nil {
		return 0
	}
	return len(j.reply.Body)
}

// recycle returns the job to the pool. No other reference to it may exist.
func (j *job) recycle() {
	*j = job{}
	jobs.Put(j)
}

// A batch is a set of jobs that arrived together. All its waiters are woken together.
type batch struct {
	jobs  []*job
	bytes int           // of their replies
	done  chan struct{} // closed when the transaction has ended
}

func (b *batch) full() bool { return len(b.jobs) >= maxBatch || b.bytes >= maxBatchBytes }

// queue holds the waiting jobs of the writer.
type queue struct {
	mu      sync.Mutex
	batches []*batch // oldest first; all but the last are full
	waiting int      // jobs in them
	usual   int      // jobs of the last batch that was cut off
	closed  bool
	wake    chan struct{}
}

func (q *queue) init() { q.wake = make(chan struct{}, 1) }

// do hands a job to the writer and waits for its end. When the context ends first, the job is withdrawn; if it is
// being written already, do returns a channel that is closed when it has ended.
func (q *queue) do(ctx context.Context, j *job) (writing <-chan struct{}, err error) {
	q.mu.Lock()
	if q.closed || q.waiting >= maxQueue {
		err := errQueue
		if q.closed {
			err = metering.ErrClosed
		}
		q.mu.Unlock()
		return nil, err
	}
	b := q.add(j)
	first := q.waiting == 1
	q.mu.Unlock()
	if first {
		q.signal()
	}
	select {
	case <-b.done:
		return nil, j.err
	case <-ctx.Done():
	}
	err = ctx.Err()
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: %w", errSlow, err)
	}
	if q.withdraw(b, j) {
		return nil, err
	}
	return b.done, fmt.Errorf("%w: the outcome is not known yet: %w", metering.ErrUnavailable, err)
}

// withdraw removes a job, unless its batch has been taken.
func (q *queue) withdraw(b *batch, j *job) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(b.jobs, j)
	if !slices.Contains(q.batches, b) || i < 0 {
		return false
	}
	b.jobs = slices.Delete(b.jobs, i, i+1)
	b.bytes -= j.bytes()
	q.waiting--
	return true
}

// add puts a job into the last batch that has room.
func (q *queue) add(j *job) *batch {
	n := len(q.batches)
	if n == 0 || q.batches[n-1].full() {
		q.batches = append(q.batches, &batch{jobs: make([]*job, 0, q.usual), done: make(chan struct{})})
		n++
	}
	b := q.batches[n-1]
	b.jobs = append(b.jobs, j)
	b.bytes += j.bytes()
	q.waiting++
	return b
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// close lets the writer finish what is waiting, and refuses the rest.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.signal()
}

// take waits for work. It returns nil after close.
func (q *queue) take() *batch {
	// The clients of the last batch are about to send their next requests: let them, and share the flush. Gosched runs
	// the goroutines that are ready once, and waits for no other.
	runtime.Gosched()
	for {
		q.mu.Lock()
		switch {
		case len(q.batches) > 0:
			b := q.cut()
			q.mu.Unlock()
			return b
		case q.closed:
			q.mu.Unlock()
			return nil
		}
		q.mu.Unlock()
		<-q.wake
		runtime.Gosched() // the jobs that arrived with the first
	}
}

// join returns the next batch for a transaction that has so many jobs, with replies of so many bytes, if a batch is
// waiting and the transaction has room.
func (q *queue) join(jobs, bytes int) *batch {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.batches) == 0 {
		return nil
	}
	if next := q.batches[0]; jobs+len(next.jobs) > maxBatch || bytes+next.bytes > maxBatchBytes {
		return nil
	}
	return q.cut()
}

// cut removes the oldest batch.
func (q *queue) cut() *batch {
	b := q.batches[0]
	q.batches = slices.Delete(q.batches, 0, 1)
	q.usual = len(b.jobs)
	q.waiting -= q.usual
	return b
}
