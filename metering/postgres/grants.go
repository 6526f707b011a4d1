package postgres

import (
	"math"
	"math/rand/v2"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/diagkit/diagkit/metering"
)

// grants are tickets of one account and period, granted within the same limits.
type grants struct {
	limits  metering.Limits
	ceiling int64
	beyond  bool           // the next grants are beyond the allowance
	sum     metering.Taken // the total
	tickets []*metering.Ticket
}

// add grants an operation.
func (r *grants) add(op *metering.Op, p metering.Period, overage, rate int64) *metering.Ticket {
	t := &metering.Ticket{Op: *op, Token: rand.Uint64() >> 1, Period: p, Overage: overage, OverageRate: rate}
	r.tickets = append(r.tickets, t)
	r.sum = r.sum.Plus(op.Credits, overage, rate)
	return t
}

// queue adds the statement that writes the grants, if there are any.
func (r *grants) queue(batch *pgx.Batch, g *group[metering.Op, metering.Begun]) {
	if len(r.tickets) == 0 {
		return
	}
	c := r.columns()
	sql, args := addHolds, []any{g.account, monthNumber(g.period), r.ceiling, r.sum.Credits, r.sum.Overage, r.sum.Micros,
		c.lapse, c.tokens, c.credits, c.overages, c.rates, c.leases, c.parts}
	if c.claims {
		sql, args = addClaims, append(args, c.lines, c.hashes, c.fingerprints)
	}
	batch.Queue(sql, args...)
}

// grantColumns are the columns of tickets to insert.
type grantColumns struct {
	tokens, credits, overages, rates, leases []int64
	lapse                                    int64 // the first of the leases
	parts                                    []string
	claims                                   bool // there are some
	lines                                    []*string
	hashes, fingerprints                     [][]byte
}

func (r *grants) columns() (c grantColumns) {
	n := len(r.tickets)
	numbers := make([]int64, 5*n)
	c.tokens, c.credits, c.overages = numbers[:n], numbers[n:2*n], numbers[2*n:3*n]
	c.rates, c.leases = numbers[3*n:4*n], numbers[4*n:]
	c.lapse = math.MaxInt64
	form, ends := make([]byte, 0, 48*n), make([]int, n)
	for i, t := range r.tickets {
		c.tokens[i], c.credits[i], c.overages[i], c.rates[i] = int64(t.Token), t.Credits, t.Overage, t.OverageRate
		c.leases[i] = micros(t.Lease)
		c.lapse = min(c.lapse, c.leases[i])
		e := metering.Entry{
			Credits: t.Credits, Period: t.Period, Overage: t.Overage, OverageRate: t.OverageRate, Ceiling: r.ceiling,
		}
		form = e.AppendParts(form)
		ends[i] = len(form)
		if t.Idempotency == nil {
			continue
		}
		if !c.claims {
			c.claims, c.lines, c.hashes, c.fingerprints = true, make([]*string, n), make([][]byte, n), make([][]byte, n)
		}
		line := string(t.Claimant())
		c.lines[i], c.hashes[i], c.fingerprints[i] = &line, t.Idempotency[:], t.Fingerprint[:]
	}
	c.parts = cut(form, ends)
	return c
}

// cut splits concatenated texts.
func cut(all []byte, ends []int) []string {
	text, from := string(all), 0
	list := make([]string, len(ends))
	for i, end := range ends {
		list[i], from = text[from:end], end
	}
	return list
}

// terms are the limits of an account in a month while it has this version, and whether it is beyond its allowance.
type terms struct {
	period  metering.Period
	version int64
	limits  metering.Limits
	ceiling int64
	beyond  bool
}

// maxTerms bounds the accounts whose terms are remembered.
const maxTerms = 1 << 16

// knownTerms are those of accounts whose last group was granted. They need not be correct: the statement that uses
// them checks them.
type knownTerms struct {
	mu sync.Mutex
	of map[metering.AccountID]terms
}

// take forgets the terms of an account and returns them.
func (k *knownTerms) take(id metering.AccountID) (terms, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t, ok := k.of[id]
	delete(k.of, id)
	return t, ok
}

func (k *knownTerms) put(id metering.AccountID, t terms) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of == nil || len(k.of) >= maxTerms {
		k.of = make(map[metering.AccountID]terms)
	}
	k.of[id] = t
}
