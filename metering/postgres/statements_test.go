package postgres_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/diagkit/diagkit/metering/postgres"
)

// A statement as it was sent.
type statement struct {
	sql  string
	args []any
}

// recorder collects statements.
type recorder struct {
	mu   sync.Mutex
	list []statement
}

func (r *recorder) add(sql string, args []any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, statement{sql, args})
}

func (r *recorder) take() []statement {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.list
	r.list = nil
	return list
}

func (r *recorder) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	r.add(q.SQL, q.Args)
	return ctx
}

func (r *recorder) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (r *recorder) TraceBatchStart(ctx context.Context, _ *pgx.Conn, b pgx.TraceBatchStartData) context.Context {
	for _, q := range b.Batch.QueuedQueries {
		r.add(q.SQL, q.Arguments)
	}
	return ctx
}

func (r *recorder) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (r *recorder) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// beside matches the statements that run next to the hot path in every store: health checks and polls for changes.
var beside = regexp.MustCompile(`transaction_read_only|FROM changes|metering_`)

// control statements touch no table.
var control = []string{"BEGIN ISOLATION LEVEL READ COMMITTED", "COMMIT", "ROLLBACK"}

// TestStatements checks every statement of the hot path: each finds every row by an account that it names. Statements
// for single jobs of several accounts may name more than one.
func TestStatements(t *testing.T) {
	var sent recorder
	text := newSchema(t)
	clock := meteringtest.NewClock()
	config := postgres.Config{Plans: meteringtest.Plans(), Clock: clock.Now}.Traced(&sent).Polling(time.Hour)
	store := openTest(t, text, config)
	defer func() { require.NoError(t, store.Close()) }()
	for _, id := range []metering.AccountID{"acc_a", "acc_b"} {
		require.NoError(t, store.PutAccount(t.Context(), metering.Account{ID: id, Plan: meteringtest.Tiny}))
	}
	sent.take()
	for range 2 { // the first Begin of an account, and a later one
		var wg sync.WaitGroup
		for _, id := range []metering.AccountID{"acc_a", "acc_b"} {
			wg.Go(func() { hotPath(t, store, clock, id) })
		}
		wg.Wait()
		clock.Advance(2 * metering.ReplayWindow)
	}
	seen := make(map[string]bool)
	for _, s := range sent.take() {
		if beside.MatchString(s.sql) || slices.Contains(control, s.sql) {
			continue
		}
		accounts := accountsIn(s.args)
		require.NotEmpty(t, accounts, "%s %v", s.sql, s.args)
		require.True(t, len(accounts) == 1 || strings.Contains(s.sql, "wanted w"), "%s %v", s.sql, s.args)
		if !seen[s.sql] {
			seen[s.sql] = true
			checkPlan(t, text, s, accounts[0])
		}
	}
	require.Len(t, seen, 18, "a statement that is new, or that this test has not met")
}

// hotPath does all that a request may do.
func hotPath(t *testing.T, store metering.Store, clock *meteringtest.Clock, account metering.AccountID) {
	begin := func(key byte, credits int64) (metering.Begun, error) {
		op := metering.Op{
			RequestID: "req_example", Account: account, Key: "key_" + metering.KeyID(account), Endpoint: "POST /x",
			Credits: credits, Now: clock.Now(), Lease: clock.Now().Add(time.Minute), KeptBytes: 10,
		}
		if key != 0 {
			op.Idempotency, op.Fingerprint = &[32]byte{key}, &[32]byte{key}
		}
		return store.Begin(t.Context(), op)
	}
	charge := func(key byte, reply *metering.Reply) {
		begun, err := begin(key, 1)
		require.NoError(t, err)
		require.NotNil(t, begun.Ticket)
		_, err = store.Settle(t.Context(), *begun.Ticket, metering.Outcome{At: clock.Now(), Reply: reply})
		require.NoError(t, err)
	}
	charge(0, nil)
	charge(0, nil) // on terms that are known now
	charge(1, &metering.Reply{Status: 200, Body: []byte("eight by")})
	charge(2, &metering.Reply{Status: 200, Body: []byte("eight by")}) // no room for the first any more
	begun, err := begin(2, 1)
	require.NoError(t, err)
	require.NotNil(t, begun.Replay)
	begun, err = begin(3, 1)
	require.NoError(t, err)
	require.NoError(t, store.Cancel(t.Context(), *begun.Ticket))
	_, err = begin(0, 100)
	require.ErrorAs(t, err, new(*metering.QuotaError))
}

// accountsIn returns the different accounts among arguments.
func accountsIn(args []any) (list []string) {
	for _, arg := range args {
		if several, ok := arg.([]string); ok && len(several) > 0 && strings.HasPrefix(several[0], "acc_") {
			list = append(list, several...)
		}
		if v := reflect.ValueOf(arg); v.Kind() == reflect.String && strings.HasPrefix(v.String(), "acc_") {
			list = append(list, v.String())
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// node is a node of a plan.
type node struct {
	Type      string `json:"Node Type"`
	Role      string `json:"Parent Relationship"`
	Operation string
	Relation  string `json:"Relation Name"`
	IndexCond string `json:"Index Cond"`
	Filter    string
	Output    []string
	Plans     []node
}

// checkPlan asks PostgreSQL how it would run a statement.
func checkPlan(t *testing.T, text string, s statement, account string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), text)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.Background())) }()
	for _, name := range []string{"seqscan", "bitmapscan", "hashjoin", "mergejoin"} { // as the store does
		_, err := conn.Exec(t.Context(), "SET enable_"+name+" = off")
		require.NoError(t, err)
	}
	var data []byte
	require.NoError(t, conn.QueryRow(t.Context(), "EXPLAIN (FORMAT JSON, VERBOSE) "+s.sql, s.args...).Scan(&data), s.sql)
	var plans []struct{ Plan node }
	require.NoError(t, json.Unmarshal(data, &plans))
	literal := fmt.Sprintf("'%s'::text", account)
	// or the account of a row of a statement for several accounts
	by := regexp.MustCompile(`\baccount = (` + literal + `|\(?(w|s|f|wanted|sums)\.account)|\(f\.account\)::text = h`)
	var check func(n node)
	check = func(n node) {
		switch {
		case n.Type == "ModifyTable" && n.Operation == "Insert":
			// What is inserted begins with the account, or with that of a row found by it.
			require.Regexp(t, `^(`+literal+`|[a-z_0-9]+\.account)$`, inserted(n), "%s: %+v", s.sql, n)
		case n.Type == "ModifyTable", n.Relation == "":
		case n.Type == "Tid Scan":
			require.Regexp(t, by, n.Filter, "%s is not read by its account: %s", n.Relation, s.sql)
		default:
			require.Regexp(t, by, n.IndexCond, "%s is not read by its account: %s", n.Relation, s.sql)
		}
		require.NotContains(t, []string{"key_directory", "changes"}, n.Relation, s.sql)
		for _, child := range n.Plans {
			check(child)
		}
	}
	check(plans[0].Plan)
}

// inserted returns the first value that a node inserts.
func inserted(n node) string {
	for _, child := range n.Plans {
		switch {
		case child.Role != "Outer" && child.Role != "Subquery":
		case child.Type == "Subquery Scan":
			return inserted(child)
		default:
			return child.Output[0]
		}
	}
	return ""
}

// TestPrimaryKeys proves that tables can be spread by the account, but for those of administration.
func TestPrimaryKeys(t *testing.T) {
	text := newSchema(t)
	_, _, err := postgres.Migrate(t.Context(), text)
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), text)
	require.NoError(t, err)
	rows, err := conn.Query(t.Context(), `SELECT c.relname::text, coalesce(a.attname::text, '')
		FROM pg_class c LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
		LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'`)
	require.NoError(t, err)
	first := make(map[string]string)
	var table, column string
	_, err = pgx.ForEachRow(rows, []any{&table, &column}, func() error { first[table] = column; return nil })
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	others := map[string]string{
		"changes": "seq", "key_directory": "id", "metering_layout": "version", "plans": "seq", "heads": "name",
	}
	require.Len(t, first, 16)
	for table, column := range first {
		want := "account"
		if other, ok := others[table]; ok {
			want = other
		}
		require.Equal(t, want, column, table)
	}
}

// TestMigrate lets several servers start at once on a new database.
func TestMigrate(t *testing.T) {
	text := newSchema(t)
	froms := make(chan int, 8)
	for range cap(froms) {
		go func() {
			from, _, err := postgres.Migrate(context.Background(), text)
			if err != nil {
				from = -1
			}
			froms <- from
		}()
	}
	var list []int
	for range cap(froms) {
		list = append(list, <-froms)
	}
	slices.Sort(list)
	require.Equal(t, []int{0, 4, 4, 4, 4, 4, 4, 4}, list, "one creates the tables")
	execute(t, text, "UPDATE metering_layout SET version = 99")
	_, err := postgres.Open(t.Context(), text, postgres.Config{})
	require.ErrorContains(t, err, "layout 99")
}

// What a store of the first layout has settled is unproven and no fault, what comes after it is chained, and a server
// that knows no chains charges nothing any more.
func TestMigrateUnchained(t *testing.T) {
	text := newSchema(t)
	execute(t, text, postgres.FirstLayout+`; CREATE TABLE metering_layout (version integer PRIMARY KEY);
		INSERT INTO metering_layout VALUES (1);
		INSERT INTO accounts VALUES ('acc_example', 1, '', '`+string(meteringtest.Tiny)+`', false, NULL, 0);
		INSERT INTO keys VALUES ('acc_example', 'key_example', 1, '', '', '{}', '', '', '{}', 0,
			NULL, NULL, '', '', '', NULL);
		INSERT INTO balances VALUES ('acc_example', 24312, 5, 2, 10), ('acc_example', 24313, 3, 1, 10)`)
	charge := `INSERT INTO ledger (account, key, endpoint, credits, period, at, request)
		VALUES ('acc_example', 'key_example', '', %d, %d, 0, '')`
	for _, c := range [][2]int{{2, 24312}, {3, 24312}, {3, 24313}} {
		execute(t, text, fmt.Sprintf(charge, c[0], c[1]))
	}
	clock := meteringtest.NewClock()
	clock.Advance(time.Date(2026, time.February, 20, 0, 0, 0, 0, time.UTC).Sub(clock.Now())) // the second of those months
	store := openTest(t, text, postgres.Config{Plans: meteringtest.Plans(), Clock: clock.Now})
	defer func() { require.NoError(t, store.Close()) }()
	for range 2 {
		begun, err := store.Begin(t.Context(), example(clock, fmt.Sprint(clock.Now())))
		require.NoError(t, err)
		_, err = store.Settle(t.Context(), *begun.Ticket, metering.Outcome{At: clock.Now()})
		require.NoError(t, err)
		clock.Advance(time.Second)
	}
	audit, err := store.Audit(t.Context())
	require.NoError(t, err)
	require.Equal(t, metering.Audit{Accounts: 1, Entries: 5, Credits: 10, Unproven: 3}, audit)
	conn, err := pgx.Connect(t.Context(), text)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), fmt.Sprintf(charge, 1, 24313))
	require.ErrorContains(t, err, `null value in column "ceiling"`)
	require.NoError(t, conn.Close(t.Context()))
}
