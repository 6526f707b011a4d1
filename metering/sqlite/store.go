package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/internal/hold"
	"github.com/diagkit/diagkit/metering/sqlitedb"
)

// Config is the configuration of a store. The zero value is that of a server.
type Config struct {
	Plans metering.Prices  // nil means metering.DefaultPlans()
	Clock func() time.Time // decides when leases end and rows are swept; nil means time.Now
	Doubt func() error     // while it is an error, the clock is not believed and nothing is forgotten; nil: it always is
	// Admin opens the file next to a running server, or without one: accounts, keys, balances, entries and audits, but
	// no charges; Begin, Settle and Cancel return [ErrAdmin]. What a server holds is not seen.
	Admin bool

	pause time.Duration // between two tries to write, for tests; 0 means examinePause
}

// ErrServing means that another server has the file open. Holds live in its memory, so a second one would oversell.
var ErrServing = sqlitedb.ErrServing

// ErrAdmin refuses to charge on a store that was opened for administration.
var ErrAdmin = errors.New("the store was opened for administration only")

// A Store is a [metering.Store] in a SQLite file. Make one with [Open].
type Store struct {
	config Config
	book   *hold.Book
	file   *sqlitedb.File
	pool   *sqlitedb.Pool
	writer *writer
	trial  *sqlite.Conn // of the probe
	queue  queue
	known  known
	health health
	learnt int64 // the last reply of earlier runs
	newest time.Time
	news   news
	ctx    context.Context // ends with the store
	cancel context.CancelFunc
	close  sync.Once
	closed error
	tasks  sync.WaitGroup // the writer and background tasks
	upkeep sync.WaitGroup // tasks that use the writer
}

var _ metering.Store = (*Store)(nil)

// Open opens a database, creating or migrating it where needed. A second server on the same file is
// refused with [ErrServing].
func Open(ctx context.Context, path string, c Config) (*Store, error) {
	if c.Plans == nil {
		c.Plans = metering.DefaultPlans()
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	s := &Store{config: c}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.book = hold.New(hold.Config{Source: source{s}, Plans: c.Plans, Clock: c.Clock, Doubt: c.Doubt})
	var err error
	if s.file, err = sqlitedb.Open(path); err != nil {
		return nil, err
	}
	if !c.Admin {
		err = s.file.Serve()
	}
	if err == nil {
		err = s.connect(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, errors.Join(err, s.file.Close()))
	}
	s.start()
	return s, nil
}

// readers is the number of read connections next to the writer. Reads are short; more of them than cores would only
// wait for each other.
const readers = 4

// connect opens the connections; on an error none stays open.
func (s *Store) connect(ctx context.Context) error {
	conn, err := s.file.Connect()
	if err != nil {
		return err
	}
	if _, _, err = layout.Migrate(ctx, conn); err == nil {
		s.writer, err = newWriter(s.file, conn)
	}
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	if s.pool, err = s.file.Pool(readers, metering.ErrClosed); err != nil {
		return errors.Join(err, conn.Close())
	}
	s.queue.init()
	if err = s.news.init(ctx, s); err == nil {
		err = s.lastReply(ctx)
	}
	if err == nil {
		_, err = sqlitedb.Get(conn, "SELECT at FROM ledger ORDER BY seq DESC LIMIT 1", nil, &s.newest)
	}
	if err == nil {
		s.trial, err = s.file.Connect()
	}
	if err != nil {
		return errors.Join(err, s.pool.Close(), conn.Close())
	}
	return nil
}

// start starts the tasks that run until Close.
func (s *Store) start() {
	s.tasks.Go(s.write)
	s.upkeep.Go(s.follow)
	if !s.config.Admin {
		s.upkeep.Go(s.sweep)
		s.upkeep.Go(s.examine)
	}
}

// Newest implements [metering.Dated]: it is the instant of the last charge of earlier runs.
func (s *Store) Newest() time.Time { return s.newest }

// Close implements [metering.Store]: it refuses new calls, makes what is under way durable, empties
// the log into the database and releases the lock. Further calls do nothing.
func (s *Store) Close() error {
	s.close.Do(func() {
		s.cancel()
		s.upkeep.Wait()
		s.queue.close()
		s.tasks.Wait()
		s.closed = errors.Join(s.pool.Close(), s.trial.Close(), s.writer.close(), s.file.Close())
	})
	return s.closed
}

// read runs a query on a free connection. The end of the context interrupts it.
func (s *Store) read(ctx context.Context, query func(*sqlite.Conn) error) error {
	return unavailable(s.pool.Read(ctx, query))
}

// ready refuses a call whose context has ended or whose store is closed.
func (s *Store) ready(ctx context.Context) error {
	select {
	case <-s.ctx.Done():
		return metering.ErrClosed
	default:
		return ctx.Err()
	}
}

// charging is ready for calls that only a server may make.
func (s *Store) charging(ctx context.Context) error {
	if s.config.Admin {
		return ErrAdmin
	}
	return s.ready(ctx)
}

// Begin implements [metering.Ledger]. It writes nothing.
func (s *Store) Begin(ctx context.Context, op metering.Op) (metering.Begun, error) {
	if err := s.charging(ctx); err != nil {
		return metering.Begun{}, err
	}
	if trouble := s.Health(); trouble != nil {
		begun, err := s.book.Repeat(ctx, op) // a replay needs no write
		if err == nil && begun.Replay == nil {
			err = trouble
		}
		return begun, err
	}
	return s.book.Begin(ctx, op)
}

// Settle implements [metering.Ledger]. A charge that still waits for the writer when the context ends is
// taken back. One that is being written is left to it: the error is [metering.ErrUnavailable], and hold and
// claim stay until its outcome is known. After any other error than [metering.ErrLapsed] nothing was
// charged, and the ticket may be settled again until its lease ends.
func (s *Store) Settle(ctx context.Context, t metering.Ticket, out metering.Outcome) (metering.Balance, error) {
	if err := s.charging(ctx); err != nil {
		return metering.Balance{}, err
	}
	settling, err := s.book.Settle(t)
	if err != nil {
		return metering.Balance{}, err
	}
	j := newJob()
	j.ticket, j.settling, j.at = t, settling, micros(out.At)
	if t.Idempotency != nil && out.Reply != nil {
		reply := out.Reply.Kept()
		j.reply = &reply
		j.tag = tagOf(hold.ClaimOf(&t.Op))
	}
	writing, err := s.queue.do(ctx, j)
	if errors.Is(err, errSlow) {
		s.health.set(err)
	}
	if writing != nil {
		s.tasks.Go(func() {
			<-writing
			s.settled(j)
		})
		return metering.Balance{}, fmt.Errorf("settling %s: %w", t.RequestID, err)
	}
	j.err = err
	return s.settled(j)
}

// settled passes the outcome of a charge to the book.
func (s *Store) settled(j *job) (metering.Balance, error) {
	defer j.recycle()
	if j.err != nil {
		j.settling.Undo()
		return metering.Balance{}, fmt.Errorf("settling %s: %w", j.ticket.RequestID, j.err)
	}
	if j.reply != nil {
		s.known.add(j.tag) // before the claim is released
	}
	return j.settling.Done(), nil
}

// Cancel implements [metering.Ledger].
func (s *Store) Cancel(_ context.Context, t metering.Ticket) error {
	// The context is ignored: its end is why most requests are cancelled.
	if err := s.charging(context.Background()); err != nil {
		return err
	}
	s.book.Cancel(t)
	return nil
}

// lastReply notes up to where the replies are of earlier runs.
func (s *Store) lastReply(ctx context.Context) error {
	return s.get(ctx, "SELECT coalesce(max(id), 0) FROM replies", nil, &s.learnt)
}

// get reads the only row of a query, if there is one.
func (s *Store) get(ctx context.Context, sql string, args []any, to ...any) error {
	return s.read(ctx, func(conn *sqlite.Conn) error {
		_, err := sqlitedb.Get(conn, sql, sqlitedb.Args(args...), to...)
		return err
	})
}
