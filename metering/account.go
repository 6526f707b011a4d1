package metering

import "time"

// AccountID names an account: "acc_" and 26 characters of lower-case base32.
type AccountID string

// KeyID names an API key: "key_" and 26 characters of lower-case base32.
type KeyID string

// An Account owns keys and pays for what they use. Credits belong to the account, rate limits to the key.
type Account struct {
	ID      AccountID
	Version int64 // 0 for an account that was never stored
	Name    string
	Plan    PlanID // see PlanIn
	// OverageEnabled lets the account go beyond its allowance where the plan sells that.
	OverageEnabled bool
	// OverageBudgetCents caps the cost of overage in a month, in minor units of the plan's currency. Nil means no cap;
	// 0 means that no overage is allowed.
	OverageBudgetCents *int64

	CreatedAt time.Time
	Agreement
}

// Agreement holds further agreements with an account. Stores keep it as JSON.
type Agreement struct {
	// Scheduled is a future change of plan, or one that has taken effect without being recorded.
	Scheduled *PlanChange `json:"scheduled,omitempty"`
	// PlanSince is the month since which the account has held its plan without interruption; zero means since it was
	// created. [Admin.SetAccount] sets it.
	PlanSince Period `json:"plan_since,omitzero"`
	// AgreedPriceCents is the agreed monthly price of a plan without a list price; nil if none was agreed.
	AgreedPriceCents *int64 `json:"agreed_price_cents,omitempty"`
	// Suspension refuses what would be charged; replies that were kept are still served.
	Suspension *Suspension `json:"suspension,omitempty"`
	Tax        Tax         `json:"tax,omitzero"`
}

// A PlanChange is a plan that holds from a month on.
type PlanChange struct {
	Plan PlanID `json:"plan"`
	From Period `json:"from"`
}

// A Suspension is when and why an account may not be charged any more.
type Suspension struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
}

// Tax is the tax on the invoices of an account.
type Tax struct {
	BasisPoints int    `json:"basis_points"` // hundredths of a percent
	Note        string `json:"note,omitempty"`
}

// PlanIn returns the plan that an account has in a month, as far as it is known today.
func (a Account) PlanIn(p Period) PlanID {
	if a.Scheduled != nil && !p.Before(a.Scheduled.From) {
		return a.Scheduled.Plan
	}
	return a.Plan
}

// heldSince is the month since which the account has held a plan: the one that it has, or that is scheduled.
func (a Account) heldSince(plan PlanID) Period {
	switch {
	case a.Scheduled != nil && plan == a.Scheduled.Plan && plan != a.Plan:
		return a.Scheduled.From
	case a.PlanSince != Period{}:
		return a.PlanSince
	default:
		return PeriodOf(a.CreatedAt)
	}
}

// Clone returns a copy that shares nothing with the account.
func (a Account) Clone() Account {
	a.OverageBudgetCents = clone(a.OverageBudgetCents)
	a.Scheduled = clone(a.Scheduled)
	a.AgreedPriceCents = clone(a.AgreedPriceCents)
	a.Suspension = clone(a.Suspension)
	return a
}

// Same reports whether two pointers are both nil or point to equal values.
func Same[T comparable](p, q *T) bool { return p == q || p != nil && q != nil && *p == *q }

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}
