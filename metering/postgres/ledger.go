package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/diagkit/diagkit/metering"
)

// Balance implements [metering.Ledger].
func (s *Store) Balance(ctx context.Context, id metering.AccountID, p metering.Period) (metering.Balance, error) {
	b, err := only(collect(ctx, s, func(row pgx.CollectableRow) (b metering.Balance, err error) {
		err = row.Scan(&b.Plan, &b.Used, &b.Charges, &b.Held)
		return b, err
	}, `SELECT a.plan, coalesce(b.used, 0), coalesce(b.charges, 0), (SELECT coalesce(sum(credits), 0)::bigint
			FROM holds WHERE account = $1 AND period = $2 AND lease > $3)
		FROM accounts a LEFT JOIN balances b ON b.account = $1 AND b.period = $2 WHERE a.account = $1`,
		id, monthNumber(p), micros(s.clock())))
	if err != nil {
		return metering.Balance{}, fmt.Errorf("balance of %s: %w", id, err)
	}
	b.Period, b.Limit = p, s.plans.In(p)[b.Plan].Credits
	return b, nil
}

const (
	// pageEntries is how many entries are read at once. Between two pages no connection is held.
	pageEntries = 1000
	// horizonPause is how often it is asked whether those who were writing have finished.
	horizonPause = 2 * time.Millisecond
)

// Entries implements [metering.Ledger].
func (s *Store) Entries(ctx context.Context, f metering.EntryFilter) iter.Seq2[metering.Entry, error] {
	var horizon int64
	return metering.Pages(f.Limit, pageEntries, func(last *metering.Entry, size int) (list []metering.Entry, err error) {
		from := f
		if last != nil {
			from.After = last.Seq
		} else if err = s.ready(ctx); err == nil {
			horizon, err = s.horizon(ctx)
		}
		if err == nil {
			list, err = s.page(ctx, from, horizon, size)
		}
		if err != nil {
			return nil, fmt.Errorf("reading the ledger: %w", err)
		}
		return list, nil
	})
}

// horizon returns a number up to which no entry is still to come: numbers are given in order, but committed in
// any. Whoever has one holds a lock on the ledger until its commit can be seen; so it reads the last number and
// then waits for those who hold one, without keeping anybody from writing.
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

// page reads entries up to the horizon.
func (s *Store) page(
	ctx context.Context, f metering.EntryFilter, horizon int64, size int,
) ([]metering.Entry, error) {
	where, args := []string{"seq > $1", "seq <= $2"}, []any{max(0, f.After), horizon, size}
	add := func(condition string, value any) {
		args = append(args, value)
		where = append(where, fmt.Sprintf(condition, len(args)))
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
	sql := "SELECT seq, request, account, key, endpoint, credits, period, at FROM ledger WHERE " +
		strings.Join(where, " AND ") + " ORDER BY seq LIMIT $3"
	return collect(ctx, s, scanEntry, sql, args...)
}

func scanEntry(row pgx.CollectableRow) (e metering.Entry, err error) {
	var period int32
	var at int64
	err = row.Scan(&e.Seq, &e.RequestID, &e.Account, &e.Key, &e.Endpoint, &e.Credits, &period, &at)
	e.Period, e.At = periodOf(period), instant(at)
	return e, err
}

// Audit implements [metering.Ledger]. It sees one state of the database, however long it takes.
func (s *Store) Audit(ctx context.Context) (audit metering.Audit, err error) {
	if err := s.ready(ctx); err != nil {
		return metering.Audit{}, err
	}
	state := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, s.pool, state, func(tx pgx.Tx) error { return auditAll(ctx, tx, &audit) })
	if err != nil {
		if end := ctx.Err(); end != nil {
			err = errors.Join(end, err)
		}
		return metering.Audit{}, fmt.Errorf("auditing: %w", s.failure(err))
	}
	return audit, nil
}

func auditAll(ctx context.Context, tx pgx.Tx, audit *metering.Audit) error {
	for _, setting := range []string{"enable_seqscan", "enable_bitmapscan", "enable_hashjoin", "enable_mergejoin"} {
		if _, err := tx.Exec(ctx, "SET LOCAL "+setting+" = on"); err != nil {
			return err
		}
	}
	err := tx.QueryRow(ctx, `SELECT (SELECT count(*) FROM accounts), count(*), coalesce(sum(credits), 0)::bigint
		FROM ledger`).
		Scan(&audit.Accounts, &audit.Entries, &audit.Credits)
	if err != nil {
		return err
	}
	for _, sql := range []string{auditBalances, auditPeaks, auditKeys} {
		rows, err := tx.Query(ctx, sql)
		if err != nil {
			return err
		}
		var fault metering.AuditFault
		var period int32
		if _, err := pgx.ForEachRow(rows, []any{&fault.Account, &period, &fault.Detail}, func() error {
			fault.Period = periodOf(period)
			audit.Faults = append(audit.Faults, fault)
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// The queries of an audit return account, period and what is wrong.
const (
	auditBalances = `SELECT account, period, format(
			'the balance says %s credits in %s charges, the ledger %s in %s',
			coalesce(b.used, 0), coalesce(b.charges, 0), coalesce(l.used, 0), coalesce(l.charges, 0))
		FROM (SELECT account, period, sum(credits) AS used, count(*) AS charges FROM ledger GROUP BY account, period) l
		FULL JOIN balances b USING (account, period)
		WHERE l.used IS DISTINCT FROM b.used OR l.charges IS DISTINCT FROM b.charges
		ORDER BY 1, 2`
	auditPeaks = `SELECT account, period, format('%s credits were used, the plan allowed %s', used, peak)
		FROM balances WHERE used > peak ORDER BY 1, 2`
	auditKeys = `SELECT account, period, format('key "%s" charged, but does not exist', key)
		FROM (SELECT account, key, min(period) AS period FROM ledger GROUP BY account, key) l
		WHERE NOT EXISTS (SELECT FROM keys k WHERE k.account = l.account AND k.id = l.key)
		ORDER BY 1, 2, 3`
)
