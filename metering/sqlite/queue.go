package sqlite

import (
	"errors"
	"runtime"
	"slices"
	"sync"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/hold"
)

const (
	// maxBatch bounds the work of one transaction, and with it how long the first of a batch waits
	// for the last. Beyond some hundred the flush of the disk is no longer what costs.
	maxBatch = 1024

	// maxBatchBytes bounds the replies of one transaction, which lie in memory until it ends.
	maxBatchBytes = 32 << 20

	// maxQueue bounds what waits for the writer: some seconds of work. Whoever comes later is told at
	// once, rather than after its caller has gone.
	maxQueue = 1 << 16
)

// errQueue is what comes after maxQueue.
var errQueue = errors.New("too many writes are waiting for the disk")

// A job is one thing to be written: a charge, or an act of administration.
type job struct {
	ticket   metering.Ticket
	settling hold.Settling
	at       int64 // microseconds
	reply    *metering.Reply
	tag      uint64

	act   func(*writer) error // administration; nil for a charge
	after func()              // once the act is durable

	err error
}

var jobs = sync.Pool{New: func() any { return new(job) }}

func newJob() *job { return jobs.Get().(*job) }

// recycle gives the job back. Nobody else may know it any more.
func (j *job) recycle() {
	*j = job{}
	jobs.Put(j)
}

// A batch is jobs that came together. All who wait for it are woken together.
type batch struct {
	jobs  []*job
	bytes int           // of their replies
	done  chan struct{} // closed when the transaction has ended
}

func (b *batch) full() bool { return len(b.jobs) >= maxBatch || b.bytes >= maxBatchBytes }

// queue is what waits for the writer.
type queue struct {
	mu      sync.Mutex
	batches []*batch // oldest first; all but the last are full
	waiting int      // jobs in them
	usual   int      // jobs of the last batch that was cut off
	closed  bool
	wake    chan struct{}
}

func (q *queue) init() { q.wake = make(chan struct{}, 1) }

// do hands a job to the writer and waits for its end.
func (q *queue) do(j *job) error {
	q.mu.Lock()
	if q.closed || q.waiting >= maxQueue {
		err := errQueue
		if q.closed {
			err = metering.ErrClosed
		}
		q.mu.Unlock()
		return err
	}
	b := q.add(j)
	first := q.waiting == 1
	q.mu.Unlock()
	if first {
		q.signal()
	}
	<-b.done
	return j.err
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
	if j.reply != nil {
		b.bytes += len(j.reply.Body)
	}
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
	// Who was answered by the last batch is about to ask again: let them, and share the flush. Those
	// who are ready to run run once, so this waits for nobody who is not.
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
		runtime.Gosched() // whoever came with the first
	}
}

// join returns the next batch for a transaction that has so many jobs, with replies of so many bytes, if
// somebody is waiting and the transaction has room.
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
