package sqlite

import (
	"errors"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/internal/hold"
	"github.com/diagkit/diagkit/metering/sqlitedb"
)

const (
	// checkpointPages is the size of the log at which its pages are moved to the database: about 4 MB. A longer log
	// moves slightly fewer pages, but a short one is soon overwritten instead of extended, and the disk flushes
	// overwritten pages faster.
	checkpointPages = 8000
	// maxNames bounds the cached names. Accounts, keys and endpoints are some thousands.
	maxNames = 1 << 18
	// blockSize is the number of ledger rows per entry of ledger_blocks. It is part of the layout of the file.
	blockSize = 4096
	// spareSums is how many sums are kept for reuse, with their grown buffers.
	spareSums = 64
	// useResolution is the resolution of the last use of a key: a busy key is not written for each charge.
	useResolution = time.Second
)

// writer is the only connection that writes. It belongs to one goroutine.
type writer struct {
	conn *sqlite.Conn
	file *sqlitedb.File

	begin, commit       *sqlite.Stmt
	entry, balance, use *sqlite.Stmt
	reply, drop, block  *sqlite.Stmt
	// What is known to be in the database, by number of the name. A transaction that fails takes
	// back what it has added.
	names   map[string]int64
	fresh   []string // names of the transaction under way
	callers map[callerNames]*caller
	blocks  map[int64]int64           // the last block of an account
	used    map[int64]int64           // the last use of a key that was written
	chains  map[sumKey]metering.Chain // the newest link of a month
	// The batches, rows and sums of the transaction under way.
	group   []*batch
	rows    []row
	sums    map[sumKey]*sum
	spare   []*sum // of transactions before
	bound   bound
	parts   partsForm // of the last charge
	uses    map[int64]int64
	kept    []keptBody
	changes []int64 // sequence numbers
	header  []byte
	// The bodies that are kept, and those that the next transaction drops.
	bodies hold.Bodies[int64, int64]
	excess []keptBody
}

func newWriter(file *sqlitedb.File, conn *sqlite.Conn) (*writer, error) {
	w := &writer{
		conn: conn, file: file, names: make(map[string]int64), blocks: make(map[int64]int64),
		used: make(map[int64]int64), sums: make(map[sumKey]*sum), uses: make(map[int64]int64),
		chains: make(map[sumKey]metering.Chain), callers: make(map[callerNames]*caller),
	}
	if err := sqlitedb.Pragmas(conn,
		fmt.Sprintf("wal_autocheckpoint = %d", checkpointPages),
		"journal_size_limit = 67108864", // a log that had to grow is cut again
		"cache_size = -16384",           // KiB
	); err != nil {
		return nil, err
	}
	for stmt, sql := range map[**sqlite.Stmt]string{
		&w.begin:  "BEGIN IMMEDIATE",
		&w.commit: "COMMIT",
		&w.entry: `INSERT INTO ledger
			(account, period, key, endpoint, credits, overage, rate, ceiling, at, request, chain)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)`,
		&w.balance: `INSERT INTO balances (account, period, used, charges, peak, overage, micros, chain)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
			ON CONFLICT DO UPDATE SET used = used + ?3, charges = charges + ?4, peak = max(peak, ?5),
				overage = overage + ?6, micros = micros + ?7, chain = ?8`,
		&w.use: `INSERT INTO key_uses (key, at) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET at = max(at, ?2)`,
		&w.reply: `INSERT INTO replies
			(tag, expires, key, status, form, hash, fingerprint, request, header, body, bytes)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)`,
		&w.block: "INSERT OR IGNORE INTO ledger_blocks (account, block) VALUES (?1, ?2)",
		&w.drop:  "UPDATE replies SET form = ?1, header = x'', body = x'', bytes = 0 WHERE id = ?2 AND key = ?3",
	} {
		s, err := conn.Prepare(sql)
		if err != nil {
			return nil, err
		}
		*stmt = s
	}
	return w, nil
}

// close empties the log and closes the connection.
func (w *writer) close() error {
	err := sqlitex.ExecuteTransient(w.conn, "PRAGMA wal_checkpoint(PASSIVE)", nil)
	return errors.Join(err, w.conn.Close())
}

// write is the writer's goroutine.
func (s *Store) write() {
	w := s.writer
	for first := s.queue.take(); first != nil; first = s.queue.take() {
		err := w.transact(first, &s.queue)
		if err = unavailable(err); errors.Is(err, metering.ErrUnavailable) {
			s.health.set(err)
		}
		for _, b := range w.group {
			b.end(err)
		}
		if err == nil && len(w.changes) > 0 {
			s.news.publish(w.changes)
		}
		for _, b := range w.group {
			close(b.done) // from here on the jobs belong to their waiters
		}
		clear(w.group)
	}
}

// end sets the outcome of the transaction on all jobs.
func (b *batch) end(err error) {
	for _, j := range b.jobs {
		switch {
		case err != nil:
			j.err = err
		case j.err == nil && j.after != nil:
			j.after()
		}
	}
}

// transact writes a batch, and those that arrive while it is being written, in one transaction: all of it or nothing.
// Its batches are in w.group. An act of administration that is refused reports that to its own caller only.
func (w *writer) transact(first *batch, q *queue) error {
	w.changes = w.changes[:0]
	w.kept = w.kept[:0]
	w.group = append(w.group[:0], first)
	if err := run(w.begin); err != nil {
		return err
	}
	err := w.fill(first, q)
	if err == nil {
		err = w.file.Check() // writes to a removed file are lost
	}
	if err == nil {
		err = run(w.commit)
	}
	for k, s := range w.sums {
		delete(w.sums, k)
		if len(w.spare) < spareSums {
			w.spare = append(w.spare, s)
		}
	}
	clear(w.uses)
	clear(w.rows)
	w.rows = w.rows[:0]
	if err != nil {
		err = errors.Join(err, w.rollback())
	} else {
		w.count()
	}
	w.fresh = w.fresh[:0]
	return err
}

// fill writes the jobs, and the sums of them all.
func (w *writer) fill(first *batch, q *queue) error {
	jobs, bytes := 0, 0
	for b := first; ; w.group = append(w.group, b) {
		for _, j := range b.jobs {
			if err := w.do(j); err != nil {
				return err
			}
		}
		jobs, bytes = jobs+len(b.jobs), bytes+b.bytes
		if b = q.join(jobs, bytes); b == nil {
			return w.sum()
		}
	}
}

// do writes one job.
func (w *writer) do(j *job) error {
	if j.act != nil {
		return w.administer(j)
	}
	return w.charge(j)
}

// remember adds to a map that must not grow without end.
func remember[K comparable, V any](known map[K]V, key K, value V) {
	if len(known) >= maxNames {
		clear(known)
	}
	known[key] = value
}

// rollback undoes the transaction, unless SQLite has done so itself, and drops its additions to the caches.
func (w *writer) rollback() error {
	for _, name := range w.fresh {
		delete(w.names, name)
	}
	clear(w.callers)
	clear(w.blocks)
	clear(w.used)
	clear(w.chains)
	if w.conn.AutocommitEnabled() {
		return nil
	}
	return sqlitex.ExecuteTransient(w.conn, "ROLLBACK", nil)
}

// administer runs an act inside a savepoint, so that a refusal leaves no half of it behind. It
// returns only errors after which the transaction cannot go on.
func (w *writer) administer(j *job) error {
	changes := len(w.changes)
	if err := sqlitedb.Exec(w.conn, "SAVEPOINT act", nil); err != nil {
		return err
	}
	if j.err = j.act(w); j.err != nil {
		w.changes = w.changes[:changes]
		if w.conn.AutocommitEnabled() {
			return j.err // SQLite gave up the whole transaction
		}
		if err := sqlitedb.Exec(w.conn, "ROLLBACK TO act", nil); err != nil {
			return err
		}
	}
	return sqlitedb.Exec(w.conn, "RELEASE act", nil)
}

// intern returns the number of a name, assigning one to a new name.
func (w *writer) intern(name string) (int64, error) {
	if id, ok := w.names[name]; ok {
		return id, nil
	}
	var id int64
	found, err := sqlitedb.Get(w.conn, "SELECT id FROM names WHERE name = ?1", sqlitedb.Args(name), &id)
	if err == nil && !found {
		err = sqlitedb.Exec(w.conn, "INSERT INTO names (name) VALUES (?1)", sqlitedb.Args(name))
	}
	if err != nil {
		return 0, err
	}
	if !found {
		id = w.conn.LastInsertRowID()
		w.fresh = append(w.fresh, name)
	}
	remember(w.names, name, id)
	return id, nil
}

// bind binds numbers to the parameters of a statement from one on.
func bind(stmt *sqlite.Stmt, first int, numbers ...int64) {
	for i, n := range numbers {
		stmt.BindInt64(first+i, n)
	}
}

// run steps a statement that returns no rows, and resets it for the next use.
func run(stmt *sqlite.Stmt) error {
	if _, err := stmt.Step(); err != nil {
		return err
	}
	return stmt.Reset()
}

// count adds the bodies of a transaction that is durable now.
func (w *writer) count() {
	w.excess = w.excess[:0]
	for _, k := range w.kept {
		for _, id := range w.bodies.Add(k.line, k.id, k.bytes, instant(k.at), instant(k.expires), k.limit) {
			w.excess = append(w.excess, keptBody{line: k.line, id: id})
		}
	}
}
