package sqlite

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/diagkit/diagkit/sqlitedb"
)

const (
	// heapSize is how many tags are written to the index together. The more there are, the more of
	// them share a page; the fewer, the sooner a restarted server has read those that are missing.
	heapSize = 1 << 15

	// stepSize is how many of them one transaction takes along, at least.
	stepSize = 256

	// bucketSpan is the time whose replies share a bucket, which is deleted as a whole.
	bucketSpan = 4 * time.Hour
)

// tagged is a reply that the index does not have yet.
type tagged struct {
	tag, id int64
	bucket  int64
	before  int32 // position of an older one with the same tag, or -1
}

// heap is replies that go to the index together.
type heap struct {
	list []tagged
	last map[int64]int32 // position of the newest reply of a tag
}

func (h *heap) add(r tagged) {
	if h.last == nil {
		h.last = make(map[int64]int32)
	}
	before, ok := h.last[r.tag]
	if !ok {
		before = -1
	}
	r.before = before
	h.last[r.tag] = int32(len(h.list))
	h.list = append(h.list, r)
}

func (h *heap) find(tag int64, ids []int64) []int64 {
	at, ok := h.last[tag]
	if !ok {
		return ids
	}
	for ; at >= 0; at = h.list[at].before {
		ids = append(ids, h.list[at].id)
	}
	return ids
}

// index finds the kept replies of a tag: in the heap that grows, in the one that is being written,
// and in the table.
type index struct {
	mu      sync.Mutex
	growing heap
	writing heap
	buckets []int64 // of the table, sorted

	size   int   // of a heap; 0 means heapSize
	loaded int64 // the table had all up to this id when the store was opened

	// Of the writer alone.
	order  []tagged // what is being written, sorted as the table is
	done   int      // how many of it are durable
	step   int      // how many more the last transaction wrote; if it failed, the next writes them again
	ending bool     // the last transaction wrote the last of it
	nextID int64
}

// bucketOf tells in which bucket a reply with an expiry in microseconds belongs.
func bucketOf(expires int64) int64 { return expires / bucketSpan.Microseconds() }

// load reads which buckets there are, and the replies that the table lacks.
func (x *index) load(ctx context.Context, s *Store) error {
	return s.read(ctx, func(conn *sqlite.Conn) error {
		err := sqlitedb.Rows(conn, "SELECT id FROM reply_indexed", nil,
			func(stmt *sqlite.Stmt) error { x.loaded = stmt.ColumnInt64(0); return nil })
		if err != nil {
			return err
		}
		x.nextID = x.loaded + 1
		err = sqlitedb.Rows(conn, "SELECT id, tag, expires FROM replies WHERE id > ?1 ORDER BY id",
			func(stmt *sqlite.Stmt) { stmt.BindInt64(1, x.loaded) },
			func(stmt *sqlite.Stmt) error {
				r := tagged{id: stmt.ColumnInt64(0), tag: stmt.ColumnInt64(1), bucket: bucketOf(stmt.ColumnInt64(2))}
				x.growing.add(r)
				s.known.add(uint64(r.tag))
				x.nextID = r.id + 1
				return nil
			})
		if err != nil {
			return err
		}
		return sqlitedb.Rows(conn, `WITH RECURSIVE b (bucket) AS (
				SELECT min(bucket) FROM reply_index
				UNION ALL SELECT (SELECT min(bucket) FROM reply_index WHERE bucket > b.bucket) FROM b WHERE bucket IS NOT NULL
			) SELECT bucket FROM b WHERE bucket IS NOT NULL`, nil,
			func(stmt *sqlite.Stmt) error { x.buckets = append(x.buckets, stmt.ColumnInt64(0)); return nil })
	})
}

// find returns the ids of the replies with a tag that are not in the table, and the buckets of the
// table. Asked in this order nothing is missed: a reply leaves the heap after it is in the table.
func (x *index) find(tag int64) (ids, buckets []int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	ids = x.growing.find(tag, nil)
	ids = x.writing.find(tag, ids)
	return ids, slices.Clone(x.buckets)
}

// add takes in replies that are durable now.
func (x *index) add(list []tagged) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, r := range list {
		x.growing.add(r)
	}
}

// write writes the next step of a heap in the transaction under way, where there is one to write.
func (x *index) write(w *writer, jobs int) error {
	if len(x.order) == 0 && !x.seal() {
		return nil
	}
	rest := x.order[x.done:]
	rest = rest[:min(len(rest), max(stepSize, 2*jobs))] // more than come in meanwhile
	for _, r := range rest {
		w.tag.BindInt64(1, r.bucket)
		w.tag.BindInt64(2, r.tag)
		w.tag.BindInt64(3, r.id)
		if err := run(w.tag); err != nil {
			return err
		}
	}
	x.step = len(rest)
	x.ending = x.done+x.step == len(x.order)
	if !x.ending {
		return nil
	}
	highest := slices.MaxFunc(x.order, func(a, b tagged) int { return cmp.Compare(a.id, b.id) }).id
	return sqlitedb.Exec(w.conn, "UPDATE reply_indexed SET id = ?1", func(stmt *sqlite.Stmt) { stmt.BindInt64(1, highest) })
}

// seal takes the growing heap to be written, once it is large enough.
func (x *index) seal() bool {
	x.mu.Lock()
	if len(x.growing.list) < cmp.Or(x.size, heapSize) {
		x.mu.Unlock()
		return false
	}
	x.writing, x.growing = x.growing, heap{}
	x.order = slices.Clone(x.writing.list)
	x.mu.Unlock()

	slices.SortFunc(x.order, func(a, b tagged) int {
		return cmp.Or(cmp.Compare(a.bucket, b.bucket), cmp.Compare(a.tag, b.tag), cmp.Compare(a.id, b.id))
	})
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, r := range x.order {
		if n := len(x.buckets); n == 0 || x.buckets[n-1] != r.bucket {
			x.buckets = append(x.buckets, r.bucket)
		}
	}
	slices.Sort(x.buckets)
	x.buckets = slices.Compact(x.buckets)
	return true
}

// committed says that the step is durable.
func (x *index) committed() {
	x.done += x.step
	x.step = 0
	if !x.ending {
		return
	}
	x.ending, x.order, x.done = false, nil, 0
	x.mu.Lock()
	defer x.mu.Unlock()
	x.writing = heap{}
}

// expired returns the oldest bucket of which nothing is live any more.
func (x *index) expired(now int64) (bucket int64, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.buckets) == 0 || x.buckets[0] >= bucketOf(now) {
		return 0, false
	}
	return x.buckets[0], true
}

func (x *index) drop(bucket int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.buckets = slices.DeleteFunc(x.buckets, func(b int64) bool { return b == bucket })
}
