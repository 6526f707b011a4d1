package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/internal/hold"
	"github.com/diagkit/diagkit/metering/postgresdb"
)

// The statements of a Begin. Under READ COMMITTED each sees what was committed before it began, so all statements
// after lockTaken see the promises of the previous holder of the lock. Settle does not take the lock: it turns held
// credits into used ones, and their sum stays. Claims are read before replies: a claim that is gone has left its
// reply.
const (
	lockAdmission = `SELECT set_config('synchronous_commit', 'off', true), -- until the end of the transaction
		` + postgresdb.Idle + `
		FROM admissions WHERE account = $1 FOR UPDATE`
	addAdmission = `INSERT INTO admissions (account) SELECT account FROM accounts WHERE account = $1
		ON CONFLICT DO NOTHING`
	// The owner of this lock waits for no hold, as the owner of a hold may be waiting for the lock. At the turn of a
	// month there are also holds of the previous one: a transaction that needs several periods locks the older first.
	lockTaken = `SELECT FROM taken WHERE account = $1 AND period >= $2::integer - 1 ORDER BY period FOR UPDATE`
	readTaken = `SELECT a.version, a.plan, a.overage, a.budget, a.created, a.agreement,
			coalesce(b.used, 0), coalesce(b.charges, 0), coalesce(b.overage, 0), coalesce(b.micros, 0), t.credits,
			coalesce(t.overage, 0), coalesce(t.micros, 0), coalesce(t.lapse, 0)
		FROM accounts a
		LEFT JOIN balances b ON b.account = $1 AND b.period = $2
		LEFT JOIN taken t ON t.account = $1 AND t.period = $2
		WHERE a.account = $1`
	// Without a row there are no holds either: the period is new, or PostgreSQL has crashed.
	startTaken = `INSERT INTO taken (account, period, credits, overage, micros, lapse)
		SELECT $1, $2, coalesce(b.used, 0), coalesce(b.overage, 0), coalesce(b.micros, 0), ` + never + `
		FROM accounts a LEFT JOIN balances b ON b.account = $1 AND b.period = $2 WHERE a.account = $1
		RETURNING credits, overage, micros, lapse`
	// A hold counts as long as its row exists, whatever a clock says: only this ensures that it cannot be settled
	// after its credits were sold again.
	dropLapsed = `WITH gone AS (
			DELETE FROM holds WHERE account = $1 AND ctid = ANY (ARRAY(
				SELECT ctid FROM holds WHERE account = $1 AND lease <= $2 FOR UPDATE SKIP LOCKED))
			RETURNING period, credits, overage, rate
		)` + giveBack
	giveBack = `
		UPDATE taken t SET credits = t.credits - g.credits, overage = t.overage - g.overage, micros = t.micros - g.micros
		FROM (SELECT period, sum(credits) AS credits, sum(overage) AS overage, sum(overage * rate) AS micros
			FROM gone GROUP BY period ORDER BY period) g
		WHERE t.account = $1 AND t.period = g.period`
	countTaken = `UPDATE taken SET (credits, overage, micros, lapse) = (
			SELECT coalesce(sum(credits), 0), coalesce(sum(overage), 0), coalesce(sum(micros), 0),
				coalesce(min(lease), ` + never + `)
			FROM (SELECT used AS credits, overage, micros, NULL::bigint AS lease FROM balances WHERE account = $1 AND period = $2
				UNION ALL SELECT credits, overage, overage * rate, lease FROM holds WHERE account = $1 AND period = $2) all_of_it)
		WHERE account = $1 AND period = $2`
	readClaims = `SELECT h.line, h.hash, h.fingerprint, h.lease <= $4
		FROM unnest($2::text[], $3::bytea[]) AS c (line, hash),
		LATERAL (SELECT * FROM holds WHERE account = $1 AND line = c.line AND hash = c.hash OFFSET 0) h`
	readReplies = `SELECT r.line, r.hash, r.request, r.fingerprint, r.expires, r.status, r.form, r.header, r.body
		FROM unnest($2::text[], $3::bytea[]) AS c (line, hash),
		LATERAL (SELECT * FROM replies WHERE account = $1 AND line = c.line AND hash = c.hash
			ORDER BY id DESC LIMIT 1) r`
	never    = "9223372036854775807"
	addTaken = `WITH t AS (
			UPDATE taken SET credits = credits + $4, overage = overage + $5, micros = micros + $6,
				lapse = least(lapse, $7)
			WHERE account = $1 AND period = $2
		)`
	addHolds = addTaken + `
		INSERT INTO holds (account, token, period, credits, overage, rate, ceiling, lease, parts)
		SELECT $1, token, $2, credits, overage, rate, $3, lease, parts
		FROM unnest($8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::text[])
			AS h (token, credits, overage, rate, lease, parts)`
	addClaims = addTaken + `
		INSERT INTO holds (account, token, period, credits, overage, rate, ceiling, lease, parts, line, hash, fingerprint)
		SELECT $1, token, $2, credits, overage, rate, $3, lease, parts, line, hash, fingerprint
		FROM unnest($8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::text[],
				$14::text[], $15::bytea[], $16::bytea[])
			AS h (token, credits, overage, rate, lease, parts, line, hash, fingerprint)`
	// addAtOnce grants each account's requests all or nothing, if the account and its ceiling are unchanged, and all
	// of them are within the allowance, or all beyond it (beyond = 1) at a rate and within a budget, with no lease
	// ended at the time ($1) that may have returned a part of the allowance. addIfFree skips rows that another
	// transaction has locked.
	addAtOnce = addWanted + addGranted
	addIfFree = addWanted + ` SKIP LOCKED` + addGranted
	addWanted = `WITH wanted AS (
			SELECT * FROM unnest($2::text[], $3::integer[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
				$9::bigint[], $10::bigint[], $11::bigint[]) WITH ORDINALITY
				AS w (account, period, credits, version, allowance, rate, budget, beyond, ceiling, lease, n)
		), granted AS (
			SELECT w.* FROM wanted w,
				LATERAL (SELECT FROM accounts WHERE account = w.account AND version = w.version OFFSET 0) a,
				LATERAL (SELECT * FROM taken WHERE account = w.account AND period = w.period FOR UPDATE`
	addGranted = `) t
			WHERE CASE w.beyond WHEN 0 THEN w.credits <= w.allowance - (t.credits - t.overage)
					ELSE t.lapse > $1 AND t.credits - t.overage >= w.allowance
						AND w.credits <= (w.budget - t.micros) / w.rate END
				AND t.credits + greatest(0, w.allowance - (t.credits - t.overage))
					+ greatest(0, w.budget - t.micros) / greatest(1, w.rate) = w.ceiling
		), added AS (
			INSERT INTO taken AS t (account, period, credits, overage, micros, lapse)
			SELECT account, period, credits, credits * beyond, credits * beyond * rate, lease FROM granted
			ON CONFLICT (account, period) DO UPDATE SET credits = t.credits + excluded.credits,
				overage = t.overage + excluded.overage, micros = t.micros + excluded.micros,
				lapse = least(t.lapse, excluded.lapse)
		), held AS (
			INSERT INTO holds (account, token, period, credits, overage, rate, ceiling, lease, parts)
			SELECT g.account, h.token, g.period, h.credits, h.credits * g.beyond, g.rate * g.beyond, g.ceiling, h.lease, h.parts
			FROM unnest($12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[], $16::text[])
				AS h (n, token, credits, lease, parts), granted g WHERE g.n = h.n
		)
		SELECT n FROM granted`
)

// taken is the limit and the use of an account in one period.
type taken struct {
	account   metering.Account
	settled   hold.Month
	sum       metering.Taken // settled and held
	lapse     int64          // no lease of a hold ends before this
	noted     bool           // these two are
	admission bool           // the lock was there to be taken
	known     bool           // so is the account
	claims    map[hold.ClaimID][32]byte
	replies   map[hold.ClaimID]hold.Record
	exact     bool // lapsed holds were dropped and the rest counted
	lapsed    bool // a claim has lapsed
}

// beginGroup makes the promises of a group in one transaction.
func (s *Store) beginGroup(g *group[metering.Op, metering.Begun]) {
	ctx, cancel := working()
	defer cancel()
	done, err := s.promiseAtOnce(ctx, g)
	if err == nil && !done {
		err = s.pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error { return s.promise(ctx, c.Conn(), g) })
	}
	if err != nil {
		g.fail(s.failure(err))
	}
}

// promise locks the account, decides, and writes the grants.
func (s *Store) promise(ctx context.Context, conn *pgx.Conn, g *group[metering.Op, metering.Begun]) error {
	t, err := s.admit(ctx, conn, g)
	if err != nil {
		return errors.Join(err, rollback(conn))
	}
	grants, doubtful := s.decide(g, &t)
	if doubtful || t.lapsed {
		if t, err = s.read(ctx, conn, g, exactly); err != nil {
			return errors.Join(err, rollback(conn))
		}
		grants, doubtful = s.decide(g, &t)
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
	if !doubtful && len(grants.tickets) > 0 {
		s.terms.put(g.account, terms{g.period, t.account.Version, grants.limits, grants.ceiling, grants.beyond})
	}
	return nil
}

// promiseAtOnce grants a group without idempotency keys in one statement, if the credits suffice and no obstacle is
// known. Otherwise it does nothing.
func (s *Store) promiseAtOnce(ctx context.Context, g *group[metering.Op, metering.Begun]) (done bool, err error) {
	terms, ok := s.terms.take(g.account)
	if !ok || terms.period != g.period {
		return false, nil
	}
	limits, beyond, most := terms.limits, int64(0), terms.limits.Allowance
	if terms.beyond {
		beyond, most = 1, limits.Budget/limits.Rate
	}
	grants := grants{limits: limits, ceiling: terms.ceiling}
	for _, j := range g.jobs {
		if j.in.Idempotency != nil {
			s.terms.put(g.account, terms)
			return false, nil
		}
		if j.in.Credits > most-grants.sum.Credits {
			return false, nil
		}
		grants.add(&j.in, g.period, j.in.Credits*beyond, limits.Rate*beyond)
	}
	p := &promise{g.account, g.period, terms, beyond, grants}
	if len(g.jobs) == 1 {
		done, err = s.singleBegins.do(ctx, "", p)
	}
	if !done && err == nil {
		j := job[*promise, bool]{in: p}
		err = s.grantAtOnce(ctx, addAtOnce, []*job[*promise, bool]{&j})
		done = j.out
	}
	if err != nil {
		s.releases.add(time.Now().Add(lostTime), grants.tickets...)
	}
	if err != nil || !done {
		return false, err
	}
	for i, j := range g.jobs {
		j.out = metering.Begun{Ticket: grants.tickets[i]}
	}
	s.terms.put(g.account, terms)
	return true, nil
}

// lostTime is how long a server may continue a statement after the connection broke: until its wait for a lock times
// out.
const lostTime = 2 * groupTimeout

// rollback ends a transaction in whatever state it is.
func rollback(conn *pgx.Conn) error {
	if conn.IsClosed() {
		return nil
	}
	ctx, cancel := working()
	defer cancel()
	_, err := conn.Exec(ctx, "ROLLBACK")
	return err
}

// admit begins a transaction, locks the account and reads its use. If there is no row to lock, because the account is
// new or PostgreSQL has crashed, it starts over.
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
	if err == nil && t.known && !t.noted {
		err = conn.QueryRow(ctx, startTaken, g.account, monthNumber(g.period)).
			Scan(&t.sum.Credits, &t.sum.Overage, &t.sum.Micros, &t.lapse)
	}
	return t, err
}

// reading is the additional work in the round trip of a read.
type reading int

const (
	firstly reading = iota // the transaction begins with the lock
	exactly                // under the lock, lapsed holds are dropped and the rest counted
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
		a, m := &t.account, &t.settled
		var agreement string
		var credits *int64
		var created int64
		err := row.Scan(&a.Version, &a.Plan, &a.OverageEnabled, &a.OverageBudgetCents, &created, &agreement,
			&m.Used, &m.Charges, &m.Overage, &m.Micros, &credits, &t.sum.Overage, &t.sum.Micros, &t.lapse)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		a.CreatedAt, t.known = instant(created), err == nil
		if t.noted = credits != nil; t.noted {
			t.sum.Credits = *credits
		}
		return cmp.Or(err, readAgreement(a, agreement))
	})
	t.queueClaims(batch, g, now)
}

// decide sets the outcome of each job, in order of arrival, and returns the grants. The result is doubtful if a job
// was refused or pays for overage, while leases that were counted may have ended.
func (s *Store) decide(g *group[metering.Op, metering.Begun], t *taken) (grants grants, doubtful bool) {
	if !t.known {
		g.fail(fmt.Errorf("account %s: %w", g.account, metering.ErrNotFound))
		return grants, false
	}
	id := t.account.PlanIn(g.period)
	plan, priced := s.plans.In(g.period)[id]
	limits, sum := plan.Limits(t.account), t.sum
	grants.limits, grants.ceiling = limits, limits.Ceiling(sum)
	claimed, now := make(map[hold.ClaimID][32]byte), micros(s.clock()) // by this group
	for _, j := range g.jobs {
		op := &j.in
		j.out, j.err = metering.Begun{}, nil
		if op.Idempotency != nil {
			balance := s.balance(g.period, t, sum)
			if j.out, j.err = t.repeated(op, claimed, balance); j.err != nil || j.out.Replay != nil {
				continue
			}
		}
		overage, rate, ok := limits.Admit(sum, op.Credits)
		switch {
		case !priced:
			j.err = fmt.Errorf("account %s: plan %q is not in the price list", g.account, id)
		case t.account.Suspension != nil:
			j.err = limits.Refuse(t.account, plan, sum, op.Credits)
		case !ok:
			doubtful = true
			j.err = limits.Refuse(t.account, plan, sum, op.Credits)
		default:
			sum = sum.Plus(op.Credits, overage, rate)
			doubtful = doubtful || overage > 0 && t.lapse <= now
			if op.Idempotency != nil {
				claimed[hold.ClaimOf(op)] = *op.Fingerprint
			}
			j.out.Ticket = grants.add(op, g.period, overage, rate)
		}
	}
	grants.beyond = limits.Rate > 0 && sum.Credits-sum.Overage >= limits.Allowance
	return grants, doubtful
}

func (s *Store) balance(p metering.Period, t *taken, sum metering.Taken) metering.Balance {
	return t.settled.Balance(p, t.account, s.plans, max(0, sum.Credits-t.settled.Used))
}
