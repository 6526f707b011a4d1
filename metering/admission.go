package metering

// maxMicros represents an unlimited budget: 46 billion of the currency, so that no sum of two overflows.
const maxMicros = 1 << 62

// Limits are the bounds of an account's use in a month, on the terms that hold at an instant.
type Limits struct {
	Allowance int64 // credits that the plan includes
	Rate      int64 // of a credit beyond them, in millionths of a cent; 0: none for sale
	Budget    int64 // the maximum cost of those in the month, in millionths of a cent
}

// Limits returns the limits of an account that has the plan.
func (p Plan) Limits(a Account) Limits {
	l := Limits{Allowance: p.Allowance(a)}
	if p.HasHardCap() || !a.OverageEnabled {
		return l
	}
	l.Rate, l.Budget = p.OverageRate, maxMicros
	if a.OverageBudgetCents != nil {
		l.Budget = max(0, min(*a.OverageBudgetCents, maxMicros/MicrosPerCent)) * MicrosPerCent
	}
	return l
}

// Taken is the settled and held use of a month.
type Taken struct {
	Credits int64
	Overage int64 // those of them admitted above the allowance at that time
	Micros  int64 // the cost of those, in millionths of a cent
}

// Plus returns t plus so many credits, of which some are overage at a rate; all of them may be negative.
func (t Taken) Plus(credits, overage, rate int64) Taken {
	return Taken{t.Credits + credits, t.Overage + overage, t.Micros + overage*rate}
}

// allowanceLeft returns the rest of the allowance.
func (l Limits) allowanceLeft(t Taken) int64 { return max(0, l.Allowance-(t.Credits-t.Overage)) }

// Remaining returns how many credits may still be used: of the allowance, and of overage as far as the budget allows.
func (l Limits) Remaining(t Taken) int64 {
	remaining := l.allowanceLeft(t)
	if l.Rate > 0 {
		remaining += max(0, l.Budget-t.Micros) / l.Rate
	}
	return min(remaining, maxCredits-t.Credits)
}

// Admit returns how many credits of a price are overage; ok is false if not enough credits are left. The split of a
// charge is fixed at its admission, whatever is cancelled or changed later.
func (l Limits) Admit(t Taken, price int64) (overage, rate int64, ok bool) {
	if price > l.Remaining(t) {
		return 0, 0, false
	}
	if overage = max(0, price-l.allowanceLeft(t)); overage > 0 {
		rate = l.Rate
	}
	return overage, rate, true
}

// Ceiling returns the largest use of the month that these limits allow. A store keeps it with each charge, so that an
// audit can detect that a month was oversold even if the plan has changed.
func (l Limits) Ceiling(t Taken) int64 { return t.Credits + max(0, l.Remaining(t)) }

// Refuse returns the error for a price that an account cannot pay.
func (l Limits) Refuse(a Account, p Plan, t Taken, price int64) *QuotaError {
	e := &QuotaError{
		Plan: p.ID, Limit: l.Allowance, Current: t.Credits, Requested: price, Left: max(0, l.Remaining(t)),
		Overage: t.Overage, OverageMicros: t.Micros,
	}
	switch {
	case a.Suspension != nil:
		e.Reason, e.Left = QuotaSuspended, 0
	case p.HasHardCap():
		e.Reason = QuotaAllowanceUsed
	case !a.OverageEnabled:
		e.Reason = QuotaOverageOff
	default:
		e.Reason = QuotaBudgetReached
	}
	return e
}
