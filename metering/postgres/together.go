package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/diagkit/diagkit/metering"
)

// When many accounts charge now and then, each separate charge costs a round trip, a statement and a flush of the
// disk. Therefore single jobs of several accounts share one statement. Busy accounts, whose groups are larger, have
// separate transactions, so that no other account waits behind them. The shared statements skip locked rows, so that
// no account waits for another, and an account is in at most one of them at a time, since its lane waits for it.

// together runs jobs of several accounts, one statement at a time, as a larger one costs less than several at once. If
// a job makes it fail, each runs alone.
func together[In, Out any](send func(context.Context, []*job[In, Out]) error) func(*group[In, Out]) {
	return func(g *group[In, Out]) {
		ctx, cancel := working()
		defer cancel()
		err := send(ctx, g.jobs)
		if err == nil {
			return
		}
		g.fail(err)
		if len(g.jobs) == 1 || errors.Is(unavailable(err), metering.ErrUnavailable) {
			return
		}
		for i, j := range g.jobs {
			j.err = send(ctx, g.jobs[i:i+1])
		}
	}
}

// promise is a grant to an account on known terms.
type promise struct {
	account metering.AccountID
	period  metering.Period
	terms   terms
	beyond  int64 // 1 beyond the allowance
	grants  grants
}

// grantAtOnce makes promises in one statement, and returns which were made.
func (s *Store) grantAtOnce(ctx context.Context, sql string, jobs []*job[*promise, bool]) error {
	var accounts []string
	var periods []int32
	var numbers [8][]int64
	var owners []int64 // of the holds, counted from 1
	var holds grantColumns
	for i, j := range jobs {
		p, c := j.in, j.in.grants.columns()
		accounts, periods = append(accounts, string(p.account)), append(periods, monthNumber(p.period))
		l := p.terms.limits
		for k, n := range [...]int64{
			p.grants.sum.Credits, p.terms.version, l.Allowance, l.Rate, l.Budget, p.beyond, p.terms.ceiling, c.lapse,
		} {
			numbers[k] = append(numbers[k], n)
		}
		for range c.tokens {
			owners = append(owners, int64(i+1))
		}
		holds.tokens, holds.credits = append(holds.tokens, c.tokens...), append(holds.credits, c.credits...)
		holds.leases, holds.parts = append(holds.leases, c.leases...), append(holds.parts, c.parts...)
	}
	args := []any{micros(s.clock()), accounts, periods}
	for _, list := range numbers {
		args = append(args, list)
	}
	rows, err := s.pool.Query(ctx, sql, append(args, owners, holds.tokens, holds.credits, holds.leases, holds.parts)...)
	if err != nil {
		return err
	}
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&n}, func() error { jobs[n-1].out = true; return nil })
	return err
}

// single is the only charge of an account.
type single struct {
	account metering.AccountID
	charges *charges
}

// settleSingles charges in one statement, and returns the sums of those that were charged.
func (s *Store) settleSingles(ctx context.Context, jobs []*job[single, *settledSum]) error {
	var accounts, keys, endpoints, requests, forms []string
	var periods []int32
	var tokens, at []int64
	var uses []bool
	of := make(map[string]*job[single, *settledSum], len(jobs))
	for _, j := range jobs {
		account, c := string(j.in.account), j.in.charges
		of[account] = j
		t := &c.jobs[c.tokens[0]].in.ticket
		accounts, keys, endpoints = append(accounts, account), append(keys, c.keys[0]), append(endpoints, c.endpoints[0])
		requests, tokens, at = append(requests, c.requests[0]), append(tokens, c.tokens[0]), append(at, c.at[0])
		forms = append(forms, string(metering.AppendGroup(nil, j.in.account, t.Period))+c.callerForms[0]+c.requestForms[0])
		periods, uses = append(periods, monthNumber(t.Period)), append(uses, len(c.uses) > 0)
	}
	rows, err := s.pool.Query(ctx, settleEach, micros(s.clock()), accounts, periods, tokens, keys, endpoints, at, requests,
		forms, uses)
	if err != nil {
		return err
	}
	var account string
	var sum settledSum
	_, err = pgx.ForEachRow(rows, append([]any{&account}, sum.to()...), func() error {
		of[account].out = new(sum)
		return nil
	})
	return err
}
