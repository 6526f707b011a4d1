package sqlite

import (
	"context"
	"fmt"
	"iter"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/internal/hold"
	"github.com/diagkit/diagkit/metering/sqlitedb"
)

// Balance implements [metering.Ledger]. A store for administration does not see a server's holds.
func (s *Store) Balance(ctx context.Context, id metering.AccountID, p metering.Period) (metering.Balance, error) {
	if err := s.ready(ctx); err != nil {
		return metering.Balance{}, err
	}
	if !s.config.Admin {
		return s.book.Balance(ctx, id, p)
	}
	// What is in the book would grow old: it is the server that charges.
	account, err := s.Account(ctx, id)
	if err != nil {
		return metering.Balance{}, err
	}
	m, err := source{s}.Month(ctx, id, p)
	if err != nil {
		return metering.Balance{}, err
	}
	return m.Balance(p, account, s.config.Plans, 0), nil
}

// pageEntries is how many entries are read per page. Between two pages no connection is held, so that a slow reader
// blocks neither writers nor checkpoints of the log.
const pageEntries = 512

// Entries implements [metering.Ledger].
func (s *Store) Entries(ctx context.Context, f metering.EntryFilter) iter.Seq2[metering.Entry, error] {
	return metering.Pages(f.Limit, pageEntries, func(last *metering.Entry, size int) ([]metering.Entry, error) {
		if last == nil && !f.Since.IsZero() {
			first, err := s.seqSince(ctx, f.Since)
			if err != nil {
				return nil, fmt.Errorf("reading the ledger: %w", err)
			}
			f.After = max(f.After, first)
		}
		sql, args := entryQuery(f, last, size)
		return all(ctx, s, func(stmt *sqlite.Stmt) (metering.Entry, error) {
			e := scanEntry(stmt)
			e.Account, e.Key = metering.AccountID(stmt.ColumnText(9)), metering.KeyID(stmt.ColumnText(10))
			e.Endpoint = stmt.ColumnText(11)
			return e, nil
		}, "reading the ledger", sql, args...)
	})
}

// entryColumns are those of the ledger, without the names of account, key and endpoint.
const entryColumns = "l.seq, l.request, l.credits, l.period, l.at, l.overage, l.rate, l.ceiling, l.chain"

func scanEntry(stmt *sqlite.Stmt) metering.Entry {
	e := metering.Entry{
		Seq: stmt.ColumnInt64(0), RequestID: stmt.ColumnText(1), Credits: stmt.ColumnInt64(2),
		Period: metering.PeriodNumbered(stmt.ColumnInt64(3)), At: instant(stmt.ColumnInt64(4)), Overage: stmt.ColumnInt64(5),
		OverageRate: stmt.ColumnInt64(6), Ceiling: stmt.ColumnInt64(7),
	}
	if !stmt.ColumnIsNull(8) {
		e.Chain = new(metering.Chain)
		stmt.ColumnBytes(8, e.Chain[:])
	}
	return e
}

// numbered is the number of the name that a parameter has.
const numbered = "(SELECT id FROM names WHERE name = ?%d)"

// ofAccount are the rows of the account in parameter ?3 with a number above ?1, in the blocks in which that has
// charges: both loops run in the order of the ledger, so that nothing is sorted.
var ofAccount = fmt.Sprintf(`ledger_blocks b CROSS JOIN ledger l
	WHERE b.account = `+fmt.Sprintf(numbered, 3)+` AND b.block >= ?1 / %[1]d
	AND l.seq >= b.block * %[1]d AND l.seq < (b.block + 1) * %[1]d AND l.seq > ?1
	AND l.account = b.account`, blockSize)

// entryQuery reads a page behind an entry.
func entryQuery(f metering.EntryFilter, last *metering.Entry, size int) (sql string, args []any) {
	from, order, turn, args := selection(f, last, size)
	return "SELECT " + entryColumns + `, a.name, k.name, e.name
		FROM (SELECT l.* FROM ` + from + " ORDER BY " + order + ` LIMIT ?2) l
		LEFT JOIN names a ON a.id = l.account LEFT JOIN names k ON k.id = l.key LEFT JOIN names e ON e.id = l.endpoint
		ORDER BY l.seq` + turn, args
}

// selection names only the conditions that a filter has, for the rows behind an entry. The second of the arguments is
// the size.
func selection(f metering.EntryFilter, last *metering.Entry, size int) (from, order, turn string, args []any) {
	after := max(0, f.After)
	if f.Newest {
		turn = " DESC"
	} else if last != nil {
		after = last.Seq
	}
	from, order = "ledger l WHERE l.seq > ?1", "l.seq"+turn
	args = []any{after, size}
	add := func(condition string, value any) {
		args = append(args, value)
		from += " AND " + fmt.Sprintf(condition, len(args))
	}
	if f.Account != "" {
		args = append(args, f.Account)
		from, order = ofAccount, "b.block"+turn+", "+order
	}
	if f.Newest && last != nil {
		add("l.seq < ?%d", last.Seq)
		if f.Account != "" {
			add(fmt.Sprintf("b.block <= ?%%d / %d", blockSize), last.Seq)
		}
	}
	if f.Key != "" {
		add("l.key = "+numbered, f.Key)
	}
	if f.Period != nil {
		add("l.period = ?%d", f.Period.Number())
	}
	if f.RequestID != "" {
		add("l.request = ?%d", f.RequestID)
	}
	if f.Endpoint != "" {
		add("l.endpoint IN (SELECT id FROM names WHERE instr(name, ?%d) > 0)", f.Endpoint)
	}
	if f.Path != "" {
		add("l.endpoint IN (SELECT id FROM names WHERE substr(name, -length(?%[1]d)) = ?%[1]d)", f.Path)
	}
	if f.Overage {
		from += " AND l.overage > 0"
	}
	if !f.Since.IsZero() {
		add("l.at >= ?%d", micros(f.Since.Add(time.Microsecond-time.Nanosecond)))
	}
	if !f.Before.IsZero() {
		add("l.at < ?%d", micros(f.Before.Add(time.Microsecond-time.Nanosecond)))
	}
	return from, order, turn, args
}

// seqSince is a number behind which all charges since an instant are; see [metering.SeqSince].
func (s *Store) seqSince(ctx context.Context, since time.Time) (seq int64, err error) {
	var last int64
	if err := s.get(ctx, "SELECT coalesce(max(seq), 0) FROM ledger", nil, &last); err != nil {
		return 0, err
	}
	return metering.SeqSince(last, since, func(seq int64) (at time.Time, err error) {
		return at, s.get(ctx, "SELECT at FROM ledger WHERE seq >= ?1 ORDER BY seq LIMIT 1", []any{seq}, &at)
	})
}

// Sums implements [metering.Ledger]. It adds numbers, and reads a name once for each.
func (s *Store) Sums(ctx context.Context, f metering.EntryFilter) (metering.Sums, error) {
	sums := metering.NewSums(f.After)
	f.Newest = false
	if !f.Since.IsZero() {
		first, err := s.seqSince(ctx, f.Since)
		if err != nil {
			return sums, fmt.Errorf("adding up the charges of %s: %w", f.Account, err)
		}
		f.After = max(f.After, first)
	}
	endpoints, keys := map[int64]metering.Total{}, map[int64]metering.Total{}
	const hour = int64(time.Hour / time.Microsecond)
	var on int64 // the hour of the charges before
	var ofHour metering.Total
	endHour := func() {
		if ofHour.Charges > 0 {
			at := metering.HourOf(instant(on*hour), f.Period)
			sums.Hours[at] = sums.Hours[at].Plus(ofHour)
		}
	}
	err := s.atOnce(ctx, func(conn *sqlite.Conn) error {
		from, _, _, args := selection(f, nil, 0)
		err := sqlitedb.Rows(conn, "SELECT l.seq, l.credits, l.at, l.endpoint, l.key FROM "+from,
			sqlitedb.Args(args...), func(stmt *sqlite.Stmt) error {
				one := metering.Total{Credits: stmt.ColumnInt64(1), Charges: 1}
				sums.Last = max(sums.Last, stmt.ColumnInt64(0))
				if n := stmt.ColumnInt64(2) / hour; n != on {
					endHour()
					on, ofHour = n, metering.Total{}
				}
				ofHour = ofHour.Plus(one)
				endpoint, key := stmt.ColumnInt64(3), stmt.ColumnInt64(4)
				endpoints[endpoint] = endpoints[endpoint].Plus(one)
				keys[key] = keys[key].Plus(one)
				return nil
			})
		if err != nil {
			return err
		}
		endHour()
		err = named(conn, endpoints, func(name string, t metering.Total) { sums.Endpoints[name] = t })
		if err != nil {
			return err
		}
		return named(conn, keys, func(name string, t metering.Total) { sums.Keys[metering.KeyID(name)] = t })
	})
	if err != nil {
		return sums, fmt.Errorf("adding up the charges of %s: %w", f.Account, err)
	}
	return sums, nil
}

// named calls add with the names that totals have by their numbers.
func named(conn *sqlite.Conn, totals map[int64]metering.Total, add func(string, metering.Total)) error {
	for number, total := range totals {
		bind := func(stmt *sqlite.Stmt) { stmt.BindInt64(1, number) }
		err := sqlitedb.Rows(conn, "SELECT name FROM names WHERE id = ?1", bind, func(stmt *sqlite.Stmt) error {
			add(stmt.ColumnText(0), total)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Hours implements [metering.Ledger].
func (s *Store) Hours(
	ctx context.Context, account metering.AccountID, keys []metering.KeyID, since time.Time,
) ([]metering.HourSum, error) {
	const hour = int64(time.Hour / time.Microsecond)
	last, err := s.seqSince(ctx, since)
	if err != nil {
		return nil, fmt.Errorf("adding up the hours of %s: %w", account, err)
	}
	return all(ctx, s, func(stmt *sqlite.Stmt) (h metering.HourSum, _ error) {
		sqlitedb.Scan(stmt, &h.Key, &h.Hour, &h.Credits)
		return h, nil
	}, "adding up the hours of "+string(account), fmt.Sprintf(`SELECT k.name, h.hour * %[1]d, h.credits
		FROM (SELECT l.key, l.at / %[1]d AS hour, sum(l.credits) AS credits FROM %[2]s
			AND l.at >= ?2 AND l.key IN (SELECT id FROM names WHERE name IN (SELECT value FROM json_each(?4)))
			GROUP BY 1, 2) h JOIN names k ON k.id = h.key`, hour, ofAccount),
		last, micros(since), account, jsonIDs(keys))
}

// Audit implements [metering.Ledger]. It sees one state of the database, however long it takes.
func (s *Store) Audit(ctx context.Context) (audit metering.Audit, err error) {
	err = s.atOnce(ctx, func(conn *sqlite.Conn) (err error) { audit, err = auditAll(conn); return err })
	if err != nil {
		return metering.Audit{}, fmt.Errorf("auditing: %w", err)
	}
	return audit, nil
}

// atOnce runs queries that see one state of the database.
func (s *Store) atOnce(ctx context.Context, queries func(*sqlite.Conn) error) error {
	return s.read(ctx, func(conn *sqlite.Conn) (err error) {
		if err := sqlitedb.Exec(conn, "BEGIN", nil); err != nil {
			return err
		}
		defer func() {
			conn.SetInterrupt(nil) // the transaction must end even if the context has ended
			if endErr := sqlitedb.Exec(conn, "COMMIT", nil); err == nil {
				err = endErr
			}
		}()
		return queries(conn)
	})
}

// Balances implements [metering.Monthly]. A store for administration does not see a server's holds.
func (s *Store) Balances(ctx context.Context, p metering.Period) iter.Seq2[metering.MonthBalance, error] {
	return func(yield func(metering.MonthBalance, error) bool) {
		held := s.book.Held(p)
		settled := map[metering.AccountID]hold.Month{}
		err := s.read(ctx, func(conn *sqlite.Conn) error {
			return sqlitedb.Rows(conn, `SELECT n.name, b.used, b.charges, b.overage, b.micros
				FROM balances b JOIN names n ON n.id = b.account WHERE b.period = ?1`, sqlitedb.Args(p.Number()),
				func(stmt *sqlite.Stmt) error {
					var id metering.AccountID
					var m hold.Month
					sqlitedb.Scan(stmt, &id, &m.Used, &m.Charges, &m.Overage, &m.Micros)
					settled[id] = m
					return nil
				})
		})
		if err != nil {
			yield(metering.MonthBalance{}, err)
			return
		}
		hold.Balances(p, settled, held, yield)
	}
}

// auditAll passes all data to an auditor.
func auditAll(conn *sqlite.Conn) (audit metering.Audit, err error) {
	names := make(map[int64]string)
	keys := make(map[metering.KeyID]bool)
	accounts := 0
	auditor := metering.Auditor{Known: func(id metering.KeyID) bool { return keys[id] }}
	var plans int64
	var newest metering.Chain
	for _, q := range []struct {
		sql string
		row func(*sqlite.Stmt)
	}{
		{"SELECT id, name FROM names", func(stmt *sqlite.Stmt) { names[stmt.ColumnInt64(0)] = stmt.ColumnText(1) }},
		{"SELECT id FROM keys", func(stmt *sqlite.Stmt) { keys[metering.KeyID(stmt.ColumnText(0))] = true }},
		{"SELECT count(*) FROM accounts", func(stmt *sqlite.Stmt) { sqlitedb.Scan(stmt, &accounts) }},
		{"SELECT count FROM heads WHERE name = 'unchained'",
			func(stmt *sqlite.Stmt) { sqlitedb.Scan(stmt, &auditor.UnchainedUpTo) }},
		{"SELECT " + entryColumns + ", l.account, l.key, l.endpoint FROM ledger l ORDER BY l.seq",
			func(stmt *sqlite.Stmt) {
				e := scanEntry(stmt)
				e.Account = metering.AccountID(names[stmt.ColumnInt64(9)])
				e.Key, e.Endpoint = metering.KeyID(names[stmt.ColumnInt64(10)]), names[stmt.ColumnInt64(11)]
				auditor.Entry(e)
			}},
		{"SELECT account, period, used, charges, overage, micros, peak, chain FROM balances", func(stmt *sqlite.Stmt) {
			var b metering.StoredBalance
			var account, period int64
			sqlitedb.Scan(stmt, &account, &period, &b.Used, &b.Charges, &b.Overage, &b.Micros, &b.Peak, &b.Chain)
			b.Account, b.Period = metering.AccountID(names[account]), metering.PeriodNumbered(period)
			auditor.Balance(b)
		}},
		{"SELECT count, chain FROM heads WHERE name = 'plans'",
			func(stmt *sqlite.Stmt) { sqlitedb.Scan(stmt, &plans, &newest) }},
	} {
		err := sqlitedb.Rows(conn, q.sql, nil, func(stmt *sqlite.Stmt) error { q.row(stmt); return nil })
		if err != nil {
			return audit, err
		}
	}
	versions, err := readPlans(conn)
	if err != nil {
		return audit, err
	}
	auditor.Plans(versions, plans, newest)
	return auditor.Finish(accounts), nil
}
