package sqlite

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/internal/hold"
	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/diagkit/diagkit/metering/sqlitedb"
)

// together charges in one transaction, each a request of an account, with so many credits of overage.
func together(t *testing.T, s *Store, at time.Time, charges ...spent) {
	var b *batch
	require.NoError(t, s.administer(t.Context(), func(*writer) error {
		s.queue.mu.Lock()
		defer s.queue.mu.Unlock()
		for _, c := range charges {
			j := &job{at: micros(at), ticket: metering.Ticket{Op: metering.Op{
				RequestID: "req_" + c.id, Account: metering.AccountID("acc_" + c.account),
				Key: metering.KeyID("key_" + c.account), Endpoint: "POST /x",
			}}}
			j.settling.Period = metering.PeriodOf(at)
			j.settling.Parts = hold.Parts{Credits: c.credits, Overage: c.overage, Ceiling: 1000}
			if c.overage > 0 {
				j.settling.Rate = 7
			}
			b = s.queue.add(j)
		}
		s.queue.signal()
		return nil
	}, nil))
	<-b.done
	require.NoError(t, b.jobs[0].err)
}

type spent struct {
	id, account      string
	credits, overage int64
}

// ledgered is a store with two accounts, two months, groups of one to three charges, and two versions of a plan.
func ledgered(t *testing.T) (*Store, *meteringtest.Clock) {
	s, clock := opened(t)
	for _, name := range []string{"a", "b"} {
		account := metering.Account{ID: metering.AccountID("acc_" + name), Plan: meteringtest.Large}
		require.NoError(t, s.PutAccount(t.Context(), account))
		key := metering.Key{ID: metering.KeyID("key_" + name), Account: account.ID}
		key.Hash[0] = name[0]
		require.NoError(t, s.PutKeys(t.Context(), key))
	}
	for month := range 2 {
		id := func(n int) string { return fmt.Sprint(month, n) }
		together(t, s, clock.Now(), spent{id(0), "a", 5, 0})
		together(t, s, clock.Now(), spent{id(1), "b", 3, 2}, spent{id(2), "a", 4, 1}, spent{id(3), "a", 4, 4})
		clock.Advance(time.Second)
		together(t, s, clock.Now(), spent{id(4), "a", 2, 0}, spent{id(5), "a", 1, 0})
		together(t, s, clock.Now(), spent{id(6), "b", 1, 0})
		clock.Advance(31 * 24 * time.Hour)
	}
	plan := meteringtest.Plans()[meteringtest.Tiny]
	require.NoError(t, s.PutPlanVersions(t.Context(), metering.PlanVersion{Plan: plan, ImportedAt: clock.Now()}))
	plan.PriceCents = new(int64(100))
	later := metering.PlanVersion{Plan: plan, From: metering.PeriodOf(clock.Now()).Next(), ImportedAt: clock.Now()}
	require.NoError(t, s.PutPlanVersions(t.Context(), later))
	return s, clock
}

// tamperings are statements, each of which changes one thing in the tables of money: every field of every row in
// several ways, the loss of a row, a second one like it, and a value that two rows have exchanged.
func tamperings(t *testing.T, conn *sqlite.Conn) (list []string) {
	tables := map[string][]string{
		"ledger": {"seq"}, "balances": {"account", "period"}, "plans": {"seq"}, "heads": {"name"},
	}
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		types := make(map[string]string)
		var columns []string
		query(t, conn, fmt.Sprintf("SELECT name, type FROM pragma_table_info('%s')", table), func(s *sqlite.Stmt) {
			columns = append(columns, s.ColumnText(0))
			types[s.ColumnText(0)] = s.ColumnText(1)
		})
		var rows []string // the conditions that select them
		quoted := strings.Join(tables[table], ") || '|' || quote(")
		query(t, conn, "SELECT quote("+quoted+") FROM "+table+" WHERE "+covered[table], func(s *sqlite.Stmt) {
			var where []string
			for i, value := range strings.Split(s.ColumnText(0), "|") {
				where = append(where, tables[table][i]+" = "+value)
			}
			rows = append(rows, strings.Join(where, " AND "))
		})
		for i, row := range rows {
			list = append(list, fmt.Sprintf("DELETE FROM %s WHERE %s", table, row))
			if table == "ledger" {
				list = append(list, fmt.Sprintf(`INSERT INTO ledger SELECT (SELECT max(seq) + 1 FROM ledger),
					%s FROM ledger WHERE %s`, strings.Join(columns[1:], ", "), row))
			}
			for _, column := range columns {
				for _, value := range values[types[column]] {
					value = strings.ReplaceAll(value, "%s", column)
					list = append(list, fmt.Sprintf("UPDATE %s SET %s = %s WHERE %s", table, column, value, row))
				}
				for _, other := range rows[:i] {
					list = append(list, exchanges(table, column, row, other))
				}
			}
		}
	}
	return list
}

// values are the replacements for a column.
var values = map[string][]string{
	"INTEGER": {"%s + 1", "%s - 1", "%s * 2 + 1", "0", "NULL"},
	"TEXT":    {"%s || 'x'", "''", "NULL"},
	"BLOB":    {"x'00'", "zeroblob(32)", "NULL"},
}

// exchanges lets two rows exchange a value.
func exchanges(table, column, row, other string) string {
	if column == "seq" {
		return fmt.Sprintf(`UPDATE %[1]s SET seq = -seq WHERE %[2]s OR %[3]s;
			UPDATE %[1]s SET seq = seq - (SELECT sum(seq) FROM %[1]s WHERE seq < 0) WHERE seq < 0`, table, row, other)
	}
	return fmt.Sprintf(`UPDATE %[1]s SET %[2]s = CASE WHEN %[3]s THEN
		(SELECT %[2]s FROM %[1]s WHERE %[4]s) ELSE (SELECT %[2]s FROM %[1]s WHERE %[3]s) END WHERE (%[3]s OR %[4]s)`,
		table, column, row, other)
}

// covered leaves out up to where there is no chain.
var covered = map[string]string{"ledger": "true", "balances": "true", "plans": "true", "heads": "name <> 'unchained'"}

func query(t *testing.T, conn *sqlite.Conn, sql string, each func(*sqlite.Stmt)) {
	t.Helper()
	require.NoError(t, sqlitedb.Rows(conn, sql, nil, func(s *sqlite.Stmt) error { each(s); return nil }))
}

// contents returns the contents of the tables of money. The number of an entry counts only as the order within an
// account's month.
func contents(t *testing.T, conn *sqlite.Conn) (text string) {
	for _, sql := range []string{
		`SELECT account, period, key, endpoint, credits, at, request, overage, rate, ceiling, hex(chain),
			(SELECT count(*) FROM ledger o WHERE o.account = l.account AND o.period = l.period AND o.seq < l.seq)
			FROM ledger l ORDER BY 1, 2, 7, 3, 4, 5, 6, 8, 9, 10, 11`,
		"SELECT account, period, used, charges, peak, overage, micros, hex(chain) FROM balances ORDER BY 1, 2",
		"SELECT plan, period, imported, body, hex(chain) FROM plans ORDER BY seq",
		"SELECT name, count, hex(chain) FROM heads ORDER BY name",
	} {
		query(t, conn, sql, func(s *sqlite.Stmt) {
			for i := range s.ColumnCount() {
				text += fmt.Sprint(s.ColumnType(i), s.ColumnText(i), " ")
			}
			text += "\n"
		})
	}
	return text
}

// TestTampering changes one thing at a time by another hand: an audit finds each.
func TestTampering(t *testing.T) {
	s, _ := ledgered(t)
	audit, err := s.Audit(t.Context())
	require.NoError(t, err)
	require.Empty(t, audit.Faults)
	require.Zero(t, audit.Unproven)
	conn, err := s.file.Connect()
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	before := contents(t, conn)
	list := tamperings(t, conn)
	tried := make(map[string]int)
	for _, sql := range list {
		require.NoError(t, sqlitedb.Exec(conn, "BEGIN IMMEDIATE", nil))
		// Some are impossible, some change nothing.
		if sqlitex.ExecuteScript(conn, sql, nil) == nil && contents(t, conn) != before {
			tried[strings.Fields(sql)[0]]++
			audit, err := auditAll(conn)
			if err == nil { // a plan that cannot be read is found, too
				require.NotEmpty(t, audit.Faults, sql)
			}
		}
		require.NoError(t, sqlitedb.Exec(conn, "ROLLBACK", nil))
	}
	require.Equal(t, before, contents(t, conn))
	t.Log(len(list), "statements, of which changed something:", tried)
	require.Greater(t, tried["UPDATE"], 900)
	require.Equal(t, [2]int{14 + 4 + 2 + 1, 14}, [2]int{tried["DELETE"], tried["INSERT"]})
}

// TestUnchained brings a store of an earlier layout up to date: what it held is counted and named as unproven, and
// nothing else may be without a chain.
func TestUnchained(t *testing.T) {
	clock := meteringtest.NewClock()
	path := filepath.Join(t.TempDir(), "diag.db")
	old := layout
	old.Steps = old.Steps[:3]
	_, _, err := old.MigrateFile(t.Context(), path)
	require.NoError(t, err)
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	require.NoError(t, err)
	month := metering.PeriodOf(clock.Now()).Number()
	require.NoError(t, sqlitex.ExecuteScript(conn, fmt.Sprintf(`
		INSERT INTO names VALUES (1, 'acc_a'), (2, 'key_a'), (3, 'POST /x');
		INSERT INTO accounts VALUES ('acc_a', 1, 'Example', 'large', 0, NULL, 0);
		INSERT INTO keys VALUES
			('key_a', 1, 'acc_a', 'k', 'live', 'null', x'01', '', 'null', 0, NULL, NULL, '', '', '', NULL);
		INSERT INTO ledger VALUES (7, 1, 2, 3, 20, %[1]d, 0, 'req_1'), (8, 1, 2, 3, 22, %[1]d, 0, 'req_2');
		INSERT INTO ledger_blocks VALUES (1, 0);
		INSERT INTO balances VALUES (1, %[1]d, 42, 2, 50)`, month), nil))
	require.NoError(t, conn.Close())
	s, err := Open(t.Context(), path, Config{Plans: meteringtest.Plans(), Clock: clock.Now})
	require.NoError(t, err)
	defer s.Close()
	sound := func(entries, unproven int64) {
		t.Helper()
		audit, err := s.Audit(t.Context())
		require.NoError(t, err)
		require.Empty(t, audit.Faults)
		require.Equal(t, [2]int64{entries, unproven}, [2]int64{audit.Entries, audit.Unproven})
	}
	sound(2, 2)
	b, err := s.Balance(t.Context(), "acc_a", metering.PeriodOf(clock.Now()))
	require.NoError(t, err)
	require.Equal(t, [3]int64{42, 2, 0}, [3]int64{b.Used, b.Charges, b.Overage})
	together(t, s, clock.Now(), spent{"3", "a", 5, 0}, spent{"4", "a", 6, 0})
	sound(4, 2)
	for sql, want := range map[string]string{
		"UPDATE ledger SET chain = NULL WHERE seq = 10":                                "the entries from 9 on have no chain",
		"UPDATE ledger SET chain = x'00' WHERE seq = 9":                                "the first entries of the chain were changed",
		"UPDATE ledger SET credits = 7 WHERE seq = 9":                                  "the balance says 53 credits in 4 charges",
		"UPDATE balances SET chain = NULL":                                             "the balance has lost its chain",
		"DELETE FROM ledger WHERE seq > 8; UPDATE balances SET used = 42, charges = 2": "the last entries of the chain are missing",
	} {
		require.ErrorIs(t, s.administer(t.Context(), func(w *writer) error {
			if err := sqlitex.ExecuteScript(w.conn, sql, nil); err != nil {
				return err
			}
			audit, err := auditAll(w.conn)
			require.NoError(t, err)
			require.NotEmpty(t, audit.Faults, sql)
			require.Contains(t, audit.Faults[0].Detail, want, sql)
			return errTakenBack
		}, nil), errTakenBack)
	}
	sound(4, 2)
}
