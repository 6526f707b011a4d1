package hold

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// Begin is the Begin of [metering.Ledger].
func (b *Book) Begin(ctx context.Context, op metering.Op) (metering.Begun, error) {
	if err := Check(op); err != nil {
		return metering.Begun{}, err
	}
	a, err := b.account(ctx, op.Account)
	if err != nil {
		return metering.Begun{}, err
	}
	if op.Idempotency == nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		return b.promise(ctx, a, op)
	}
	return b.claim(ctx, a, op)
}

// Repeat is Begin for a store that cannot write: it returns the outcome of an operation that was carried out before,
// or nothing.
func (b *Book) Repeat(ctx context.Context, op metering.Op) (metering.Begun, error) {
	if op.Idempotency == nil || Check(op) != nil {
		return metering.Begun{}, nil
	}
	id := ClaimOf(&op)
	if b.source.Absent(id) {
		return metering.Begun{}, nil
	}
	record, err := b.source.Reply(ctx, id)
	switch {
	case errors.Is(err, metering.ErrNotFound), err == nil && !b.kept(&record, op.Now):
		return metering.Begun{}, nil
	case err != nil:
		return metering.Begun{}, err
	}
	return b.replay(ctx, op, record)
}

// Check refuses an operation that no caller should have made.
func Check(op metering.Op) error {
	switch {
	case op.Credits < 1:
		return fmt.Errorf("holding %d credits: a price is at least 1", op.Credits)
	case !op.Lease.After(op.Now) || op.Lease.Sub(op.Now) > metering.ClaimLease:
		return fmt.Errorf("holding credits from %v until %v: a lease is at most %v", op.Now, op.Lease, metering.ClaimLease)
	case (op.Idempotency == nil) != (op.Fingerprint == nil):
		return errors.New("an idempotency key and a fingerprint come together")
	default:
		return nil
	}
}

// claim begins an operation that has an idempotency key. A kept reply is looked up before the quota, so that it
// survives an exhausted one, and outside the lock, because that may read a disk.
func (b *Book) claim(ctx context.Context, a *account, op metering.Op) (metering.Begun, error) {
	now := b.clock()
	id := ClaimOf(&op)
	for {
		a.mu.Lock()
		before := b.settlements(id).Load()
		if err := a.claimedBy(id, *op.Fingerprint, now); err != nil {
			a.mu.Unlock()
			return metering.Begun{}, err
		}
		if b.source.Absent(id) {
			begun, err := b.promise(ctx, a, op)
			a.mu.Unlock()
			return begun, err
		}
		a.mu.Unlock()

		record, err := b.source.Reply(ctx, id)
		if err != nil && !errors.Is(err, metering.ErrNotFound) {
			return metering.Begun{}, err
		}
		if err == nil && b.kept(&record, op.Now) {
			return b.replay(ctx, op, record)
		}

		a.mu.Lock()
		if b.settlements(id).Load() == before {
			err := a.claimedBy(id, *op.Fingerprint, now)
			var begun metering.Begun
			if err == nil {
				begun, err = b.promise(ctx, a, op)
			}
			a.mu.Unlock()
			return begun, err
		}
		a.mu.Unlock() // a record was written since the lookup, perhaps this one: repeat it
	}
}

// claimedBy refuses a claim that another request holds. The same key for another request is a fault
// of the caller whether or not the first has finished.
func (a *account) claimedBy(id ClaimID, fingerprint [32]byte, now time.Time) error {
	c, ok := a.claims[id]
	if !ok {
		return nil
	}
	if p := a.holds[c.token]; !p.settling && !now.Before(p.lease) {
		a.remove(c.token, p)
		return nil
	}
	if c.fingerprint != fingerprint {
		return metering.ErrMismatch
	}
	return metering.ErrInFlight
}

func (b *Book) replay(ctx context.Context, op metering.Op, record Record) (metering.Begun, error) {
	if record.Fingerprint != *op.Fingerprint {
		return metering.Begun{}, metering.ErrMismatch
	}
	if record.Reply.Form == metering.GoneReply {
		return metering.Begun{}, metering.ErrReplyGone
	}
	balance, err := b.Balance(ctx, op.Account, metering.PeriodOf(op.Now))
	if err != nil {
		return metering.Begun{}, err
	}
	replay := &metering.Replay{RequestID: record.RequestID, Reply: record.Reply, Balance: balance}
	return metering.Begun{Replay: replay}, nil
}

// promise holds the price under the lock of the account.
func (b *Book) promise(ctx context.Context, a *account, op metering.Op) (metering.Begun, error) {
	period := metering.PeriodOf(op.Now)
	id := a.record.PlanIn(period)
	plan, ok := b.plans.In(period)[id]
	if !ok {
		return metering.Begun{}, fmt.Errorf("account %s: plan %q is not in the price list", a.id, id)
	}
	m, err := a.month(ctx, b.source, period)
	if err != nil {
		return metering.Begun{}, err
	}
	limits := plan.Limits(a.record)
	overage, rate, ok := limits.Admit(m.taken(), op.Credits)
	if !ok || overage > 0 { // lapsed holds return their part of the allowance
		a.lapse(b.clock())
		overage, rate, ok = limits.Admit(m.taken(), op.Credits)
	}
	taken := m.taken()
	if !ok || a.record.Suspension != nil {
		return metering.Begun{}, limits.Refuse(a.record, plan, taken, op.Credits)
	}
	token := b.token.Add(1)
	p := promise{month: m, parts: Parts{op.Credits, overage, rate, limits.Ceiling(taken)}, lease: op.Lease}
	if op.Idempotency != nil {
		p.claimed = true
		p.claim = ClaimOf(&op)
		a.claims[p.claim] = claim{token: token, fingerprint: *op.Fingerprint}
	}
	a.add(token, p)
	return metering.Begun{Ticket: &metering.Ticket{
		Op: op, Token: token, Period: period, Overage: overage, OverageRate: rate,
	}}, nil
}
