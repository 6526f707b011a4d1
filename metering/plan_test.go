package metering

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDefaultPlans(t *testing.T) {
	plans := DefaultPlans()
	noError(t, plans.Validate())
	for id, want := range map[PlanID]struct {
		credits, overagePerThousand, perMinute int64 // the overage in cents
	}{
		"free":       {30, 0, 10},
		"pack":       {50_000, 100, 60},
		"agency":     {1_000_000, 50, 600},
		"enterprise": {5_000_000, 30, 1200},
		"self":       {1_000_000_000, 0, 600_000},
	} {
		p := plans[id]
		equal(t, want.credits, p.Credits, "%s", id)
		equal(t, want.overagePerThousand*MicrosPerCent, p.OverageRate*1000, "%s: a thousand credits cost", id)
		equal(t, Policy{Limit: int(want.perMinute), Window: time.Minute}, p.Policy(), "%s", id)
		equal(t, want.overagePerThousand == 0, p.HasHardCap(), "%s", id)
	}
	plans["free"] = Plan{}
	equal(t, "Free", DefaultPlans()["free"].Name, "the map is the caller's own")
}

func TestCeiling(t *testing.T) {
	capped := func(n int64) Account { return Account{OverageEnabled: true, OverageBudgetCents: &n} }
	for name, c := range map[string]struct {
		plan    PlanID
		account Account
		want    int64
	}{
		"hard cap":                       {"free", Account{OverageEnabled: true}, 30},
		"not opted in":                   {"pack", Account{OverageBudgetCents: new(int64(1000))}, 50_000},
		"no budget":                      {"pack", Account{OverageEnabled: true}, 50_000 + maxMicros/100_000},
		"budget of nothing":              {"pack", capped(0), 50_000},
		"negative budget":                {"pack", capped(-5), 50_000},
		"pack: a cent buys ten":          {"pack", capped(1), 50_010},
		"agency: a cent buys twenty":     {"agency", capped(1), 1_000_020},
		"enterprise: 33 and a third":     {"enterprise", capped(1), 5_000_033},
		"enterprise: three cents buy it": {"enterprise", capped(3), 5_000_100},
		"endless budget":                 {"pack", capped(math.MaxInt64), 50_000 + maxMicros/MicrosPerCent*10},
	} {
		t.Run(name, func(t *testing.T) {
			equal(t, c.want, DefaultPlans()[c.plan].Limits(c.account).Ceiling(Taken{}))
		})
	}
}

// At the ceiling the overage is paid for, and one credit more is not.
func TestCeilingProperty(t *testing.T) {
	for id, p := range DefaultPlans() {
		if p.HasHardCap() {
			continue
		}
		rapid.Check(t, func(t *rapid.T) {
			budget := rapid.Int64Range(0, 1_000_000_000).Draw(t, "budget in cents")
			over := p.Limits(Account{OverageEnabled: true, OverageBudgetCents: &budget}).Ceiling(Taken{}) - p.Credits
			if over*p.OverageRate > budget*MicrosPerCent || (over+1)*p.OverageRate <= budget*MicrosPerCent {
				t.Fatalf("%s: a budget of %d cents buys %d credits", id, budget, over)
			}
		})
	}
}

func TestPlansValidate(t *testing.T) {
	for name, spoil := range map[string]func(*Plan){
		"id":      func(p *Plan) { p.ID = "other" },
		"minute":  func(p *Plan) { p.PerMinute = 0 },
		"credits": func(p *Plan) { p.Credits = -1 },
		"sum":     func(p *Plan) { p.Credits = maxCredits + 1 },
		"rate":    func(p *Plan) { p.OverageRate = -1 },
		"price":   func(p *Plan) { p.PriceCents = new(int64(-1)) },
	} {
		plans := DefaultPlans()
		p := plans["pack"]
		spoil(&p)
		plans["pack"] = p
		isTrue(t, plans.Validate() != nil, "%s", name)
	}
	isTrue(t, Plans{"": {PerMinute: 1}}.Validate() != nil, "a plan without an id")
}
