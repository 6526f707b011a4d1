package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/metering/sqlitedb"
	"zombiezen.com/go/sqlite"
)

// Config configures a store.
type Config struct {
	// Clock decides when claims end. If nil, it is the wall clock, which the processes that share a file must share
	// too.
	Clock diag.Clock
}

// A Store is a [hostedspf.Store] in a SQLite file. Make one with [Open].
type Store struct {
	clock  diag.Clock
	file   *sqlitedb.File
	turn   chan struct{} // holds a token while no write runs
	writer *sqlite.Conn  // owned by the holder of the turn
	rested time.Time     // from when on the next transaction may begin; likewise
	pool   *sqlitedb.Pool

	closing chan struct{}
	close   sync.Once
	closed  error
}

var _ hostedspf.Store = (*Store)(nil)

// readers is how many connections read beside the writer. Reads are short.
const readers = 2

// Open opens a database, creating or migrating its tables where needed.
func Open(ctx context.Context, path string, c Config) (*Store, error) {
	s := &Store{clock: c.Clock, turn: make(chan struct{}, 1), closing: make(chan struct{})}
	if s.clock == nil {
		s.clock = time.Now
	}
	var err error
	if s.file, err = sqlitedb.Open(path); err != nil {
		return nil, err
	}
	if err := s.connect(ctx); err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, errors.Join(err, s.file.Close()))
	}
	if err := s.purge(ctx); err != nil { // the pending removals of the last process
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// connect opens the connections; on an error it closes all of them.
func (s *Store) connect(ctx context.Context) (err error) {
	if s.writer, err = s.file.Connect(); err != nil {
		return err
	}
	if _, _, err = tables.Migrate(ctx, s.writer); err == nil {
		s.pool, err = s.file.Pool(readers, hostedspf.ErrClosed)
	}
	if err != nil {
		return errors.Join(err, s.writer.Close())
	}
	s.turn <- struct{}{}
	return nil
}

// Close implements [hostedspf.Store]. Further calls do nothing.
func (s *Store) Close() error {
	s.close.Do(func() {
		close(s.closing)
		<-s.turn
		s.closed = errors.Join(s.pool.Close(), s.writer.Close(), s.file.Close())
	})
	return s.closed
}

func (s *Store) write(ctx context.Context, what string, act func(*sqlite.Conn) error) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer func() { s.turn <- struct{}{} }()
	if err := s.rest(ctx); err != nil {
		return err
	}
	var began time.Time
	err := sqlitedb.Transact(ctx, s.writer, func() error {
		began = time.Now()
		if err := s.file.Check(); err != nil { // writes to a deleted file are lost
			return err
		}
		return act(s.writer)
	})
	if !began.IsZero() {
		now := time.Now()
		s.rested = now.Add(min(restFactor*now.Sub(began), maxRest))
	}
	return describe(ctx, what, err)
}

func (s *Store) take(ctx context.Context) error {
	select {
	case <-s.closing:
		return hostedspf.ErrClosed
	default:
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-s.turn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closing:
		return hostedspf.ErrClosed
	}
}

const (
	// restFactor is the ratio of pause to write time in which a process leaves the file to others. Back-to-back
	// transactions would keep a ledger waiting, because SQLite retries a waiting writer only occasionally.
	restFactor = 4
	// maxRest bounds that after a transaction that the disk has held up.
	maxRest = 100 * time.Millisecond
)

// rest waits until the file may be written again.
func (s *Store) rest(ctx context.Context) error {
	wait := time.Until(s.rested)
	if wait <= 0 {
		return nil
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// read runs a query on a free connection. The end of the context interrupts it.
func (s *Store) read(ctx context.Context, what string, query func(*sqlite.Conn) error) error {
	return describe(ctx, what, s.pool.Read(ctx, query))
}

func describe(ctx context.Context, what string, err error) error {
	if err == nil || err == ctx.Err() || err == hostedspf.ErrClosed {
		return err
	}
	if sqlitedb.Unavailable(err) {
		return fmt.Errorf("%s: %w: %w", what, hostedspf.ErrUnavailable, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Version implements [hostedspf.Store]. It rises, and is the same for all processes.
func (s *Store) Version(ctx context.Context) (version int64, err error) {
	err = s.read(ctx, "reading the version of hosted SPF", func(conn *sqlite.Conn) error {
		_, err := sqlitedb.Get(conn, "SELECT version FROM spf_state", nil, &version)
		return err
	})
	return version, err
}

// changed records that a profile has changed.
func changed(conn *sqlite.Conn) error {
	return exec(conn, "UPDATE spf_state SET version = version + 1")
}
