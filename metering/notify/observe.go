package notify

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/diagkit/diagkit/metering"
)

var _ metering.Observer = (*Deriver)(nil)

// setActive registers accounts with the hot path of charges.
func (d *Deriver) setActive(active map[metering.AccountID]bool) {
	old := *d.active.Load()
	current := make(map[metering.AccountID]*activeAccount, len(active))
	for account, is := range active {
		if !is {
			continue
		}
		if current[account] = old[account]; current[account] == nil {
			current[account] = &activeAccount{}
		}
	}
	if !maps.Equal(old, current) {
		d.active.Store(&current)
	}
}

// Settled implements [metering.Observer]. It costs a lookup in a map, and never blocks: whatever it drops is found by
// the next check.
func (d *Deriver) Settled(account metering.AccountID, b metering.Balance) {
	all := d.active.Load()
	if all == nil {
		return
	}
	w := (*all)[account]
	if w == nil {
		return
	}
	if m := w.nextMark.Load(); m != nil && m.period == b.Period && b.Used < m.used {
		return
	}
	if w.checkRequested.Swap(true) {
		return
	}
	select {
	case d.requests <- account:
	default:
		w.checkRequested.Store(false)
	}
}

// A refusal is a fact that no store keeps, with the event that reports it.
type refusal struct {
	id      string // of the event
	until   time.Time
	account metering.AccountID
	event   metering.Event
}

// Refused implements [metering.Observer]: it reports a request refused for want of credits once per account and month,
// and one refused for its rate once per key and hour, for few keys of an account.
func (d *Deriver) Refused(c *metering.Caller, err error) {
	d.init()
	at := metering.Now(d.Clock)
	if quota, ok := errors.AsType[*metering.QuotaError](err); ok {
		if quota.Reason != metering.QuotaSuspended {
			d.quotaExceeded(c, quota, at)
		}
		return
	}
	if refused, ok := errors.AsType[*metering.RefusedError](err); !ok || refused.Reason != metering.RateLimited {
		return
	}
	hour := at.Truncate(time.Hour)
	if !d.reports.due("rate/"+string(c.Key.ID), at) || !d.rateEventLimiter.Take(string(c.Account.ID), at).Allowed {
		return
	}
	id := metering.EventID(metering.EventRateLimited, string(c.Key.ID)+"/"+hour.Format(time.RFC3339))
	d.enqueue(refusal{"rate/" + string(c.Key.ID), hour.Add(time.Hour), c.Account.ID, metering.Event{
		ID: id, Type: metering.EventRateLimited, Account: c.Account.ID, At: at, Data: facts{
			Account: c.Account.ID, KeyID: c.Key.ID, KeyName: c.Key.Name, KeyPrefix: c.Key.DisplayPrefix,
			Environment: c.Key.Environment, Plan: c.Plan.ID, PerMinute: c.Plan.PerMinute,
		},
	}})
}

// Deprecated reports that a key was admitted to an endpoint by something deprecated: a scope, or the endpoint itself.
// It reports once per key, and never blocks.
func (d *Deriver) Deprecated(account metering.AccountID, key metering.KeyID, endpoint, what string) {
	d.init()
	at := metering.Now(d.Clock)
	name := "deprecated/" + string(key)
	if !d.reports.due(name, at) {
		return
	}
	d.enqueue(refusal{name, at.Add(10 * 365 * 24 * time.Hour), account, metering.Event{
		ID:   metering.EventID(metering.EventKeyDeprecated, string(key)),
		Type: metering.EventKeyDeprecated, Account: account, At: at,
		Data: facts{Account: account, KeyID: key, Endpoint: endpoint, Deprecated: what},
	}})
}

// markDeprecated marks a key, and writes an event if a channel wants it.
func (d *Deriver) markDeprecated(ctx context.Context, s refusal) error {
	f := s.event.Data.(facts)
	key, err := d.Store.Key(ctx, f.KeyID)
	if err != nil {
		return err
	}
	f.KeyName, f.KeyPrefix, f.Environment = key.Name, key.DisplayPrefix, key.Environment
	s.event.Data = f
	has, err := d.hasChannel(ctx, s.account)
	if err != nil {
		return err
	}
	var beside []metering.Record
	if has {
		record, err := s.event.Record()
		if err != nil {
			return err
		}
		beside = append(beside, record)
	}
	use := metering.DeprecatedUse{Endpoint: f.Endpoint, What: f.Deprecated, At: s.event.At}
	first, err := metering.MarkDeprecatedUse(ctx, d.Store, s.account, f.KeyID, use, beside...)
	if err != nil {
		return err
	}
	d.reports.setNext(s.id, s.until)
	if first && has && d.Wake != nil {
		d.Wake()
	}
	return nil
}

func (d *Deriver) quotaExceeded(c *metering.Caller, q *metering.QuotaError, at time.Time) {
	period := metering.PeriodOf(at)
	name := "quota/" + string(c.Account.ID)
	if !d.reports.due(name, at) {
		return
	}
	u := usage{*c.Account, *c.Plan, metering.Balance{
		Period: period, Limit: q.Limit, Used: q.Current, Overage: q.Overage, OverageMicros: q.OverageMicros,
	}}
	f := u.facts()
	f.Requested = q.Requested
	d.enqueue(refusal{name, period.End(), c.Account.ID, u.event(metering.EventQuotaExceeded, "", at, f)})
}

// enqueue passes a refusal on, if the queue has room.
func (d *Deriver) enqueue(s refusal) {
	select {
	case d.refused <- s:
	default:
		d.reports.setNext(s.id, time.Time{})
	}
}

// record writes the event of a refusal if a channel wants it.
func (d *Deriver) record(ctx context.Context, s refusal) error {
	if s.event.Type == metering.EventKeyDeprecated {
		return d.markDeprecated(ctx, s)
	}
	has, err := d.hasChannel(ctx, s.account)
	if err != nil || !has {
		return err
	}
	events := []metering.Event{s.event}
	if s.event.Type == metering.EventQuotaExceeded {
		more, err := d.budgetSpent(ctx, s)
		if err != nil {
			return err
		}
		events = append(events, more...)
	}
	if err := d.write(ctx, events, metering.Now(d.Clock)); err != nil {
		return err
	}
	d.reports.setNext(s.id, s.until)
	return nil
}

// budgetSpent reports that the budget is spent even if a few credits are left, too few for a request.
func (d *Deriver) budgetSpent(ctx context.Context, s refusal) ([]metering.Event, error) {
	account, err := d.Store.Account(ctx, s.account)
	if err != nil {
		return nil, err
	}
	u, err := d.balance(ctx, account, metering.PeriodOf(s.event.At))
	if err != nil {
		return nil, err
	}
	cents, ok := u.budget()
	if !ok || u.balance.Used < u.budgetThreshold() { // held credits may still be released
		return nil, nil
	}
	part := "/" + strconv.FormatInt(cents, 10)
	return []metering.Event{u.event(metering.EventBudgetReached, part, s.event.At, u.facts())}, nil
}

// reportLog remembers reported refusals, so that a flood of them costs one map lookup each.
type reportLog struct {
	mu        sync.Mutex
	notBefore map[string]time.Time // when it may be reported again
}

const (
	// retryReportAfter is the delay before a failed report is retried.
	retryReportAfter = time.Minute
	// maxReports bounds the memory: beyond it all is forgotten, and found to be stored.
	maxReports = 100_000
)

// due reports whether a refusal is due for a report, and marks it as reported.
func (r *reportLog) due(name string, at time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at.Before(r.notBefore[name]) {
		return false
	}
	if r.notBefore == nil || len(r.notBefore) >= maxReports {
		r.notBefore = map[string]time.Time{}
	}
	r.notBefore[name] = at.Add(retryReportAfter)
	return true
}

func (r *reportLog) setNext(name string, next time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notBefore[name] = next
}
