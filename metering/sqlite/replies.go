package sqlite

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/internal/hold"
	"github.com/diagkit/diagkit/metering/sqlitedb"
)

// maxKnown bounds the tags in memory, about 25 bytes each. Above it absence is no longer proven, and
// every idempotency key costs one read of the database.
const maxKnown = 1 << 22

// known counts the kept replies of each tag: what is not in it is absent, without a look at the disk,
// and most idempotency keys are new. It is usable once complete.
type known struct {
	complete atomic.Bool
	full     atomic.Bool
	count    atomic.Int64
	shards   [64]knownShard
}

type knownShard struct {
	mu   sync.Mutex
	tags map[uint32]uint32
}

func (k *known) shard(tag uint32) *knownShard { return &k.shards[tag%uint32(len(k.shards))] }

// add is called for each kept reply, before its claim is released.
func (k *known) add(tag uint32) {
	if k.full.Load() {
		return
	}
	if k.count.Add(1) > maxKnown {
		k.giveUp()
		return
	}
	s := k.shard(tag)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tags == nil {
		s.tags = make(map[uint32]uint32)
	}
	s.tags[tag]++
}

// giveUp stops proving absence, and frees the memory.
func (k *known) giveUp() {
	k.full.Store(true)
	for i := range k.shards {
		s := &k.shards[i]
		s.mu.Lock()
		s.tags = nil
		s.mu.Unlock()
	}
}

// remove is called for each reply that was deleted.
func (k *known) remove(tag uint32) {
	s := k.shard(tag)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch n := s.tags[tag]; n {
	case 0:
		return
	case 1:
		delete(s.tags, tag)
	default:
		s.tags[tag] = n - 1
	}
	k.count.Add(-1)
}

// absent reports that no reply has the tag; false means "perhaps".
func (k *known) absent(tag uint32) bool {
	if !k.complete.Load() {
		return false
	}
	s := k.shard(tag)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.tags[tag]
	return !ok && !k.full.Load() // asked last: giveUp says so before it empties the shard
}

// learn reads the replies kept by earlier runs. Those that this run keeps meanwhile are newer.
func (s *Store) learn() {
	ctx := s.ctx
	var old hold.Bodies[int64, int64]
	err := s.read(ctx, func(conn *sqlite.Conn) error {
		return sqlitedb.Rows(conn, "SELECT id, tag, key, bytes, expires FROM replies WHERE id <= ?1 ORDER BY expires",
			sqlitedb.Args(s.learnt),
			func(stmt *sqlite.Stmt) error {
				s.known.add(uint32(stmt.ColumnInt64(1)))
				line, id, expires := stmt.ColumnInt64(2), stmt.ColumnInt64(0), instant(stmt.ColumnInt64(4))
				old.Add(line, id, stmt.ColumnInt(3), time.Time{}, expires, 0)
				return nil
			})
	})
	if err == nil {
		err = s.administer(ctx, func(w *writer) error { w.bodies.Precede(old); return nil }, nil)
	}
	if err == nil {
		s.known.complete.Store(true)
	}
}

// source is the book's view of the store.
type source struct{ *Store }

func (s source) Month(ctx context.Context, id metering.AccountID, p metering.Period) (m hold.Month, err error) {
	err = s.get(ctx, `SELECT used, charges, overage, micros FROM balances
		WHERE account = (SELECT id FROM names WHERE name = ?1) AND period = ?2`, []any{id, p.Number()},
		&m.Used, &m.Charges, &m.Overage, &m.Micros)
	return m, err
}

func (s source) Absent(id hold.ClaimID) bool { return s.known.absent(tagOf(id)) }

func (s source) Reply(ctx context.Context, id hold.ClaimID) (hold.Record, error) {
	return one(ctx, s.Store, func(stmt *sqlite.Stmt) (r hold.Record, err error) {
		var header []byte
		sqlitedb.Scan(stmt, &r.RequestID, &r.Fingerprint, &r.Expires, &r.Reply.Status, &r.Reply.Form, &header, &r.Reply.Body)
		r.Reply.Header, err = hold.ParseHeader(header)
		return r, err
	}, "kept reply", `SELECT request, fingerprint, expires, status, form, header, body FROM replies
		WHERE tag = ?1 AND hash = ?2 AND key = (SELECT id FROM names WHERE name = ?3) ORDER BY id DESC LIMIT 1`,
		int64(tagOf(id)), id.Hash[:], id.Line)
}

const (
	// sweepPause is the time between two sweeps, and sweepRows how many replies one transaction
	// deletes, so that charges need not wait for it long. A sweep goes on while it finds that many.
	sweepPause = 10 * time.Second
	sweepRows  = 250
)

// sweep loads the kept replies, and then removes expired ones until the store closes.
func (s *Store) sweep() {
	s.learn()
	tick := time.NewTicker(sweepPause)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		}
		s.book.Sweep()
		for {
			n, err := s.sweepReplies()
			if err != nil || n < sweepRows || s.ready(context.Background()) != nil {
				break // charges will report the error; the next tick retries
			}
		}
	}
}

// sweepReplies deletes expired replies, and returns how many.
func (s *Store) sweepReplies() (int, error) {
	if s.config.Doubt != nil && s.config.Doubt() != nil {
		return 0, nil
	}
	now := s.config.Clock()
	var tags []uint32
	err := s.administer(context.Background(), func(w *writer) error {
		w.bodies.Sweep(now)
		return sqlitedb.Rows(w.conn, `DELETE FROM replies WHERE id IN
			(SELECT id FROM replies WHERE expires <= ?1 ORDER BY expires LIMIT ?2) RETURNING tag`,
			sqlitedb.Args(micros(now), sweepRows),
			func(stmt *sqlite.Stmt) error { tags = append(tags, uint32(stmt.ColumnInt64(0))); return nil })
	}, func() {
		for _, tag := range tags {
			s.known.remove(tag)
		}
	})
	return len(tags), err
}
