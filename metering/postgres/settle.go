package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/internal/hold"
)

// A Settle is one statement of several parts: only rows that are locked in holds, and then deleted, are charged, so
// that a ticket cannot be charged twice, and nothing that lapsed is charged. The period, the credits and the claim are
// those of the hold: the fields of a ticket are not trusted with money. It charges the first month in which holds are
// found; others are for the next run.
//
// Holds are found one by one, and then removed by their ctid: however few rows PostgreSQL estimates for the table, it
// cannot choose to scan all holds of the account instead. They are never updated, so they do not move; one that
// another transaction removes meanwhile is not returned.
const (
	settleHolds = `WITH found AS (
		SELECT h.*, c.* FROM unnest($2::bigint[], $4::integer[], $5::bigint[], $6::text[], $7::text[]`
	settleHoldsAs = `) AS c (wanted, caller, at, request, row`
	settleCharge  = `),
		LATERAL (SELECT ctid AS place, period FROM holds
			WHERE account = $1 AND token = c.wanted AND lease > $3 OFFSET 0) h
	), gone AS (
		DELETE FROM holds h USING found f
		WHERE h.account = $1 AND h.ctid = f.place AND f.period = (SELECT min(period) FROM found)
		RETURNING h.token, h.period, h.credits, h.overage, h.rate, h.ceiling, h.line, h.hash, h.fingerprint,
			f.at, f.request, ($9::text[])[f.caller] AS key, ($10::text[])[f.caller] AS endpoint,
			($12::text[])[f.caller] || f.row || h.parts AS form`
	settleTotals = `
	), done AS MATERIALIZED (
		SELECT * FROM gone ORDER BY token
	), totals AS (
		SELECT min(period) AS period, sum(credits) AS used, count(*) AS charges, sum(overage) AS overage,
			sum(overage * rate) AS micros, max(ceiling) AS peak, max(token) AS last,
			sha256(convert_to($11::text || length(min(period)::text) || ':' || min(period) || string_agg(form, ''),
				'UTF8')) AS digest
		FROM done HAVING count(*) > 0
	), sums AS (
		INSERT INTO balances AS b (account, period, used, charges, overage, micros, peak, chain)
		SELECT $1, period, used, charges, overage, micros, peak, sha256(` + noChain + ` || digest) FROM totals
		ON CONFLICT (account, period) DO UPDATE SET used = b.used + excluded.used, charges = b.charges + excluded.charges,
			overage = b.overage + excluded.overage, micros = b.micros + excluded.micros,
			peak = greatest(b.peak, excluded.peak),
			chain = sha256(coalesce(b.chain, ` + noChain + `) || (SELECT digest FROM totals))
		RETURNING period, used, charges, overage, micros, chain
	), charges AS (
		INSERT INTO ledger (account, key, endpoint, credits, period, at, request, overage, rate, ceiling, chain)
		SELECT $1, d.key, d.endpoint, d.credits, d.period, d.at, d.request, d.overage, d.rate, d.ceiling,
			CASE d.token WHEN (SELECT last FROM totals) THEN s.chain END
		FROM sums s, done d
	)`
	replyColumns = ", status, kind, header, body"
	noChain      = `'\x0000000000000000000000000000000000000000000000000000000000000000'::bytea`
	settleUses   = `, uses AS (
		INSERT INTO key_uses AS u (account, key, at)
		SELECT $1, key, max(at) FROM done WHERE key = ANY ($8::text[]) GROUP BY key ORDER BY key
		ON CONFLICT (account, key) DO UPDATE SET at = greatest(u.at, excluded.at)
	)`
	settleReplies = `, kept AS (
		INSERT INTO replies (account, line, hash, expires, status, form, fingerprint, request, header, body, bytes)
		SELECT $1, line, hash, at + $13, status, kind, fingerprint, request, header, body, length(body)
		FROM done WHERE kind >= 0 AND hash IS NOT NULL
		RETURNING line, bytes
	), room AS (
		INSERT INTO lines AS l (account, line, bytes)
		SELECT $1, line, sum(bytes) FROM kept WHERE bytes > 0 GROUP BY line ORDER BY line
		ON CONFLICT (account, line) DO UPDATE SET bytes = l.bytes + excluded.bytes
		RETURNING line, bytes
	)`
	settleResult = `
		SELECT s.period, s.used, s.charges, s.overage, s.micros, a.plan, a.created, a.agreement,
			coalesce((SELECT credits FROM taken WHERE account = $1 AND period = s.period), 0) - s.used,
			(SELECT array_agg(token) FROM done)`
	settleFrom = `
		FROM sums s, accounts a WHERE a.account = $1`
)

// settleEach does the same for a single charge each of several accounts, if the balance exists and neither it nor the
// hold is locked. It does nothing for others: it waits for no lock.
const settleEach = `WITH wanted AS (
		SELECT * FROM unnest($2::text[], $3::integer[], $4::bigint[], $5::text[], $6::text[], $7::bigint[], $8::text[],
			$9::text[], $10::boolean[]) AS w (account, period, token, key, endpoint, at, request, form, use)
	), found AS (
		SELECT w.*, h.place FROM wanted w,
			LATERAL (SELECT FROM balances WHERE account = w.account AND period = w.period FOR UPDATE SKIP LOCKED) b,
			LATERAL (SELECT ctid AS place FROM holds
				WHERE account = w.account AND token = w.token AND period = w.period AND lease > $1 FOR UPDATE SKIP LOCKED) h
	), done AS (
		DELETE FROM holds h USING found f WHERE h.account = f.account AND h.ctid = f.place
		RETURNING f.account, f.period, f.key, f.endpoint, f.at, f.request, f.use, h.credits, h.overage, h.rate, h.ceiling,
			f.form || h.parts AS form
	), sums AS (
		INSERT INTO balances AS b (account, period, used, charges, overage, micros, peak, chain)
		SELECT account, period, credits, 1, overage, overage * rate, ceiling, sha256(convert_to(form, 'UTF8')) FROM done
		ON CONFLICT (account, period) DO UPDATE SET used = b.used + excluded.used, charges = b.charges + 1,
			overage = b.overage + excluded.overage, micros = b.micros + excluded.micros,
			peak = greatest(b.peak, excluded.peak), chain = sha256(coalesce(b.chain, ` + noChain + `) || excluded.chain)
		RETURNING account, period, used, charges, overage, micros, chain
	), charges AS (
		INSERT INTO ledger (account, key, endpoint, credits, period, at, request, overage, rate, ceiling, chain)
		SELECT d.account, d.key, d.endpoint, d.credits, d.period, d.at, d.request, d.overage, d.rate, d.ceiling, s.chain
		FROM done d, sums s WHERE s.account = d.account
	), uses AS (
		INSERT INTO key_uses AS u (account, key, at) SELECT account, key, at FROM done WHERE use ORDER BY account, key
		ON CONFLICT (account, key) DO UPDATE SET at = greatest(u.at, excluded.at)
	)
	SELECT s.account, s.period, s.used, s.charges, s.overage, s.micros, a.plan, a.created, a.agreement,
		coalesce((SELECT credits FROM taken WHERE account = s.account AND period = s.period), 0) - s.used
	FROM sums s, LATERAL (SELECT plan, created, agreement FROM accounts WHERE account = s.account OFFSET 0) a`

// settleSQL is the statement with or without its optional parts.
func settleSQL(replies bool) string {
	if !replies {
		return settleHolds + settleHoldsAs + settleCharge + settleTotals + settleUses + settleResult +
			", NULL::text[], NULL::bigint[]" + settleFrom
	}
	return settleHolds + ", $14::integer[], $15::integer[], $16::bytea[], $17::bytea[]" + settleHoldsAs +
		replyColumns + settleCharge + replyColumns + settleTotals + settleUses + settleReplies + settleResult +
		", (SELECT array_agg(line) FROM room), (SELECT array_agg(bytes) FROM room)" + settleFrom
}

var (
	settlePlain   = settleSQL(false)
	settleReplied = settleSQL(true)
)

// settleGroup charges a group in one transaction.
func (s *Store) settleGroup(g *group[settlement, metering.Balance]) {
	ctx, cancel := working()
	defer cancel()
	// In the order of the tokens, which avoids deadlocks.
	slices.SortFunc(g.jobs, func(a, b *settling) int { return cmp.Compare(a.in.ticket.Token, b.in.ticket.Token) })
	c := s.charges(g)
	if err := s.charge(ctx, g, c); err != nil {
		g.fail(s.failure(err))
		return
	}
	s.uses.written(c.uses, c.usedAt)
	s.trim(ctx, g.account, c)
}

type settling = job[settlement, metering.Balance]

// charges are the columns of a settle statement.
type charges struct {
	tokens, at      []int64
	requests        []string
	requestForms    []string // see [metering.Entry.AppendRequest]; the rest of it is in the holds
	start           string   // of the canonical form; see [metering.AppendAccount]
	callers         []int32  // keys with an endpoint, counted from 1
	keys, endpoints []string
	callerForms     []string // see [metering.Entry.AppendCaller]
	uses            []string // keys whose last use is due to be written
	usedAt          []int64
	replies         bool
	statuses, forms []int32 // a form of -1 is no reply
	headers, bodies [][]byte
	limits, kept    map[string]int64 // of lines, in bytes
	jobs            map[int64]*settling
}

func (s *Store) charges(g *group[settlement, metering.Balance]) *charges {
	n := len(g.jobs)
	c := &charges{
		tokens: make([]int64, 0, n), at: make([]int64, 0, n), requests: make([]string, 0, n), callers: make([]int32, 0, n),
		jobs: make(map[int64]*settling, n), start: string(metering.AppendAccount(nil, g.account)),
	}
	forms, ends := make([]byte, 0, 64*n), make([]int, 0, n)
	callers := make(map[[2]string]int32)
	for _, j := range g.jobs {
		token := int64(j.in.ticket.Token)
		if c.jobs[token] != nil {
			j.err = metering.ErrLapsed // another job of the group settles it
			continue
		}
		c.jobs[token] = j
		c.replies = c.replies || j.in.reply != nil
		t := &j.in.ticket
		e := metering.Entry{RequestID: t.RequestID, Key: t.Key, Endpoint: t.Endpoint, At: instant(j.in.at)}
		forms = e.AppendRequest(forms)
		ends = append(ends, len(forms))
		caller := callers[[2]string{string(t.Key), t.Endpoint}]
		if caller == 0 {
			c.keys, c.endpoints = append(c.keys, string(t.Key)), append(c.endpoints, t.Endpoint)
			c.callerForms = append(c.callerForms, string(e.AppendCaller(nil)))
			caller = int32(len(c.keys))
			callers[[2]string{string(t.Key), t.Endpoint}] = caller
		}
		c.tokens, c.at, c.callers = append(c.tokens, token), append(c.at, j.in.at), append(c.callers, caller)
		c.requests = append(c.requests, t.RequestID)
		if s.uses.due(string(t.Key), j.in.at) && !slices.Contains(c.uses, string(t.Key)) {
			c.uses, c.usedAt = append(c.uses, string(t.Key)), append(c.usedAt, j.in.at)
		}
	}
	c.requestForms = cut(forms, ends)
	if c.replies {
		c.addReplies(g)
	}
	return c
}

func (c *charges) addReplies(g *group[settlement, metering.Balance]) {
	c.limits, c.kept = make(map[string]int64), make(map[string]int64)
	for _, j := range g.jobs {
		if j.err != nil {
			continue
		}
		status, form, header, body := int32(0), int32(-1), []byte(nil), []byte{}
		if r := j.in.reply; r != nil {
			status, form, header = int32(r.Status), int32(r.Form), hold.AppendHeader([]byte{}, r.Header)
			body = append(body, r.Body...)
			c.limits[string(j.in.ticket.Claimant())] = j.in.ticket.KeptBytes
		}
		c.statuses, c.forms = append(c.statuses, status), append(c.forms, form)
		c.headers, c.bodies = append(c.headers, header), append(c.bodies, body)
	}
}

// errForgotten is the error for a promise that vanished before its end: PostgreSQL has crashed, or a standby has taken
// its place.
var errForgotten = fmt.Errorf("%w: PostgreSQL has lost its promises: %w", metering.ErrUnavailable, metering.ErrLapsed)

// charge runs the statement and sets the balance of each job. A job that was not charged has lapsed.
func (s *Store) charge(ctx context.Context, g *group[settlement, metering.Balance], c *charges) error {
	now := s.clock()
	for _, j := range c.jobs {
		if j.err = metering.ErrLapsed; now.Before(j.in.ticket.Lease) {
			j.err = errForgotten
		}
	}
	if len(c.tokens) == 1 && !c.replies {
		sum, err := s.singleSettles.do(ctx, "", single{g.account, c})
		if err != nil {
			return err
		}
		if j := c.jobs[c.tokens[0]]; sum != nil {
			j.out, j.err = sum.balance(s)
			return nil
		}
	}
	sql := settlePlain
	args := []any{g.account, c.tokens, micros(now), c.callers, c.at, c.requests, c.requestForms, c.uses,
		c.keys, c.endpoints, c.start, c.callerForms}
	if c.replies {
		sql = settleReplied
		args = append(args, metering.ReplayWindow.Microseconds(), c.statuses, c.forms, c.headers, c.bodies)
	}
	for rest, charged := len(c.jobs), -1; rest > 0 && charged != 0; rest -= charged {
		var err error
		if charged, err = s.chargeMonth(ctx, c, sql, args); err != nil {
			return err
		}
	}
	return nil
}

// chargeMonth charges the holds found in one month, and returns how many there were.
func (s *Store) chargeMonth(ctx context.Context, c *charges, sql string, args []any) (charged int, err error) {
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return 0, err
	}
	var sum settledSum
	var tokens, bytes []int64
	var lines []string
	_, err = pgx.ForEachRow(rows, append(sum.to(), &tokens, &lines, &bytes), func() error {
		b, err := sum.balance(s)
		if err != nil {
			return err
		}
		for _, token := range tokens {
			c.jobs[token].out, c.jobs[token].err = b, nil
		}
		for i, line := range lines {
			c.kept[line] = bytes[i]
		}
		return nil
	})
	return len(tokens), err
}

// settledSum is a row of a settle statement: the sum of a month.
type settledSum struct {
	period    int32
	month     hold.Month
	plan      metering.PlanID
	created   int64
	agreement string
	held      int64
}

func (r *settledSum) to() []any {
	m := &r.month
	return []any{
		&r.period, &m.Used, &m.Charges, &m.Overage, &m.Micros, &r.plan, &r.created, &r.agreement, &r.held,
	}
}

func (r *settledSum) balance(s *Store) (metering.Balance, error) {
	a := metering.Account{Plan: r.plan, CreatedAt: instant(r.created)}
	err := readAgreement(&a, r.agreement)
	return r.month.Balance(periodOf(r.period), a, s.plans, max(0, r.held)), err
}

const (
	// useResolution is the resolution of the last use of a key: a busy key is not written for each charge.
	useResolution = time.Second
	// maxUses bounds the remembered keys.
	maxUses = 1 << 18
)

// uses is the last use of each key that this store has written.
type uses struct {
	mu sync.Mutex
	at map[string]int64
}

// due reports whether a use is due to be written.
func (u *uses) due(key string, at int64) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	last, ok := u.at[key]
	return !ok || at >= last+useResolution.Microseconds()
}

func (u *uses) written(keys []string, at []int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.at == nil || len(u.at) >= maxUses {
		u.at = make(map[string]int64)
	}
	for i, key := range keys {
		u.at[strings.Clone(key)] = at[i]
	}
}
