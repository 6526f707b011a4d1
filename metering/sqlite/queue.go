package sqlite

import (
	"errors"
	"runtime"
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

	err  error
	done chan struct{}
}

var jobs = sync.Pool{New: func() any { return &job{done: make(chan struct{}, 1)} }}

func newJob() *job { return jobs.Get().(*job) }

// recycle gives the job back. Nobody else may know it any more.
func (j *job) recycle() {
	*j = job{done: j.done}
	jobs.Put(j)
}

// queue is what waits for the writer.
type queue struct {
	mu     sync.Mutex
	jobs   []*job
	closed bool
	wake   chan struct{}
}

func (q *queue) init() { q.wake = make(chan struct{}, 1) }

// do hands a job to the writer and waits for its end.
func (q *queue) do(j *job) error {
	q.mu.Lock()
	if q.closed || len(q.jobs) >= maxQueue {
		err := errQueue
		if q.closed {
			err = metering.ErrClosed
		}
		q.mu.Unlock()
		return err
	}
	q.jobs = append(q.jobs, j)
	first := len(q.jobs) == 1
	q.mu.Unlock()
	if first {
		q.signal()
	}
	<-j.done
	return j.err
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

// take waits for work and moves it into batch, which is empty. It returns none after close.
func (q *queue) take(batch []*job) []*job {
	// Who was answered by the last batch is about to ask again: let them, and share the flush. Those
	// who are ready to run run once, so this waits for nobody who is not.
	runtime.Gosched()
	for {
		q.mu.Lock()
		switch {
		case len(q.jobs) > 0:
			batch = q.cut(batch)
			q.mu.Unlock()
			return batch
		case q.closed:
			q.mu.Unlock()
			return nil
		}
		q.mu.Unlock()
		<-q.wake
		runtime.Gosched() // whoever came with the first
	}
}

// cut moves the oldest jobs, as many as one transaction may hold.
func (q *queue) cut(batch []*job) []*job {
	bytes, n := 0, 0
	for n < min(len(q.jobs), maxBatch) && (n == 0 || bytes < maxBatchBytes) {
		if r := q.jobs[n].reply; r != nil {
			bytes += len(r.Body)
		}
		n++
	}
	batch = append(batch, q.jobs[:n]...)
	rest := copy(q.jobs, q.jobs[n:])
	clear(q.jobs[rest:])
	q.jobs = q.jobs[:rest]
	return batch
}
