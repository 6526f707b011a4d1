package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/internal/hold"
)

// Balance implements [metering.Ledger].
func (s *Store) Balance(ctx context.Context, id metering.AccountID, p metering.Period) (metering.Balance, error) {
	return one(ctx, s, func(row pgx.CollectableRow) (b metering.Balance, err error) {
		var a metering.Account
		var agreement string
		var m hold.Month
		var created, held int64
		err = row.Scan(&a.Plan, &created, &agreement, &m.Used, &m.Charges, &m.Overage, &m.Micros, &held)
		a.CreatedAt = instant(created)
		err = cmp.Or(err, readAgreement(&a, agreement))
		return m.Balance(p, a, s.plans, held), err
	}, "balance of "+string(id), `SELECT a.plan, a.created, a.agreement, coalesce(b.used, 0), coalesce(b.charges, 0),
			coalesce(b.overage, 0), coalesce(b.micros, 0),
			(SELECT coalesce(sum(credits), 0)::bigint FROM holds WHERE account = $1 AND period = $2 AND lease > $3)
		FROM accounts a LEFT JOIN balances b ON b.account = $1 AND b.period = $2 WHERE a.account = $1`,
		id, monthNumber(p), micros(s.clock()))
}

// pageBalances is how many accounts are read per page.
const pageBalances = 10_000

// Balances implements [metering.Monthly].
func (s *Store) Balances(ctx context.Context, p metering.Period) iter.Seq2[metering.MonthBalance, error] {
	scan := func(row pgx.CollectableRow) (b metering.MonthBalance, err error) {
		b.Period = p
		err = row.Scan(&b.Account, &b.Used, &b.Charges, &b.Overage, &b.OverageMicros, &b.Held)
		return b, err
	}
	return metering.Pages(0, pageBalances, func(last *metering.MonthBalance, size int) ([]metering.MonthBalance, error) {
		var after metering.AccountID
		if last != nil {
			after = last.Account
		}
		return all(ctx, s, scan, "balances of "+p.String(), `SELECT account, coalesce(b.used, 0), coalesce(b.charges, 0),
				coalesce(b.overage, 0), coalesce(b.micros, 0), coalesce(h.held, 0)
			FROM (SELECT * FROM balances WHERE period = $1 AND account > $3 ORDER BY account LIMIT $4) b
			FULL JOIN (SELECT account, sum(credits)::bigint AS held FROM holds
				WHERE period = $1 AND lease > $2 AND account > $3 GROUP BY account ORDER BY account LIMIT $4) h USING (account)
			ORDER BY account LIMIT $4`, monthNumber(p), micros(s.clock()), after, size)
	})
}

const (
	// pageEntries is how many entries are read per page. Between two pages no connection is held.
	pageEntries = 1000
	// horizonPause is the interval of polls for running writers to finish.
	horizonPause = 2 * time.Millisecond
)

// Entries implements [metering.Ledger].
func (s *Store) Entries(ctx context.Context, f metering.EntryFilter) iter.Seq2[metering.Entry, error] {
	var horizon int64
	return metering.Pages(f.Limit, pageEntries, func(last *metering.Entry, size int) (list []metering.Entry, err error) {
		if last == nil {
			if err = s.ready(ctx); err == nil {
				horizon, err = s.horizon(ctx)
			}
			if err == nil {
				f.After, err = s.begin(ctx, f)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("reading the ledger: %w", err)
		}
		return s.page(ctx, f, last, horizon, size)
	})
}

// horizon returns a number up to which no further entry can appear: numbers are assigned in order, but committed in
// any. A writer holds a shared lock on the ledger until its commit is visible; so horizon reads the last number and
// then waits for the current holders, without blocking writers.
func (s *Store) horizon(ctx context.Context) (seq int64, err error) {
	if err := s.pool.QueryRow(ctx, "SELECT last_value FROM ledger_seq").Scan(&seq); err != nil {
		return 0, s.failure(err)
	}
	var writers, before []string
	for first := true; ; first = false {
		err := s.pool.QueryRow(ctx, `SELECT coalesce(array_agg(virtualtransaction), '{}') FROM pg_locks
			WHERE locktype = 'relation' AND relation = 'ledger'::regclass AND mode = 'RowExclusiveLock' AND granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
			AND ($1 OR virtualtransaction = ANY ($2))`, first, before).Scan(&writers)
		if err != nil {
			return 0, s.failure(err)
		}
		if len(writers) == 0 {
			return seq, nil
		}
		before = writers
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(horizonPause):
		}
	}
}

// page reads entries behind one, up to the horizon.
func (s *Store) page(
	ctx context.Context, f metering.EntryFilter, last *metering.Entry, horizon int64, size int,
) ([]metering.Entry, error) {
	after, turn := f.After, ""
	switch {
	case f.Newest && last != nil:
		horizon = last.Seq - 1
	case last != nil:
		after = last.Seq
	}
	if f.Newest {
		turn = " DESC"
	}
	where, args := selection(f, after, horizon, size)
	sql := entryColumns + "WHERE " + where + " ORDER BY seq" + turn + " LIMIT $3"
	return all(ctx, s, scanEntry, "reading the ledger", sql, args...)
}

// begin is the number behind which the charges of a filter are: those since an instant, too.
func (s *Store) begin(ctx context.Context, f metering.EntryFilter) (after int64, err error) {
	if !f.Since.IsZero() {
		after, err = s.seqSince(ctx, f.Since)
	}
	return max(after, f.After), err
}

// selection names only the conditions that a filter has, for the rows between two numbers. The third of the arguments
// is left to the caller.
func selection(f metering.EntryFilter, after, horizon int64, third any) (where string, args []any) {
	list := []string{"seq > $1", "seq <= $2"}
	args = []any{after, horizon, third}
	add := func(condition string, value any) {
		args = append(args, value)
		list = append(list, fmt.Sprintf(condition, len(args)))
	}
	if f.Account != "" {
		add("account = $%d", f.Account)
	}
	if f.Key != "" {
		add("key = $%d", f.Key)
	}
	if f.Period != nil {
		add("period = $%d", monthNumber(*f.Period))
	}
	if f.RequestID != "" {
		add("request = $%d", f.RequestID)
	}
	if f.Endpoint != "" {
		add("strpos(endpoint, $%d) > 0", f.Endpoint)
	}
	if f.Overage {
		list = append(list, "overage > 0")
	}
	if f.Path != "" {
		add("right(endpoint, length($%[1]d)) = $%[1]d", f.Path)
	}
	if !f.Since.IsZero() {
		add("at >= $%d", micros(f.Since.Add(time.Microsecond-time.Nanosecond)))
	}
	if !f.Before.IsZero() {
		add("at < $%d", micros(f.Before.Add(time.Microsecond-time.Nanosecond)))
	}
	return strings.Join(list, " AND "), args
}

// Sums implements [metering.Ledger].
func (s *Store) Sums(ctx context.Context, f metering.EntryFilter) (metering.Sums, error) {
	sums := metering.NewSums(f.After)
	what := "adding up the charges of " + string(f.Account)
	err := s.ready(ctx)
	var horizon, after int64
	if err == nil {
		horizon, err = s.horizon(ctx)
	}
	if err == nil {
		after, err = s.begin(ctx, f)
	}
	if err != nil {
		return sums, fmt.Errorf("%s: %w", what, err)
	}
	const hour = int64(time.Hour / time.Microsecond)
	where, args := selection(f, after, horizon, hour)
	_, err = all(ctx, s, func(row pgx.CollectableRow) (none struct{}, err error) {
		var on *int64
		var endpoint, key *string
		var t metering.Total
		var last int64
		err = row.Scan(&on, &endpoint, &key, &t.Credits, &t.Charges, &last)
		switch {
		case on != nil:
			at := metering.HourOf(instant(*on*hour), f.Period)
			sums.Hours[at] = sums.Hours[at].Plus(t)
		case endpoint != nil:
			sums.Endpoints[*endpoint] = t
		case key != nil:
			sums.Keys[metering.KeyID(*key)] = t
		}
		sums.Last = max(sums.Last, last)
		return none, err
	}, what, "SELECT at / $3 AS hour, endpoint, key, sum(credits)::bigint, count(*), max(seq) FROM ledger WHERE "+where+
		" GROUP BY GROUPING SETS (1, 2, 3)", args...)
	return sums, err
}

// Hours implements [metering.Ledger].
func (s *Store) Hours(
	ctx context.Context, account metering.AccountID, keys []metering.KeyID, since time.Time,
) ([]metering.HourSum, error) {
	const hour = int64(time.Hour / time.Microsecond)
	what := "adding up the hours of " + string(account)
	last, err := s.seqSince(ctx, since)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return all(ctx, s, func(row pgx.CollectableRow) (h metering.HourSum, err error) {
		var n int64
		err = row.Scan(&h.Key, &n, &h.Credits)
		h.Hour = instant(n * hour)
		return h, err
	}, what, fmt.Sprintf(`SELECT key, at / %d, sum(credits)::bigint FROM ledger
		WHERE account = $1 AND seq > $4 AND at >= $2 AND key = ANY ($3) GROUP BY 1, 2`, hour),
		account, micros(since), keys, last)
}

// seqSince is a number behind which all charges since an instant are; see [metering.SeqSince].
func (s *Store) seqSince(ctx context.Context, since time.Time) (int64, error) {
	const what = "searching the ledger"
	last, err := one(ctx, s, pgx.RowTo[int64], what, "SELECT coalesce(max(seq), 0) FROM ledger")
	if err != nil {
		return 0, err
	}
	return metering.SeqSince(last, since, func(seq int64) (time.Time, error) {
		at, err := all(ctx, s, pgx.RowTo[int64], what, "SELECT at FROM ledger WHERE seq >= $1 ORDER BY seq LIMIT 1", seq)
		if len(at) == 0 {
			return time.Time{}, err
		}
		return instant(at[0]), err
	})
}

const entryColumns = `SELECT seq, request, account, key, endpoint, credits, period, at, overage, rate, ceiling, chain
	FROM ledger `

func scanEntry(row pgx.CollectableRow) (e metering.Entry, err error) {
	var period int32
	var at int64
	var chain []byte
	err = row.Scan(&e.Seq, &e.RequestID, &e.Account, &e.Key, &e.Endpoint, &e.Credits, &period, &at,
		&e.Overage, &e.OverageRate, &e.Ceiling, &chain)
	e.Period, e.At = periodOf(period), instant(at)
	if chain != nil {
		e.Chain = new(chainOf(chain))
	}
	return e, err
}

// Audit implements [metering.Ledger]. It sees one state of the database, however long it takes.
func (s *Store) Audit(ctx context.Context) (audit metering.Audit, err error) {
	if err := s.ready(ctx); err != nil {
		return metering.Audit{}, err
	}
	state := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, s.pool, state, func(tx pgx.Tx) error { audit, err = auditAll(ctx, tx); return err })
	if err != nil {
		if end := ctx.Err(); end != nil {
			err = errors.Join(end, err)
		}
		return metering.Audit{}, fmt.Errorf("auditing: %w", s.failure(err))
	}
	return audit, nil
}

// auditAll passes all data to an auditor.
func auditAll(ctx context.Context, tx pgx.Tx) (audit metering.Audit, err error) {
	var accounts int
	var plans int64
	var newest []byte
	keys := make(map[metering.KeyID]bool)
	auditor := metering.Auditor{Known: func(id metering.KeyID) bool { return keys[id] }}
	err = tx.QueryRow(ctx, `SELECT (SELECT count(*) FROM accounts), (SELECT count FROM heads WHERE name = 'unchained'),
			coalesce((SELECT count FROM heads WHERE name = 'plans'), 0), (SELECT chain FROM heads WHERE name = 'plans')`).
		Scan(&accounts, &auditor.UnchainedUpTo, &plans, &newest)
	if err != nil {
		return audit, err
	}
	err = errors.Join(
		each(ctx, tx, pgx.RowTo[metering.KeyID], "SELECT id FROM keys", func(id metering.KeyID) { keys[id] = true }),
		each(ctx, tx, scanEntry, entryColumns+"ORDER BY seq", auditor.Entry),
		each(ctx, tx, scanSealed, sealedColumns, auditor.Balance),
	)
	var versions []metering.PlanVersion
	add := func(v metering.PlanVersion) { versions = append(versions, v) }
	err = errors.Join(err, each(ctx, tx, scanPlan, planColumns, add))
	if err != nil {
		return audit, err
	}
	auditor.Plans(versions, plans, chainOf(newest))
	return auditor.Finish(accounts), nil
}

// each reads rows one by one.
func each[T any](ctx context.Context, tx pgx.Tx, scan pgx.RowToFunc[T], sql string, do func(T)) error {
	rows, err := tx.Query(ctx, sql)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return err
		}
		do(v)
	}
	return rows.Err()
}

const sealedColumns = "SELECT account, period, used, charges, overage, micros, peak, chain FROM balances"

func scanSealed(row pgx.CollectableRow) (b metering.StoredBalance, err error) {
	var period int32
	var chain []byte
	err = row.Scan(&b.Account, &period, &b.Used, &b.Charges, &b.Overage, &b.Micros, &b.Peak, &chain)
	b.Period, b.Chain = periodOf(period), chainOf(chain)
	return b, err
}
