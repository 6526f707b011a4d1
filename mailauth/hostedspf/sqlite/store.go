package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// Config says how a store behaves.
type Config struct {
	// Clock says when claims end. If nil, it is the wall clock, which the processes that share a file must
	// share too.
	Clock diag.Clock
}

// A Store is a [hostedspf.Store] in a SQLite file. Make one with [Open].
type Store struct {
	clock   diag.Clock
	writer  chan *sqlite.Conn // holds the connection that writes while it is free
	rested  time.Time         // from when on the next transaction may begin; belongs to who has the writer
	readers chan *sqlite.Conn
	closing chan struct{}
	close   sync.Once
	closed  error
}

var _ hostedspf.Store = (*Store)(nil)

// Open opens a database, creating or migrating its tables where needed.
func Open(ctx context.Context, path string, c Config) (*Store, error) {
	if path == "" {
		return nil, errors.New("opening the database: no path was given")
	}
	if _, _, err := Migrate(ctx, path); err != nil {
		return nil, err
	}
	s := &Store{
		clock:   c.Clock,
		writer:  make(chan *sqlite.Conn, 1),
		readers: make(chan *sqlite.Conn, readers),
		closing: make(chan struct{}),
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	if err := s.connect(path); err != nil {
		return nil, err
	}
	if err := s.purge(ctx); err != nil { // what the last process did not come to
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// connect opens the connections; on an error none stays open.
func (s *Store) connect(path string) error {
	conn, err := open(path)
	if err != nil {
		return err
	}
	s.writer <- conn
	for range readers {
		conn, err := open(path)
		if err == nil {
			s.readers <- conn
			err = sqlitex.ExecuteTransient(conn, "PRAGMA query_only = ON", nil)
		}
		if err != nil {
			return errors.Join(err, s.disconnect(len(s.readers)))
		}
	}
	return nil
}

// disconnect waits for the connection that writes and so many that read to come back, and closes them.
func (s *Store) disconnect(readers int) error {
	var errs []error
	for range readers {
		errs = append(errs, (<-s.readers).Close())
	}
	return errors.Join(append(errs, (<-s.writer).Close())...)
}

// Close implements [hostedspf.Store]. Further calls do nothing.
func (s *Store) Close() error {
	s.close.Do(func() {
		close(s.closing)
		s.closed = s.disconnect(readers)
	})
	return s.closed
}

// write runs an act in a transaction of its own.
func (s *Store) write(ctx context.Context, what string, act func(*sqlite.Conn) error) error {
	conn, err := s.take(ctx, s.writer)
	if err != nil {
		return err
	}
	defer func() { s.writer <- conn }()
	if err := s.rest(ctx); err != nil {
		return err
	}
	var began time.Time
	err = transact(ctx, conn, func() error { began = time.Now(); return act(conn) })
	if !began.IsZero() {
		now := time.Now()
		s.rested = now.Add(min(restFactor*now.Sub(began), maxRest))
	}
	return describe(ctx, what, err)
}

const (
	// restFactor says how many times as long as it has written a process leaves the file to others. One
	// transaction after the other would keep a ledger waiting, since SQLite lets who waits look again only
	// now and then.
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
	conn, err := s.take(ctx, s.readers)
	if err != nil {
		return err
	}
	defer func() { s.readers <- conn }()
	conn.SetInterrupt(ctx.Done())
	defer conn.SetInterrupt(nil)
	return describe(ctx, what, query(conn))
}

func (s *Store) take(ctx context.Context, from chan *sqlite.Conn) (*sqlite.Conn, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	select {
	case conn := <-from:
		return conn, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.closing:
		return nil, hostedspf.ErrClosed
	}
}

// ready refuses a call whose context has ended or whose store is closed.
func (s *Store) ready(ctx context.Context) error {
	select {
	case <-s.closing:
		return hostedspf.ErrClosed
	default:
		return ctx.Err()
	}
}

// describe says what failed, unless the caller has given up.
func describe(ctx context.Context, what string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && (errors.Is(err, ctx.Err()) || sqlite.ErrCode(err).ToPrimary() == sqlite.ResultInterrupt):
		return ctx.Err()
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Version implements [hostedspf.Store]. It rises, and is the same for all processes.
func (s *Store) Version(ctx context.Context) (version int64, err error) {
	err = s.read(ctx, "reading the version of hosted SPF", func(conn *sqlite.Conn) error {
		return rows(conn, "SELECT version FROM spf_state", nil, func(f *fields) error { version = f.int(); return nil })
	})
	return version, err
}

// changed notes that a profile is not what it was.
func changed(conn *sqlite.Conn) error {
	return exec(conn, "UPDATE spf_state SET version = version + 1", nil)
}
