package notify

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// usageThresholds are the percentages of the allowance at which an account is notified, and budgetPercent that of the
// overage budget. If several are passed at once, only the highest is reported.
var usageThresholds = []int{50, 80, 90, 100}

const budgetPercent = 80

// lateSettlement is how long after the end of a month its last charges may arrive (the lease of a claim) and are still
// checked.
const lateSettlement = 10 * time.Minute

// A usage is a balance with its limits.
type usage struct {
	account metering.Account
	plan    metering.Plan
	balance metering.Balance
}

// usageEvents derives the events of this month, and shortly after its end of the last one.
func (d *Deriver) usageEvents(ctx context.Context, account metering.Account, at time.Time) ([]metering.Event, error) {
	period := metering.PeriodOf(at)
	var list []metering.Event
	if before := metering.PeriodOf(at.Add(-lateSettlement)); before != period {
		u, err := d.balance(ctx, account, before)
		if err != nil {
			return nil, err
		}
		list = u.events(at)
	}
	u, err := d.balance(ctx, account, period)
	if err != nil {
		return nil, err
	}
	if w := (*d.active.Load())[account.ID]; w != nil {
		w.nextMark.Store(&usageMark{period, u.next()})
		w.checkRequested.Store(false)
	}
	return append(list, u.events(at)...), nil
}

func (d *Deriver) balance(ctx context.Context, account metering.Account, p metering.Period) (usage, error) {
	b, err := d.Store.Balance(ctx, account.ID, p)
	if err != nil {
		return usage{}, fmt.Errorf("checking the balance of account %s: %w", account.ID, err)
	}
	return usage{account, d.Plans.In(p)[account.PlanIn(p)], b}, nil
}

// allowanceUsed is the use within the allowance.
func (u usage) allowanceUsed() int64 { return u.balance.Used - u.balance.Overage }

// ceiling returns the largest possible use.
func (u usage) ceiling() int64 {
	b := u.balance
	return u.plan.Limits(u.account).Ceiling(metering.Taken{Credits: b.Used, Overage: b.Overage, Micros: b.OverageMicros})
}

// budget is the cap on overage in cents, if the account has any that overage can spend.
func (u usage) budget() (cents int64, ok bool) {
	if u.plan.HasHardCap() || !u.account.OverageEnabled || u.account.OverageBudgetCents == nil {
		return 0, false
	}
	return *u.account.OverageBudgetCents, *u.account.OverageBudgetCents > 0
}

// events returns the events for the thresholds that the balance has passed. An id contains the limit: a larger plan or
// budget has its own thresholds.
func (u usage) events(at time.Time) (list []metering.Event) {
	about := u.facts()
	add := func(t metering.EventType, part string, f usageFacts) { list = append(list, u.event(t, part, at, f)) }
	limit := strconv.FormatInt(u.balance.Limit, 10)
	for i := len(usageThresholds) - 1; i >= 0; i-- {
		if n := usageThresholds[i]; u.balance.Limit > 0 && u.allowanceUsed() >= percentOf(u.balance.Limit, n) {
			f := about
			f.Percent = n
			add(metering.EventUsageThreshold, "/"+limit+"/"+strconv.Itoa(n), f)
			break
		}
	}
	if u.balance.Overage > 0 {
		add(metering.EventOverageStarted, "", about)
	}
	if cents, ok := u.budget(); ok {
		part := "/" + strconv.FormatInt(cents, 10)
		switch used := u.balance.Used; {
		case used >= u.ceiling():
			add(metering.EventBudgetReached, part, about)
		case used >= u.budgetThreshold():
			about.Percent = budgetPercent
			add(metering.EventBudgetThreshold, part, about)
		}
	}
	return list
}

// event is one about the account and the month.
func (u usage) event(t metering.EventType, part string, at time.Time, f usageFacts) metering.Event {
	subject := string(u.account.ID) + "/" + u.balance.Period.String() + part
	return metering.Event{ID: metering.EventID(t, subject), Type: t, Account: u.account.ID, At: at, Data: f}
}

func (u usage) facts() usageFacts {
	f := usageFacts{
		Account: u.account.ID, Period: u.balance.Period, Plan: u.plan.ID, Used: u.balance.Used, Limit: u.balance.Limit,
		Overage: u.balance.Overage, Currency: u.plan.Currency, Cost: cents(u.balance.OverageMicros),
	}
	if !u.plan.HasHardCap() && u.account.OverageEnabled {
		f.Budget = u.account.OverageBudgetCents
	}
	return f
}

// cents are millionths of a cent, rounded half up.
func cents(micros int64) int64 {
	whole, rest := micros/metering.MicrosPerCent, micros%metering.MicrosPerCent
	return whole + (rest+metering.MicrosPerCent/2)/metering.MicrosPerCent
}

// percentOf is the least whole number that is at least so many percent of n.
func percentOf(n int64, percent int) int64 {
	p := int64(percent)
	return n/100*p + (n%100*p+99)/100
}

// budgetThreshold is the use at which the budget is spent to [budgetPercent].
func (u usage) budgetThreshold() int64 {
	from := max(u.balance.Limit, u.allowanceUsed())
	return from + percentOf(max(0, u.ceiling()-from), budgetPercent)
}

// next returns the use at which the next event is due.
func (u usage) next() int64 {
	next := int64(math.MaxInt64)
	mark := func(n int64) {
		if n > u.balance.Used {
			next = min(next, n)
		}
	}
	if u.balance.Limit > 0 {
		for _, n := range usageThresholds {
			mark(percentOf(u.balance.Limit, n) + u.balance.Overage)
		}
	}
	if u.account.OverageEnabled && !u.plan.HasHardCap() && u.balance.Overage == 0 {
		mark(max(u.balance.Limit, u.allowanceUsed()) + 1)
	}
	if _, ok := u.budget(); ok {
		mark(u.budgetThreshold())
		mark(u.ceiling())
	}
	return next
}

// markReported marks the thresholds that an account has passed already as reported, so that its only active channel
// receives new events only, and forgets its SPF profiles. If another channel is active, they were reported.
func (c Channels) markReported(ctx context.Context, account metering.Account, existing []Channel) error {
	if slices.ContainsFunc(existing, func(c Channel) bool { return c.State == ChannelActive }) {
		return nil
	}
	d := Deriver{Store: c.Store, Plans: c.Plans, Clock: c.Clock}
	d.init()
	at := metering.Now(c.Clock)
	events, err := d.usageEvents(ctx, account, at)
	if err != nil {
		return err
	}
	for _, e := range events {
		record, err := e.Record()
		if err != nil {
			return err
		}
		record.Due = time.Time{}
		if _, err = c.Store.Record(ctx, e.Account, metering.EventKind, e.ID); !errors.Is(err, metering.ErrNotFound) {
			if err != nil {
				return err
			}
			continue
		}
		if err := c.Store.PutRecords(ctx, record); err != nil && !errors.Is(err, metering.ErrVersion) {
			return fmt.Errorf("noting what account %s has used: %w", account.ID, err)
		}
	}
	return c.forgetProfiles(ctx, account.ID)
}

// An activeAccount is what the hot path of charges knows of an account that has channels.
type activeAccount struct {
	nextMark       atomic.Pointer[usageMark]
	checkRequested atomic.Bool // the account waits for a check
}

// A usageMark is the use of a month at which the next event is due.
type usageMark struct {
	period metering.Period
	used   int64
}
