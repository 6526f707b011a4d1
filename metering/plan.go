package metering

import (
	"cmp"
	"fmt"
	"time"
)

// PlanID names a plan, such as "free".
type PlanID string

// MicrosPerCent is how many units of a price per credit make a cent: such prices are in millionths of a cent, so that
// overage is exact without fractions.
const MicrosPerCent = 1_000_000

// A Plan sets the allowance of an account, and the price of more. Plans are data: an operator may replace them.
type Plan struct {
	ID          PlanID `json:"id"`
	Name        string `json:"name"`
	Currency    string `json:"currency"`     // ISO 4217
	PriceCents  *int64 `json:"price_cents"`  // per month; nil: on request, or not for sale
	ForSale     bool   `json:"for_sale"`     // false for an operator's own plan and retired ones
	Credits     int64  `json:"credits"`      // allowance of a month
	PerMinute   int    `json:"per_minute"`   // capacity and refill of a key's token bucket
	OverageRate int64  `json:"overage_rate"` // millionths of a cent per credit; 0: a hard cap

	larger *largerVersion // that was in force before and included more; a [PriceList] sets it
}

// A largerVersion is the allowance of a replaced version of a plan. It is never changed.
type largerVersion struct {
	credits   int64 // more than all versions after it
	lastMonth Period
	earlier   *largerVersion // which included still more
}

// Allowance returns the credits of a month that the plan includes for an account that has it: the most that it has
// included at any time since the account has held it without interruption. A version with
// [PlanVersion.ReplacesAllowances] ends what those before it included.
func (p Plan) Allowance(a Account) int64 {
	if p.larger == nil { // as with most
		return p.Credits
	}
	return p.AllowanceSince(a.heldSince(p.ID))
}

// AllowanceSince returns the allowance of an account that has held the plan since a month.
func (p Plan) AllowanceSince(since Period) int64 {
	credits := p.Credits
	for v := p.larger; v != nil && !v.lastMonth.Before(since); v = v.earlier {
		credits = v.credits
	}
	return credits
}

// replacing is the plan as the version of a month, which takes the place of an old one.
func (p Plan) replacing(old Plan, from Period) Plan {
	p.larger = &largerVersion{old.Credits, from.Previous(), old.larger}
	for p.larger != nil && p.larger.credits <= p.Credits {
		p.larger = p.larger.earlier
	}
	return p
}

// Equal reports whether two plans have the same terms.
func (p Plan) Equal(q Plan) bool {
	same := Same(p.PriceCents, q.PriceCents)
	p.PriceCents, q.PriceCents = nil, nil
	p.larger, q.larger = nil, nil
	return same && p == q
}

// comparePlans is negative for a plan that is cheaper than another, by price and then by credits. The agreed price is
// that of plans without one of their own; where a price is not known the credits decide.
func comparePlans(p, q Plan, agreed *int64) int {
	price, other := cmp.Or(p.PriceCents, agreed), cmp.Or(q.PriceCents, agreed)
	if price == nil || other == nil {
		return cmp.Compare(p.Credits, q.Credits)
	}
	return cmp.Or(cmp.Compare(*price, *other), cmp.Compare(p.Credits, q.Credits))
}

// isFree reports whether nothing is ever billed for the plan, so that its currency does not matter.
func (p Plan) isFree() bool {
	return p.HasHardCap() && (p.PriceCents != nil && *p.PriceCents == 0 || p.PriceCents == nil && !p.ForSale)
}

// HasHardCap reports whether the plan sells nothing beyond its allowance.
func (p Plan) HasHardCap() bool { return p.OverageRate == 0 }

// Policy returns the token bucket that each key of the plan has: capacity and refill of a minute are
// both PerMinute (CONTRACT 5.5).
func (p Plan) Policy() Policy { return Policy{Limit: p.PerMinute, Window: time.Minute} }

// Plans is the price list by id.
type Plans map[PlanID]Plan

// Validate reports the first plan, in no certain order, that cannot be worked with: an id that is
// empty or not that of its place in the map, no requests a minute, or a negative number.
func (p Plans) Validate() error {
	for id, plan := range p {
		switch {
		case id == "" || plan.ID != id:
			return fmt.Errorf("plan %q: its id is %q", id, plan.ID)
		case plan.PerMinute < 1:
			return fmt.Errorf("plan %q: per_minute must be at least 1", id)
		case plan.Credits < 0 || plan.Credits > maxCredits:
			return fmt.Errorf("plan %q: credits must be 0 to %d", id, int64(maxCredits))
		case plan.OverageRate < 0:
			return fmt.Errorf("plan %q: overage_rate must not be negative", id)
		case plan.PriceCents != nil && *plan.PriceCents < 0:
			return fmt.Errorf("plan %q: price_cents must not be negative", id)
		}
	}
	return nil
}

// DefaultPlans returns the plans of CONTRACT 4.2. The caller owns the map.
func DefaultPlans() Plans {
	price := func(cents int64) *int64 { return &cents }
	list := []Plan{
		{ID: "free", Name: "Free", PriceCents: price(0), ForSale: true, Credits: 30, PerMinute: 10},
		{ID: "pack", Name: "Pack", PriceCents: price(2900), ForSale: true, Credits: 50_000, PerMinute: 60,
			OverageRate: 100 * MicrosPerCent / 1000},
		{ID: "agency", Name: "Agency", PriceCents: price(14900), ForSale: true, Credits: 1_000_000, PerMinute: 600,
			OverageRate: 50 * MicrosPerCent / 1000},
		{ID: "enterprise", Name: "Enterprise", ForSale: true, Credits: 5_000_000, PerMinute: 1200,
			OverageRate: 30 * MicrosPerCent / 1000},
		{ID: "self", Name: "Own use", Credits: 1_000_000_000, PerMinute: 600_000},
	}
	plans := make(Plans, len(list))
	for _, p := range list {
		p.Currency = "EUR"
		plans[p.ID] = p
	}
	return plans
}

// maxCredits bounds every sum of credits, so that no addition of two overflows.
const maxCredits = 1 << 60
