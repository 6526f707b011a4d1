package postgres

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/postgresdb"
)

const (
	// followPause is the interval of polls for changes without a notification. They must be known within a second.
	followPause = 500 * time.Millisecond
	// listenPause is the time before a new connection for notifications is tried.
	listenPause = time.Second
	// pageChanges is how many changes are read per page.
	pageChanges = 256
)

// news notifies watchers of changes to keys or accounts, on this or another server.
type news struct {
	generation atomic.Uint64
	notified   chan struct{} // by PostgreSQL

	looking sync.Mutex // one poll at a time

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when changes are met
	cursor  int64         // the last change that was met
}

func (n *news) init(ctx context.Context, s *Store) error {
	n.notified = make(chan struct{}, 1)
	n.changed = make(chan struct{})
	var err error
	n.cursor, err = s.lastChange(ctx)
	return err
}

// waiting returns a channel that the next change closes.
func (n *news) waiting() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.changed
}

func (n *news) met() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cursor
}

// meet notes that changes up to seq can be read.
func (n *news) meet(seq int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cursor = max(n.cursor, seq)
	n.generation.Add(1)
	close(n.changed)
	n.changed = make(chan struct{})
}

// Generation implements [metering.Generational]: it rises with changes made through this value before the call
// returns, and with those of others within a second.
func (s *Store) Generation() uint64 { return s.news.generation.Load() }

func (s *Store) lastChange(ctx context.Context) (seq int64, err error) {
	err = s.pool.QueryRow(ctx, "SELECT coalesce(max(seq), 0) FROM changes").Scan(&seq)
	return seq, s.failure(err)
}

func (s *Store) changesAfter(ctx context.Context, seq int64) ([]metering.Change, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	rows, err := s.pool.Query(ctx, "SELECT seq, key, account FROM changes WHERE seq > $1 ORDER BY seq LIMIT $2",
		seq, pageChanges)
	if err != nil {
		return nil, s.failure(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[metering.Change])
	return list, s.failure(err)
}

// look processes the available changes.
func (s *Store) look(ctx context.Context) error {
	s.news.looking.Lock()
	defer s.news.looking.Unlock()
	for {
		list, err := s.changesAfter(ctx, s.news.met())
		if err != nil || len(list) == 0 {
			return err
		}
		s.news.meet(list[len(list)-1].Seq)
		if len(list) < pageChanges {
			return nil
		}
	}
}

// changedHere is called after a change through this value was committed, or may have been. The generation
// rises whatever happens.
func (s *Store) changedHere() {
	ctx, cancel := working()
	defer cancel()
	if err := s.look(ctx); err != nil {
		s.news.meet(0)
	}
}

// follow polls for changes until the store closes. An error recurs in the next poll.
func (s *Store) follow(pause time.Duration) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		case <-s.news.notified:
		}
		ctx, cancel := context.WithTimeout(s.ctx, examineTimeout)
		_ = s.look(ctx)
		cancel()
	}
}

// channel is where the stores of one schema notify each other. Names have at most 63 bytes.
const channel = "left('metering_' || current_schema(), 63)"

// listen waits for notifications until the store closes. Without it changes are found by polling: a pooler has no
// connection that receives them.
func (s *Store) listen() {
	if postgresdb.Pooled(s.pool) {
		return
	}
	for s.ctx.Err() == nil {
		_ = s.listenOnce()
		select {
		case <-s.ctx.Done():
		case <-time.After(listenPause):
		}
	}
}

// listenOnce listens on a dedicated connection until that breaks.
func (s *Store) listenOnce() error {
	conn, err := pgx.ConnectConfig(s.ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := working()
		defer cancel()
		_ = conn.Close(ctx)
	}()
	var name string
	if err := conn.QueryRow(s.ctx, "SELECT "+channel).Scan(&name); err != nil {
		return err
	}
	if _, err := conn.Exec(s.ctx, "LISTEN "+pgx.Identifier{name}.Sanitize()); err != nil {
		return err
	}
	for {
		select {
		case s.news.notified <- struct{}{}: // the first time for changes from before the listener started
		default:
		}
		if _, err := conn.WaitForNotification(s.ctx); err != nil {
			return err
		}
	}
}

// Watch implements [metering.Keys].
func (s *Store) Watch(ctx context.Context, since int64) iter.Seq2[metering.Change, error] {
	return metering.ChangeFeed{
		Last: s.lastChange, Changed: s.news.waiting, Err: s.ready, Closing: s.ctx.Done(),
		After: func(ctx context.Context, seq int64) ([]metering.Change, error) {
			list, err := s.changesAfter(ctx, seq)
			if err == nil && len(list) > 0 && s.news.met() < list[len(list)-1].Seq {
				err = s.look(ctx) // the generation rises before watchers are notified
			}
			return list, err
		},
	}.Changes(ctx, since)
}
