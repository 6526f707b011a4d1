package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/internal/hold"
)

// Config is the configuration of a store. The zero value is that of a server.
type Config struct {
	// Present refuses a database whose tables are not those of this version, instead of bringing them up to date.
	Present bool

	Plans metering.Prices  // nil means metering.DefaultPlans()
	Clock func() time.Time // decides when leases end and rows are swept; nil means that of the server
	Doubt func() error     // while it is an error, the clock is not believed and nothing is swept; nil: it always is
	// These are for tests.
	tracer pgx.QueryTracer // receives each statement
	poll   time.Duration   // between two polls for changes without a notification; 0 means followPause
}

// A Store is a [metering.Store] in a PostgreSQL database, which it may share with any number of others. Make
// one with [Open].
type Store struct {
	plans   metering.Prices
	clock   func() time.Time
	server  clock
	shared  bool // clock is that of the server
	doubt   func() error
	pool    *pgxpool.Pool
	begins  lanes[metering.Op, metering.Begun]
	settles lanes[settlement, metering.Balance]
	cancels lanes[metering.Ticket, struct{}]
	// What serves one job goes together with that of other accounts.
	singleBegins  lanes[*promise, bool]
	singleSettles lanes[single, *settledSum]

	terms  knownTerms
	uses   uses
	news   news
	health health

	releases releases

	ctx    context.Context // ends with the store
	cancel context.CancelFunc
	close  sync.Once
	tasks  sync.WaitGroup // background tasks
}

var (
	_ metering.Store        = (*Store)(nil)
	_ metering.Generational = (*Store)(nil)
	_ metering.Healthy      = (*Store)(nil)
	_ metering.Pruner       = (*Store)(nil)
	_ metering.Clocked      = (*Store)(nil)
)

// Open connects to a database and creates or migrates the tables in the first schema of its search path. The
// URL is that of libpq, such as postgres://user@host/database?pool_max_conns=32.
func Open(ctx context.Context, url string, c Config) (*Store, error) {
	s := &Store{plans: c.Plans, clock: c.Clock, doubt: c.Doubt}
	if s.plans == nil {
		s.plans = metering.DefaultPlans()
	}
	if s.clock == nil {
		s.clock, s.shared = s.server.now, true
	}
	s.begins.run, s.begins.late = s.beginGroup, s.beganLate
	s.begins.fits = func(op metering.Op) (metering.Period, int) { return metering.PeriodOf(op.Now), 0 }
	s.settles.run, s.settles.fits = s.settleGroup, fitsSettle
	s.cancels.run = s.cancelGroup
	s.singleBegins.run = together(func(ctx context.Context, jobs []*job[*promise, bool]) error {
		return s.grantAtOnce(ctx, addIfFree, jobs)
	})
	s.singleSettles.run = together(s.settleSingles)
	var err error
	if s.pool, err = openPool(ctx, url, c); err != nil {
		return nil, err
	}
	err = s.readClock(ctx)
	if err == nil {
		err = s.news.init(ctx, s)
	}
	if err != nil {
		s.pool.Close()
		return nil, fmt.Errorf("opening the store: %w", unavailable(err))
	}
	s.health.init()
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.tasks.Go(s.listen)
	s.tasks.Go(func() { s.follow(cmp.Or(c.poll, followPause)) })
	s.tasks.Go(s.sweep)
	s.tasks.Go(s.examine)
	return s, nil
}

// Pool returns statistics of the database connections.
func (s *Store) Pool() *pgxpool.Stat { return s.pool.Stat() }

// Close implements [metering.Store]: it refuses new calls and finishes what is under way. Further calls do nothing.
func (s *Store) Close() error {
	s.close.Do(func() {
		s.cancel()
		s.tasks.Wait()
		s.begins.close()
		s.settles.close()
		s.cancels.close() // after these, for grants that came too late
		s.singleBegins.close()
		s.singleSettles.close()
		s.releaseAll()
		s.pool.Close()
	})
	return nil
}

// ready refuses a call whose context has ended or whose store is closed.
func (s *Store) ready(ctx context.Context) error {
	if s.ctx.Err() != nil {
		return metering.ErrClosed
	}
	return ctx.Err()
}

// groupTimeout bounds a group, so that an unresponsive connection does not block its account any longer. Any later
// effect on the server is fenced like any other lost acknowledgement.
const groupTimeout = 5 * time.Second

// working returns the context of work that must continue when the store closes or a caller has left.
func working() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), groupTimeout)
}

// Begin implements [metering.Ledger]. It waits for no disk.
func (s *Store) Begin(ctx context.Context, op metering.Op) (metering.Begun, error) {
	err := s.ready(ctx)
	if err == nil {
		err = hold.Check(op)
	}
	if err != nil {
		return metering.Begun{}, err
	}
	if s.shared { // instants of the node are relative to its own now
		now := s.clock()
		op.Now, op.Lease = now, now.Add(op.Lease.Sub(op.Now))
	}
	if trouble := s.Health(); trouble != nil {
		begun, err := s.repeat(ctx, op) // a replay needs no write
		if err == nil && begun.Replay == nil {
			err = trouble
		}
		return begun, err
	}
	return s.begins.do(ctx, op.Account, op)
}

// beganLate releases what was granted to a caller who had left.
func (s *Store) beganLate(j *job[metering.Op, metering.Begun]) {
	if t := j.out.Ticket; t != nil {
		ctx, cancel := working()
		defer cancel()
		_, _ = s.cancels.do(ctx, t.Account, *t) // failed ones are retried later
	}
}

// settlement is a ticket and its outcome.
type settlement struct {
	ticket metering.Ticket
	at     int64           // microseconds
	reply  *metering.Reply // as kept, if it is
}

// Settle implements [metering.Ledger]. A charge that still waits when the context ends is withdrawn. One that is being
// written, or whose connection breaks meanwhile, may have been made: the error is [metering.ErrUnavailable], and hold
// and claim stay until they are settled or lapse.
func (s *Store) Settle(ctx context.Context, t metering.Ticket, out metering.Outcome) (metering.Balance, error) {
	if err := s.ready(ctx); err != nil {
		return metering.Balance{}, err
	}
	settling := settlement{ticket: t, at: micros(out.At)}
	if s.shared {
		settling.at = micros(s.clock())
	}
	if t.Idempotency != nil && out.Reply != nil {
		reply := out.Reply.Kept()
		settling.reply = &reply
	}
	balance, err := s.settles.do(ctx, t.Account, settling)
	if err != nil {
		return metering.Balance{}, fmt.Errorf("settling %s: %w", t.RequestID, err)
	}
	return balance, nil
}

func fitsSettle(c settlement) (period metering.Period, bytes int) {
	if c.reply != nil {
		bytes = len(c.reply.Body)
	}
	return metering.Period{}, bytes // each is charged to the period of its hold
}

// Cancel implements [metering.Ledger].
func (s *Store) Cancel(_ context.Context, t metering.Ticket) error {
	// The context is ignored: its end is why most requests are cancelled.
	if err := s.ready(context.Background()); err != nil {
		return err
	}
	ctx, cancel := working()
	defer cancel()
	if _, err := s.cancels.do(ctx, t.Account, t); err != nil {
		return fmt.Errorf("cancelling %s: %w", t.RequestID, err)
	}
	return nil
}

const cancelHolds = `WITH gone AS (
		SELECT h.* FROM unnest($2::bigint[]) AS c (wanted), LATERAL (
			SELECT ctid AS place, period, credits, overage, rate FROM holds
			WHERE account = $1 AND token = c.wanted FOR UPDATE) h
	), released AS (
		DELETE FROM holds WHERE account = $1 AND ctid = ANY (ARRAY(SELECT place FROM gone))
	)` + giveBack

// cancelGroup releases holds in one transaction. What fails is tried again later.
func (s *Store) cancelGroup(g *group[metering.Ticket, struct{}]) {
	tokens := make([]int64, len(g.jobs))
	for i, j := range g.jobs {
		tokens[i] = int64(j.in.Token)
	}
	if err := s.release(g.account, tokens); err != nil {
		for _, j := range g.jobs {
			s.releases.add(time.Time{}, &j.in)
		}
		g.fail(s.failure(err))
	}
}

// release deletes holds of one account, as far as they are there.
func (s *Store) release(account metering.AccountID, tokens []int64) error {
	ctx, cancel := working()
	defer cancel()
	slices.Sort(tokens)
	_, err := s.pool.Exec(ctx, cancelHolds, account, tokens)
	return err
}
