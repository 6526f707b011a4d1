package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/hold"
)

// The statements of a Begin. Under READ COMMITTED each sees what was committed before it began, so that all
// that follow lockAdmission see the holds of whoever had the lock before. Settle does not take the lock: it
// turns what is held into what is used in one transaction, of which readTaken sees all or nothing. For the same
// reason claims are read before replies: a claim that is gone has left its reply.
const (
	lockAdmission = "SELECT 1 FROM admissions WHERE account = $1 FOR UPDATE"

	addAdmission = `INSERT INTO admissions (account) SELECT account FROM accounts WHERE account = $1
		ON CONFLICT DO NOTHING`

	readTaken = `SELECT a.plan, a.overage, a.budget, coalesce(b.used, 0), coalesce(b.charges, 0), h.held, h.lapsed
		FROM accounts a
		LEFT JOIN balances b ON b.account = $1 AND b.period = $2
		CROSS JOIN (SELECT coalesce(sum(credits) FILTER (WHERE period = $2), 0)::bigint AS held,
			coalesce(bool_or(lease <= $3), false) AS lapsed FROM holds WHERE account = $1) h
		WHERE a.account = $1`

	readClaims = `SELECT h.line, h.hash, h.fingerprint
		FROM unnest($2::text[], $3::bytea[]) AS c (line, hash),
		LATERAL (SELECT * FROM holds WHERE account = $1 AND line = c.line AND hash = c.hash OFFSET 0) h`

	readReplies = `SELECT r.line, r.hash, r.request, r.fingerprint, r.expires, r.status, r.form, r.header, r.body
		FROM unnest($2::text[], $3::bytea[]) AS c (line, hash),
		LATERAL (SELECT * FROM replies WHERE account = $1 AND line = c.line AND hash = c.hash
			ORDER BY id DESC LIMIT 1) r`

	dropLapsed = "DELETE FROM holds WHERE account = $1 AND lease <= $2"

	addHolds = `INSERT INTO holds (account, token, period, credits, ceiling, lease)
		SELECT $1, token, $2, credits, $3, lease
		FROM unnest($4::bigint[], $5::bigint[], $6::bigint[]) AS h (token, credits, lease)`

	addClaims = `INSERT INTO holds (account, token, period, credits, ceiling, lease, line, hash, fingerprint)
		SELECT $1, token, $2, credits, $3, lease, line, hash, fingerprint
		FROM unnest($4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::bytea[], $9::bytea[])
			AS h (token, credits, lease, line, hash, fingerprint)`
)

// taken is what an account may use and what is taken of it, in one period.
type taken struct {
	account   metering.Account
	used      int64
	charges   int64
	held      int64 // also by those whose lease has ended and that nobody has removed
	lapsed    bool  // there are such
	admission bool  // the lock was there to be taken
	known     bool  // so is the account
	claims    map[hold.ClaimID][32]byte
	replies   map[hold.ClaimID]hold.Record
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

// promise locks the account, decides, and writes what was granted.
func (s *Store) promise(ctx context.Context, conn *pgx.Conn, g *group[metering.Op, metering.Begun]) error {
	t, err := s.admit(ctx, conn, g)
	if err == nil && t.lapsed {
		// A hold counts as long as it is there, whatever a clock says: only then nobody can settle it after
		// its credits were sold again.
		if _, err = conn.Exec(ctx, dropLapsed, g.account, micros(s.clock())); err == nil {
			t, err = s.read(ctx, conn, g, false)
		}
	}
	if err != nil {
		return errors.Join(err, rollback(conn))
	}
	grants := s.decide(g, t)
	var batch pgx.Batch
	if grants.queue(&batch, g); batch.Len() == 0 {
		return rollback(conn)
	}
	batch.Queue("COMMIT")
	if err := conn.SendBatch(ctx, &batch).Close(); err != nil {
		return errors.Join(err, rollback(conn))
	}
	return nil
}

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
	t, err = s.read(ctx, conn, g, true)
	if err != nil || t.admission || !t.known {
		return t, err
	}
	for _, sql := range []string{"ROLLBACK", addAdmission} {
		var args []any
		if sql == addAdmission {
			args = []any{g.account}
		}
		if _, err := conn.Exec(ctx, sql, args...); err != nil {
			return taken{}, err
		}
	}
	t, err = s.read(ctx, conn, g, true)
	if err == nil && !t.admission {
		err = fmt.Errorf("account %s: its admission was removed", g.account)
	}
	return t, err
}

// read reads all that a decision needs in one round trip; with lock it begins the transaction.
func (s *Store) read(
	ctx context.Context, conn *pgx.Conn, g *group[metering.Op, metering.Begun], lock bool,
) (t taken, err error) {
	var batch pgx.Batch
	if lock {
		batch.Queue("BEGIN")
		batch.Queue("SET LOCAL synchronous_commit = off")
		batch.Queue(lockAdmission, g.account).Query(func(rows pgx.Rows) error {
			t.admission = rows.Next()
			rows.Close()
			return rows.Err()
		})
	}
	batch.Queue(readTaken, g.account, monthNumber(g.period), micros(s.clock())).QueryRow(func(row pgx.Row) error {
		a := &t.account
		err := row.Scan(&a.Plan, &a.OverageEnabled, &a.OverageBudgetCents, &t.used, &t.charges, &t.held, &t.lapsed)
		t.known = err == nil
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	t.queueClaims(&batch, g)
	return t, conn.SendBatch(ctx, &batch).Close()
}

// decide tells each job what became of it, in the order in which they came, and returns what was granted.
func (s *Store) decide(g *group[metering.Op, metering.Begun], t taken) (grants grants) {
	if !t.known {
		g.fail(fmt.Errorf("account %s: %w", g.account, metering.ErrNotFound))
		return grants
	}
	plan, priced := s.plans[t.account.Plan]
	grants.ceiling = plan.Ceiling(t.account)
	for _, j := range g.jobs {
		op := &j.in
		if op.Idempotency != nil {
			if j.out, j.err = t.repeated(op, s.balance(g.period, t)); j.err != nil || j.out.Replay != nil {
				continue
			}
		}
		left := grants.ceiling - t.used - t.held
		switch {
		case !priced:
			j.err = fmt.Errorf("account %s: plan %q is not in the price list", g.account, t.account.Plan)
		case op.Credits > left:
			j.err = &metering.QuotaError{
				Plan: plan.ID, Limit: plan.Credits, Current: t.used + t.held, Requested: op.Credits, Left: max(0, left),
			}
		default:
			t.held += op.Credits
			if op.Idempotency != nil {
				t.claims[hold.ClaimOf(op)] = *op.Fingerprint
			}
			ticket := &metering.Ticket{Op: *op, Token: rand.Uint64() >> 1, Period: g.period}
			grants.tickets = append(grants.tickets, ticket)
			j.out.Ticket = ticket
		}
	}
	return grants
}

func (s *Store) balance(p metering.Period, t taken) metering.Balance {
	return metering.Balance{
		Period: p, Plan: t.account.Plan, Limit: s.plans[t.account.Plan].Credits,
		Used: t.used, Held: t.held, Charges: t.charges,
	}
}

// grants are tickets of one account and period, granted under one ceiling.
type grants struct {
	ceiling int64
	tickets []*metering.Ticket
}

// queue adds the statement that writes the grants, if there are any.
func (r *grants) queue(batch *pgx.Batch, g *group[metering.Op, metering.Begun]) {
	n := len(r.tickets)
	if n == 0 {
		return
	}
	tokens, credits, leases := make([]int64, n), make([]int64, n), make([]int64, n)
	lines, hashes, fingerprints := make([]*string, n), make([][]byte, n), make([][]byte, n)
	claims := false
	for i, t := range r.tickets {
		tokens[i], credits[i], leases[i] = int64(t.Token), t.Credits, micros(t.Lease)
		if t.Idempotency != nil {
			claims = true
			line := string(t.Claimant())
			lines[i], hashes[i], fingerprints[i] = &line, t.Idempotency[:], t.Fingerprint[:]
		}
	}
	args := []any{g.account, monthNumber(g.period), r.ceiling, tokens, credits, leases}
	if !claims {
		batch.Queue(addHolds, args...)
		return
	}
	batch.Queue(addClaims, append(args, lines, hashes, fingerprints)...)
}
