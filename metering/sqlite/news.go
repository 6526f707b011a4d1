package sqlite

import (
	"context"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/sqlitedb"
)

const (
	// followPause is the interval of polls for changes by other processes. They must be known within a second.
	followPause = 250 * time.Millisecond
	// pageChanges is how many changes are read per page.
	pageChanges = 256
)

// news notifies watchers of changes to keys or accounts.
type news struct {
	generation atomic.Uint64

	looking sync.Mutex // one poll at a time

	mu      sync.Mutex
	changed chan struct{}      // closed and replaced by each change
	own     map[int64]struct{} // changes of this store value that were not met yet
	cursor  int64              // the last change that was met: it has taken effect here
}

func (n *news) init(ctx context.Context, s *Store) error {
	n.changed = make(chan struct{})
	n.own = make(map[int64]struct{})
	var err error
	n.cursor, err = s.lastChange(ctx)
	return err
}

// publish is called by the writer when its own changes are durable, before it answers.
func (n *news) publish(seqs []int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, seq := range seqs {
		if seq > n.cursor { // else it was met before we came, and taken for foreign, which does no harm
			n.own[seq] = struct{}{}
		}
	}
	n.wake()
}

// wake wakes the watchers, under the lock.
func (n *news) wake() {
	close(n.changed)
	n.changed = make(chan struct{})
}

// waiting returns a channel that the next change closes.
func (n *news) waiting() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.changed
}

// rise is called when a change has taken effect, before its author and the watchers are notified.
func (n *news) rise() { n.generation.Add(1) }

// Generation rises with every change of a key or an account: with one made through this value before the call returns,
// with one made by another process within a second. A cache that has seen no new generation is not stale.
func (s *Store) Generation() uint64 { return s.news.generation.Load() }

func (s *Store) lastChange(ctx context.Context) (seq int64, err error) {
	return seq, s.get(ctx, "SELECT coalesce(max(seq), 0) FROM changes", nil, &seq)
}

func (s *Store) changesAfter(ctx context.Context, seq int64) ([]metering.Change, error) {
	return all(ctx, s, func(stmt *sqlite.Stmt) (c metering.Change, _ error) {
		sqlitedb.Scan(stmt, &c.Seq, &c.Key, &c.Account)
		return c, nil
	}, "reading changes", "SELECT seq, key, account FROM changes WHERE seq > ?1 ORDER BY seq LIMIT ?2", seq, pageChanges)
}

// follow looks for changes of other processes until the store closes. An error, which can only be a
// passing one, is met again by the next look.
func (s *Store) follow() {
	ctx := s.ctx
	tick := time.NewTicker(followPause)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
			for more := true; more; {
				more, _ = s.look(ctx)
			}
		}
	}
}

// look applies one page of changes here, and reports whether there may be more.
func (s *Store) look(ctx context.Context) (more bool, err error) {
	s.news.looking.Lock()
	defer s.news.looking.Unlock()
	list, err := s.changesAfter(ctx, s.news.met())
	if err != nil || len(list) == 0 {
		return false, err
	}
	if list[0].Seq > s.news.met()+1 { // some were pruned before they were met here
		if err := s.reload(ctx); err != nil {
			return false, err
		}
	}
	foreign := slices.DeleteFunc(slices.Clone(list), s.news.isOwn)
	for _, c := range foreign {
		if c.Account == "" {
			continue
		}
		account, err := s.Account(ctx, c.Account)
		if err != nil {
			return false, err // nothing of the page is met: the next look tries again
		}
		s.book.SetAccount(account)
	}
	s.news.meet(list, len(foreign) > 0)
	return len(list) == pageChanges, nil
}

// reload applies changes to all accounts, and has every key reloaded.
func (s *Store) reload(ctx context.Context) error {
	accounts, err := s.Accounts(ctx)
	if err != nil {
		return err
	}
	for _, a := range accounts {
		s.book.SetAccount(a)
	}
	s.news.rise()
	return nil
}

func (n *news) met() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cursor
}

func (n *news) isOwn(c metering.Change) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, own := n.own[c.Seq]
	return own
}

func (n *news) meet(list []metering.Change, foreign bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range list {
		delete(n.own, c.Seq)
		n.cursor = c.Seq
	}
	if foreign {
		n.rise()
		n.wake()
	}
}

// Watch implements [metering.Keys].
func (s *Store) Watch(ctx context.Context, since int64) iter.Seq2[metering.Change, error] {
	return metering.ChangeFeed{
		Last: s.lastChange, Changed: s.news.waiting, Err: s.ready, Closing: s.ctx.Done(),
		After: func(ctx context.Context, seq int64) ([]metering.Change, error) {
			list, err := s.changesAfter(ctx, seq)
			for err == nil && len(list) > 0 && s.news.met() < list[len(list)-1].Seq {
				_, err = s.look(ctx)
			}
			return list, err
		},
	}.Changes(ctx, since)
}
