package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/hold"
	"github.com/diagkit/diagkit/metering/postgresdb"
)

// The statements of a Begin. Under READ COMMITTED each sees what was committed before it began, so that all that follow
// lockTaken see the promises of whoever had the lock before. Settle does not take the lock: it turns what is held into
// what is used, and their sum stays. Claims are read before replies: a claim that is gone has left its reply.
const (
	lockAdmission = `SELECT set_config('synchronous_commit', 'off', true), -- until the end of the transaction
		` + postgresdb.Idle + `
		FROM admissions WHERE account = $1 FOR UPDATE`
	addAdmission = `INSERT INTO admissions (account) SELECT account FROM accounts WHERE account = $1
		ON CONFLICT DO NOTHING`
	// Who has this lock waits for no hold, as whoever has a hold may be waiting for it. At the turn of a month holds of
	// the one before are there, too: whoever needs several periods takes the older first.
	lockTaken = `SELECT FROM taken WHERE account = $1 AND period >= $2::integer - 1 ORDER BY period FOR UPDATE`
	readTaken = `SELECT a.plan, a.overage, a.budget, coalesce(b.used, 0), coalesce(b.charges, 0), t.credits
		FROM accounts a
		LEFT JOIN balances b ON b.account = $1 AND b.period = $2
		LEFT JOIN taken t ON t.account = $1 AND t.period = $2
		WHERE a.account = $1`
	// Where nothing is noted there are no holds either: the period is new, or PostgreSQL has crashed.
	startTaken = `INSERT INTO taken (account, period, credits)
		VALUES ($1, $2, coalesce((SELECT used FROM balances WHERE account = $1 AND period = $2), 0)) RETURNING credits`
	// A hold counts as long as it is there, whatever a clock says: only then nobody can settle it after its
	// credits were sold again.
	dropLapsed = `WITH gone AS (
			DELETE FROM holds WHERE account = $1 AND ctid = ANY (ARRAY(
				SELECT ctid FROM holds WHERE account = $1 AND lease <= $2 FOR UPDATE SKIP LOCKED))
			RETURNING period, credits
		)
		UPDATE taken t SET credits = t.credits - g.credits
		FROM (SELECT period, sum(credits) AS credits FROM gone GROUP BY period ORDER BY period) g
		WHERE t.account = $1 AND t.period = g.period`
	countTaken = `UPDATE taken SET credits = coalesce((SELECT used FROM balances WHERE account = $1 AND period = $2), 0)
			+ (SELECT coalesce(sum(credits), 0) FROM holds WHERE account = $1 AND period = $2)
		WHERE account = $1 AND period = $2`
	readClaims = `SELECT h.line, h.hash, h.fingerprint, h.lease <= $4
		FROM unnest($2::text[], $3::bytea[]) AS c (line, hash),
		LATERAL (SELECT * FROM holds WHERE account = $1 AND line = c.line AND hash = c.hash OFFSET 0) h`
	readReplies = `SELECT r.line, r.hash, r.request, r.fingerprint, r.expires, r.status, r.form, r.header, r.body
		FROM unnest($2::text[], $3::bytea[]) AS c (line, hash),
		LATERAL (SELECT * FROM replies WHERE account = $1 AND line = c.line AND hash = c.hash
			ORDER BY id DESC LIMIT 1) r`
	addHolds = `WITH t AS (UPDATE taken SET credits = credits + $4 WHERE account = $1 AND period = $2)
		INSERT INTO holds (account, token, period, credits, ceiling, lease)
		SELECT $1, token, $2, credits, $3, lease
		FROM unnest($5::bigint[], $6::bigint[], $7::bigint[]) AS h (token, credits, lease)`
	addClaims = `WITH t AS (UPDATE taken SET credits = credits + $4 WHERE account = $1 AND period = $2)
		INSERT INTO holds (account, token, period, credits, ceiling, lease, line, hash, fingerprint)
		SELECT $1, token, $2, credits, $3, lease, line, hash, fingerprint
		FROM unnest($5::bigint[], $6::bigint[], $7::bigint[], $8::text[], $9::bytea[], $10::bytea[])
			AS h (token, credits, lease, line, hash, fingerprint)`
	// addAtOnce grants all or nothing, if the account is on the terms that it had last.
	addAtOnce = `WITH t AS (
			UPDATE taken SET credits = credits + $4
			WHERE account = $1 AND period = $2 AND credits <= $3::bigint - $4::bigint AND EXISTS (
				SELECT FROM accounts WHERE account = $1 AND plan = $8 AND overage = $9 AND budget IS NOT DISTINCT FROM $10)
			RETURNING period
		)
		INSERT INTO holds (account, token, period, credits, ceiling, lease)
		SELECT $1, h.token, t.period, h.credits, $3::bigint, h.lease
		FROM t, unnest($5::bigint[], $6::bigint[], $7::bigint[]) AS h (token, credits, lease)`
)

// taken is what an account may use and what is taken of it, in one period.
type taken struct {
	account   metering.Account
	used      int64
	charges   int64
	sum       *int64 // used and held; nil where that is not noted yet
	admission bool   // the lock was there to be taken
	known     bool   // so is the account
	claims    map[hold.ClaimID][32]byte
	replies   map[hold.ClaimID]hold.Record
	exact     bool // lapsed holds were dropped and the rest counted
	lapsed    bool // a claim has lapsed
}

// beginGroup makes the promises of a group in one transaction.
func (s *Store) beginGroup(g *group[metering.Op, metering.Begun]) {
	ctx, cancel := working()
	defer cancel()
	err := s.pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error { return s.promise(ctx, c.Conn(), g) })
	if err != nil {
		g.fail(s.failure(err))
	}
}

// promise locks the account, decides, and writes what was granted, unless that can be done at once.
func (s *Store) promise(ctx context.Context, conn *pgx.Conn, g *group[metering.Op, metering.Begun]) error {
	if done, err := s.promiseAtOnce(ctx, conn, g); done || err != nil {
		return err
	}
	t, err := s.admit(ctx, conn, g)
	if err != nil {
		return errors.Join(err, rollback(conn))
	}
	grants, refused := s.decide(g, &t)
	if refused || t.lapsed {
		if t, err = s.read(ctx, conn, g, exactly); err != nil {
			return errors.Join(err, rollback(conn))
		}
		grants, _ = s.decide(g, &t)
	}
	if len(grants.tickets) == 0 && !t.exact {
		return rollback(conn)
	}
	var batch pgx.Batch
	grants.queue(&batch, g)
	batch.Queue("COMMIT")
	if err := conn.SendBatch(ctx, &batch).Close(); err != nil {
		s.releases.add(time.Now().Add(lostTime), grants.tickets...)
		return errors.Join(err, rollback(conn))
	}
	if !refused {
		s.terms.put(g.account, terms{t.account.Plan, t.account.OverageEnabled, t.account.OverageBudgetCents, grants.ceiling})
	}
	return nil
}

// promiseAtOnce grants a group without idempotency keys in one statement, where the credits suffice and nothing
// is known to stand against it. Otherwise it has done nothing.
func (s *Store) promiseAtOnce(
	ctx context.Context, conn *pgx.Conn, g *group[metering.Op, metering.Begun],
) (done bool, err error) {
	terms, ok := s.terms.take(g.account)
	if !ok {
		return false, nil
	}
	grants := grants{ceiling: terms.ceiling}
	for _, j := range g.jobs {
		if j.in.Idempotency != nil {
			s.terms.put(g.account, terms)
			return false, nil
		}
		if j.in.Credits > grants.ceiling-grants.credits {
			return false, nil
		}
		grants.add(&j.in, g.period)
	}
	args, _ := grants.args(g)
	tag, err := conn.Exec(ctx, addAtOnce, append(args, terms.plan, terms.overage, terms.budget)...)
	if err != nil {
		s.releases.add(time.Now().Add(lostTime), grants.tickets...)
	}
	if err != nil || tag.RowsAffected() == 0 {
		return false, err
	}
	for i, j := range g.jobs {
		j.out = metering.Begun{Ticket: grants.tickets[i]}
	}
	s.terms.put(g.account, terms)
	return true, nil
}

// lostTime is how long a server may go on with what was cut off: until it has waited for a lock in vain.
const lostTime = 2 * groupTimeout

// rollback ends a transaction whatever has become of it.
func rollback(conn *pgx.Conn) error {
	if conn.IsClosed() {
		return nil
	}
	ctx, cancel := working()
	defer cancel()
	_, err := conn.Exec(ctx, "ROLLBACK")
	return err
}

// admit begins a transaction, locks the account and reads what is taken. Where there is nothing to be locked,
// because the account is new or PostgreSQL has crashed, it begins anew.
func (s *Store) admit(ctx context.Context, conn *pgx.Conn, g *group[metering.Op, metering.Begun]) (t taken, err error) {
	t, err = s.read(ctx, conn, g, firstly)
	if err == nil && t.known && !t.admission {
		if err = rollback(conn); err == nil {
			_, err = conn.Exec(ctx, addAdmission, g.account)
		}
		if err == nil {
			t, err = s.read(ctx, conn, g, firstly)
		}
		if err == nil && !t.admission {
			err = fmt.Errorf("account %s: its admission was removed", g.account)
		}
	}
	if err == nil && t.known && t.sum == nil {
		err = conn.QueryRow(ctx, startTaken, g.account, monthNumber(g.period)).Scan(&t.sum)
	}
	return t, err
}

// reading says what else is done in the round trip of a read.
type reading int

const (
	firstly reading = iota // the transaction begins with the lock
	exactly                // under the lock, what lapsed is dropped and the rest counted
)

// read reads all that a decision needs in one round trip.
func (s *Store) read(
	ctx context.Context, conn *pgx.Conn, g *group[metering.Op, metering.Begun], how reading,
) (t taken, err error) {
	var batch pgx.Batch
	now, period := micros(s.clock()), monthNumber(g.period)
	switch how {
	case firstly:
		batch.Queue("BEGIN ISOLATION LEVEL READ COMMITTED")
		batch.Queue(lockAdmission, g.account).Query(func(rows pgx.Rows) error {
			t.admission = rows.Next()
			rows.Close()
			return rows.Err()
		})
		batch.Queue(lockTaken, g.account, period)
	case exactly:
		t.exact = true
		batch.Queue(dropLapsed, g.account, now)
		batch.Queue(countTaken, g.account, period)
	}
	t.queue(&batch, g, now)
	err = conn.SendBatch(ctx, &batch).Close()
	return t, err
}

// queue adds the statements that read.
func (t *taken) queue(batch *pgx.Batch, g *group[metering.Op, metering.Begun], now int64) {
	batch.Queue(readTaken, g.account, monthNumber(g.period)).QueryRow(func(row pgx.Row) error {
		a := &t.account
		err := row.Scan(&a.Plan, &a.OverageEnabled, &a.OverageBudgetCents, &t.used, &t.charges, &t.sum)
		t.known = err == nil
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	t.queueClaims(batch, g, now)
}

// decide tells each job its outcome, in the order in which they came, and returns what was granted, and
// whether a job was refused for want of credits.
func (s *Store) decide(g *group[metering.Op, metering.Begun], t *taken) (grants grants, refused bool) {
	if !t.known {
		g.fail(fmt.Errorf("account %s: %w", g.account, metering.ErrNotFound))
		return grants, false
	}
	plan, priced := s.plans.In(g.period)[t.account.Plan]
	grants.ceiling = plan.Limits(t.account).Ceiling(metering.Taken{})
	sum := *t.sum
	claimed := make(map[hold.ClaimID][32]byte) // by this group
	for _, j := range g.jobs {
		op := &j.in
		j.out, j.err = metering.Begun{}, nil
		if op.Idempotency != nil {
			balance := s.balance(g.period, t, sum)
			if j.out, j.err = t.repeated(op, claimed, balance); j.err != nil || j.out.Replay != nil {
				continue
			}
		}
		left := grants.ceiling - sum
		switch {
		case !priced:
			j.err = fmt.Errorf("account %s: plan %q is not in the price list", g.account, t.account.Plan)
		case op.Credits > left:
			refused = true
			j.err = &metering.QuotaError{
				Plan: plan.ID, Limit: plan.Credits, Current: sum, Requested: op.Credits, Left: max(0, left),
			}
		default:
			sum += op.Credits
			if op.Idempotency != nil {
				claimed[hold.ClaimOf(op)] = *op.Fingerprint
			}
			j.out.Ticket = grants.add(op, g.period)
		}
	}
	return grants, refused
}

func (s *Store) balance(p metering.Period, t *taken, sum int64) metering.Balance {
	return metering.Balance{
		Period: p, Plan: t.account.Plan, Limit: s.plans.In(p)[t.account.Plan].Credits,
		Used: t.used, Held: max(0, sum-t.used), Charges: t.charges,
	}
}

// grants are tickets of one account and period, granted under one ceiling.
type grants struct {
	ceiling int64
	credits int64 // of all
	tickets []*metering.Ticket
}

// add grants an operation.
func (r *grants) add(op *metering.Op, p metering.Period) *metering.Ticket {
	t := &metering.Ticket{Op: *op, Token: rand.Uint64() >> 1, Period: p}
	r.tickets = append(r.tickets, t)
	r.credits += op.Credits
	return t
}

// queue adds the statement that writes the grants, if there are any.
func (r *grants) queue(batch *pgx.Batch, g *group[metering.Op, metering.Begun]) {
	switch args, claims := r.args(g); {
	case len(r.tickets) == 0:
	case claims:
		batch.Queue(addClaims, args...)
	default:
		batch.Queue(addHolds, args...)
	}
}

// args are the arguments of the statement, which are more where there are claims.
func (r *grants) args(g *group[metering.Op, metering.Begun]) (args []any, claims bool) {
	n := len(r.tickets)
	tokens, credits, leases := make([]int64, n), make([]int64, n), make([]int64, n)
	lines, hashes, fingerprints := make([]*string, n), make([][]byte, n), make([][]byte, n)
	for i, t := range r.tickets {
		tokens[i], credits[i], leases[i] = int64(t.Token), t.Credits, micros(t.Lease)
		if t.Idempotency != nil {
			claims = true
			line := string(t.Claimant())
			lines[i], hashes[i], fingerprints[i] = &line, t.Idempotency[:], t.Fingerprint[:]
		}
	}
	args = []any{g.account, monthNumber(g.period), r.ceiling, r.credits, tokens, credits, leases}
	if claims {
		args = append(args, lines, hashes, fingerprints)
	}
	return args, claims
}

// terms are what an account may use, and what that follows from.
type terms struct {
	plan    metering.PlanID
	overage bool
	budget  *int64
	ceiling int64
}

// maxTerms bounds the accounts whose terms are remembered.
const maxTerms = 1 << 16

// knownTerms are those of accounts whose last group was granted. Nothing rests on their being right: the statement
// that uses them asks whether they are.
type knownTerms struct {
	mu sync.Mutex
	of map[metering.AccountID]terms
}

// take forgets the terms of an account and returns them.
func (k *knownTerms) take(id metering.AccountID) (terms, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t, ok := k.of[id]
	delete(k.of, id)
	return t, ok
}

func (k *knownTerms) put(id metering.AccountID, t terms) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of == nil || len(k.of) >= maxTerms {
		k.of = make(map[metering.AccountID]terms)
	}
	k.of[id] = t
}
