package sqlite

import (
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/internal/hold"
	"github.com/diagkit/diagkit/metering/sqlitedb"
)

type sumKey struct{ account, period int64 }

// sum is the total of the charges of a month.
type sum struct {
	hold.Month
	peak  int64
	form  []byte // of the rows; see [metering.AppendGroup]
	last  int    // of the rows
	chain metering.Chain
}

// callerNames identify the caller and the operation of a charge.
type callerNames struct {
	account  metering.AccountID
	key      metering.KeyID
	endpoint string
}

// caller is the numbers of the names and their form.
type caller struct {
	account, key, endpoint int64
	form                   []byte
}

// partsForm is the form of parts, which are the same for most charges.
type partsForm struct {
	of   hold.Parts
	form []byte
}

// row is a charge that is written when it is known which is the last of its group.
type row struct {
	job    *job
	caller *caller
	sum    *sum
}

// charge writes the reply of one charge, and adds it to the rows and sums that are written at the end.
func (w *writer) charge(j *job) error {
	t := &j.ticket
	c, err := w.caller(callerNames{t.Account, t.Key, t.Endpoint})
	if err != nil {
		return err
	}
	s := w.summing(sumKey{c.account, j.settling.Period.Number()})
	s.Month = s.Plus(1, j.settling.Parts)
	s.peak = max(s.peak, j.settling.Ceiling)
	if len(s.form) == 0 {
		s.form = metering.AppendGroup(s.form, t.Account, j.settling.Period)
	}
	e := j.settling.Entry(t, instant(j.at))
	if w.parts.form == nil || w.parts.of != j.settling.Parts {
		w.parts = partsForm{j.settling.Parts, e.AppendParts(w.parts.form[:0])}
	}
	s.form = append(e.AppendRequest(append(s.form, c.form...)), w.parts.form...)
	s.last = len(w.rows)
	w.rows = append(w.rows, row{j, c, s})
	if j.at >= w.used[c.key]+useResolution.Microseconds() {
		w.uses[c.key] = max(w.uses[c.key], j.at)
	}
	if j.reply == nil {
		return nil
	}
	line := c.key
	if t.Line != "" {
		if line, err = w.intern(string(t.Line)); err != nil {
			return err
		}
	}
	return w.keep(j, line)
}

// caller returns the state of a caller.
func (w *writer) caller(n callerNames) (c *caller, err error) {
	if c, ok := w.callers[n]; ok {
		return c, nil
	}
	e := metering.Entry{Account: n.account, Key: n.key, Endpoint: n.endpoint}
	c = &caller{form: e.AppendCaller(nil)}
	if c.account, err = w.intern(string(n.account)); err != nil {
		return nil, err
	}
	if c.key, err = w.intern(string(n.key)); err != nil {
		return nil, err
	}
	if c.endpoint, err = w.intern(n.endpoint); err != nil {
		return nil, err
	}
	remember(w.callers, n, c)
	return c, nil
}

// summing returns the sum of a month in the transaction under way.
func (w *writer) summing(k sumKey) *sum {
	s := w.sums[k]
	if s == nil {
		s = new(sum)
		if n := len(w.spare); n > 0 {
			s, w.spare = w.spare[n-1], w.spare[:n-1]
			*s = sum{form: s.form[:0]}
		}
		w.sums[k] = s
	}
	return s
}

// mark notes that an account has charges in a block of the ledger.
func (w *writer) mark(account, block int64) error {
	if last, ok := w.blocks[account]; ok && last == block {
		return nil
	}
	bind(w.block, 1, account, block)
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
	s.chain = last.LinkForm(s.form)
	bind(w.balance, 1, k.account, k.period, s.Used, s.Charges, s.peak, s.Overage, s.Micros)
	w.balance.BindBytes(8, s.chain[:])
	remember(w.chains, k, s.chain)
	return run(w.balance)
}

// chain is the newest link of a month.
func (w *writer) chain(k sumKey) (c metering.Chain, err error) {
	if c, ok := w.chains[k]; ok {
		return c, nil
	}
	_, err = sqlitedb.Get(w.conn, "SELECT chain FROM balances WHERE account = ?1 AND period = ?2",
		sqlitedb.Args(k.account, k.period), &c)
	return c, err
}

// bound holds the parameters that the insert statement still has from the last row.
type bound struct {
	sum    *sum
	caller *caller
	parts  hold.Parts
	block  int64
}

// append writes a row of the ledger. What it has in common with the one before is still bound.
func (w *writer) append(i int) error {
	r := &w.rows[i]
	s := &r.job.settling
	if r.sum != w.bound.sum {
		bind(w.entry, 1, r.caller.account, s.Period.Number())
	}
	if r.caller != w.bound.caller {
		bind(w.entry, 3, r.caller.key, r.caller.endpoint)
	}
	if s.Parts != w.bound.parts {
		bind(w.entry, 5, s.Credits, s.Overage, s.Rate, s.Ceiling)
	}
	w.entry.BindInt64(9, r.job.at)
	w.entry.BindText(10, r.job.ticket.RequestID)
	if i == r.sum.last {
		w.entry.BindBytes(11, r.sum.chain[:])
	} else {
		w.entry.BindNull(11)
	}
	if err := run(w.entry); err != nil {
		return err
	}
	last := w.bound
	w.bound = bound{r.sum, r.caller, s.Parts, w.conn.LastInsertRowID() / blockSize}
	if last.sum == r.sum && last.block == w.bound.block {
		return nil
	}
	return w.mark(r.caller.account, w.bound.block)
}

// keptBody is the body of a reply: its row, and the line of keys that it is kept for.
type keptBody struct {
	line, id    int64
	bytes       int
	at, expires int64
	limit       int64
}

// keep writes the reply of a charge for a line of keys.
func (w *writer) keep(j *job, line int64) error {
	w.header = hold.AppendHeader(w.header[:0], j.reply.Header)
	expires := j.at + metering.ReplayWindow.Microseconds()
	bind(w.reply, 1, int64(j.tag), expires, line, int64(j.reply.Status), int64(j.reply.Form))
	w.reply.BindBytes(6, j.ticket.Idempotency[:])
	w.reply.BindBytes(7, j.ticket.Fingerprint[:])
	w.reply.BindText(8, j.ticket.RequestID)
	w.reply.BindBytes(9, w.header)
	w.reply.BindBytes(10, j.reply.Body)
	w.reply.BindInt64(11, int64(len(j.reply.Body)))
	if err := run(w.reply); err != nil {
		return err
	}
	w.kept = append(w.kept, keptBody{
		line: line, id: w.conn.LastInsertRowID(), bytes: len(j.reply.Body), at: j.at, expires: expires,
		limit: j.ticket.KeptBytes,
	})
	return nil
}

// dropBodies drops those for which the last transaction left no room. Their claims stay.
func (w *writer) dropBodies() error {
	for _, k := range w.excess {
		bind(w.drop, 1, int64(metering.GoneReply), k.id, k.line)
		if err := run(w.drop); err != nil {
			return err
		}
	}
	return nil
}

// sum writes the totals of the jobs, and drops the bodies that exceeded the bound after the last transaction.
func (w *writer) sum() error {
	if err := w.dropBodies(); err != nil {
		return err
	}
	for k, s := range w.sums {
		if err := w.total(k, s); err != nil {
			return err
		}
	}
	w.bound = bound{} // a sum may be one of a transaction before
	for i := range w.rows {
		if err := w.append(i); err != nil {
			return err
		}
	}
	for key, at := range w.uses {
		bind(w.use, 1, key, at)
		if err := run(w.use); err != nil {
			return err
		}
		remember(w.used, key, at)
	}
	return nil
}
