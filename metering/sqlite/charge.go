package sqlite

import (
	"zombiezen.com/go/sqlite"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/hold"
	"github.com/diagkit/diagkit/metering/sqlitedb"
)

type sumKey struct{ account, period int64 }

// sum is what the charges of a month add up to.
type sum struct {
	hold.Month
	peak  int64
	forms [][]byte // of the rows; see [metering.Entry.AppendForm]
	chain metering.Chain
}

// row is a charge that is written when the link of its group is known.
type row struct {
	job                    *job
	account, key, endpoint int64
	sum                    *sum
}

// charge writes the reply of one charge, and adds it to the rows and sums that are written at the end.
func (w *writer) charge(j *job) error {
	t := &j.ticket
	account, err := w.intern(string(t.Account))
	if err != nil {
		return err
	}
	key, err := w.intern(string(t.Key))
	if err != nil {
		return err
	}
	endpoint, err := w.intern(t.Endpoint)
	if err != nil {
		return err
	}
	k := sumKey{account, monthNumber(j.settling.Period)}
	s := w.sums[k]
	if s == nil {
		s = new(sum)
		if n := len(w.spare); n > 0 {
			s, w.spare = w.spare[n-1], w.spare[:n-1]
			*s = sum{forms: s.forms[:0]}
		}
		w.sums[k] = s
	}
	s.Month = s.Plus(1, j.settling.Parts)
	s.peak = max(s.peak, j.settling.Ceiling)
	entry, from := j.settling.Entry(t, instant(j.at)), len(w.forms)
	w.forms = entry.AppendForm(w.forms)
	s.forms = append(s.forms, w.forms[from:len(w.forms):len(w.forms)])
	w.rows = append(w.rows, row{j, account, key, endpoint, s})
	if j.at >= w.used[key]+useResolution.Microseconds() {
		w.uses[key] = max(w.uses[key], j.at)
	}
	if j.reply == nil {
		return nil
	}
	line := key
	if t.Line != "" {
		if line, err = w.intern(string(t.Line)); err != nil {
			return err
		}
	}
	return w.keep(j, line)
}

// mark notes that an account has charges in a block of the ledger.
func (w *writer) mark(account, block int64) error {
	if last, ok := w.blocks[account]; ok && last == block {
		return nil
	}
	w.block.BindInt64(1, account)
	w.block.BindInt64(2, block)
	if err := run(w.block); err != nil {
		return err
	}
	remember(w.blocks, account, block)
	return nil
}

// total links the charges of a month to its chain, and writes the balance.
func (w *writer) total(k sumKey, s *sum) error {
	last, err := w.chain(k)
	if err != nil {
		return err
	}
	s.chain = last.LinkForms(s.forms)
	w.balance.BindInt64(1, k.account)
	w.balance.BindInt64(2, k.period)
	w.balance.BindInt64(3, s.Used)
	w.balance.BindInt64(4, s.Charges)
	w.balance.BindInt64(5, s.peak)
	w.balance.BindInt64(6, s.Overage)
	w.balance.BindInt64(7, s.Micros)
	w.balance.BindBytes(8, s.chain[:])
	remember(w.chains, k, s.chain)
	return run(w.balance)
}

// chain is the newest link of a month.
func (w *writer) chain(k sumKey) (c metering.Chain, err error) {
	if c, ok := w.chains[k]; ok {
		return c, nil
	}
	err = sqlitedb.Rows(w.conn, "SELECT chain FROM balances WHERE account = ?1 AND period = ?2",
		func(stmt *sqlite.Stmt) {
			stmt.BindInt64(1, k.account)
			stmt.BindInt64(2, k.period)
		},
		func(stmt *sqlite.Stmt) error { stmt.ColumnBytes(0, c[:]); return nil })
	return c, err
}

// append writes a row of the ledger.
func (w *writer) append(r *row) error {
	s, stmt, linked := &r.job.settling, w.included, &w.linked[0]
	if s.Overage > 0 {
		stmt, linked = w.entry, &w.linked[1]
		stmt.BindInt64(10, s.Overage)
		stmt.BindInt64(11, s.Rate)
	}
	if *linked != r.sum { // else it is still bound
		stmt.BindBytes(9, r.sum.chain[:])
		*linked = r.sum
	}
	stmt.BindInt64(1, r.account)
	stmt.BindInt64(2, r.key)
	stmt.BindInt64(3, r.endpoint)
	stmt.BindInt64(4, s.Credits)
	stmt.BindInt64(5, monthNumber(s.Period))
	stmt.BindInt64(6, r.job.at)
	stmt.BindText(7, r.job.ticket.RequestID)
	stmt.BindInt64(8, s.Ceiling)
	if err := run(stmt); err != nil {
		return err
	}
	return w.mark(r.account, w.conn.LastInsertRowID()/blockSize)
}
