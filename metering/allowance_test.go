package metering_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
)

func includes(credits int64) func(*metering.Plan) {
	return func(p *metering.Plan) { p.Credits = credits }
}

// An account on a plan keeps the largest allowance of its versions since; an account that joins gets the current one.
func TestAllowance(t *testing.T) {
	s := newShop(t)
	s.now = time.Date(2026, 1, 20, 12, 0, 0, 0, time.UTC)
	month := func(m time.Month) metering.Period { return metering.Period{Year: 2026, Month: m} }
	customer := func() metering.AccountID {
		a, err := s.admin.CreateAccount(t.Context(), "Example Ltd", "pack")
		require.NoError(t, err)
		return a.ID
	}
	set := func(id metering.AccountID, plan metering.PlanID) {
		_, err := s.admin.SetAccount(t.Context(), id, func(a *metering.Account) {
			a.Plan, a.Scheduled, a.PlanSince = plan, nil, month(1) // of which the last is not for changing
		})
		require.NoError(t, err)
	}
	at, old := s.limits()
	away := customer()
	require.NoError(t, s.imports("pack", month(2), func(p *metering.Plan) { p.Credits, p.PerMinute = 40_000, 3 }))
	require.NoError(t, s.imports("pack", month(4), includes(45_000)))
	s.now = s.now.AddDate(0, 0, 5)
	between := customer()
	holds := func(id metering.AccountID, want int64) {
		t.Helper()
		b, err := s.store.Balance(t.Context(), id, metering.PeriodOf(s.now))
		require.NoError(t, err)
		require.Equal(t, want, b.Limit)
	}
	holds(between, 50_000)

	require.Equal(t, [2]int{50_000, 3}, at(month(2).Start()), "the other terms are those of the month")
	holds(between, 50_000)
	late := customer()
	holds(late, 40_000)
	set(away, "agency")
	holds(away, 1_000_000)
	set(away, "pack") // from March on
	require.Equal(t, [2]int{50_000, 3}, at(month(3).Start()))
	holds(away, 40_000)
	set(old, "free")
	set(old, "pack")
	holds(old, 50_000)

	s.now = month(4).Start()
	holds(old, 50_000)
	holds(late, 45_000)
	holds(away, 45_000)
	require.NoError(t, s.imports("pack", month(5), includes(45_000)), "nothing changes")
	require.Len(t, s.versions("pack"), 3)
	s.admin.ReplaceAllowances = true
	require.NoError(t, s.imports("pack", month(5), includes(45_000)))
	require.NoError(t, s.imports("pack", month(6), includes(45_000)), "nothing is kept any more")
	require.Len(t, s.versions("pack"), 4)
	require.True(t, s.versions("pack")[3].ReplacesAllowances)
	s.admin.ReplaceAllowances = false
	require.NoError(t, s.imports("pack", month(7), includes(1)))
	holds(old, 50_000)
	for _, m := range []time.Month{5, 6, 7} {
		s.now = month(m).Start()
		holds(old, 45_000)
	}
	past, err := s.store.Balance(t.Context(), old, month(3))
	require.NoError(t, err)
	require.EqualValues(t, 50_000, past.Limit)
	audit, err := s.store.Audit(t.Context())
	require.NoError(t, err)
	require.Empty(t, audit.Faults)
}

// versions are those of a plan.
func (s *shop) versions(id metering.PlanID) (list []metering.PlanVersion) {
	all, err := s.store.PlanVersions(s.Context())
	require.NoError(s, err)
	for _, v := range all {
		if v.Plan.ID == id {
			list = append(list, v)
		}
	}
	return list
}

// A plan of the same price that includes more than what the account keeps holds at once, and one that includes less
// does not, whatever the plan includes for others.
func TestChangeFromAllowance(t *testing.T) {
	for credits, want := range map[int64]metering.PlanID{45_000: "pack", 55_000: "other"} {
		s := newShop(t)
		january := metering.PeriodOf(s.now)
		_, id := s.limits()
		require.NoError(t, s.imports("pack", january.Next(), includes(40_000)))
		require.NoError(t, s.imports("other", january, includes(credits)))
		s.now = january.End()
		a, err := s.admin.SetAccount(t.Context(), id, func(a *metering.Account) { a.Plan = "other" })
		require.NoError(t, err)
		require.Equal(t, want, a.Plan)
	}
}

// The link of a version that applies to existing accounts includes that; the links of other versions are unchanged.
func TestExistingLink(t *testing.T) {
	v := metering.PlanVersion{Plan: metering.DefaultPlans()["pack"], ImportedAt: time.Unix(0, 0)}
	link := v.Link(metering.Chain{})
	require.Equal(t, metering.Chain{}.Next("plan.v1", "pack", "Pack", "EUR", "2900", "true", "50000", "60", "100000",
		"-1", "0"), link)
	v.ReplacesAllowances = true
	require.NotEqual(t, link, v.Link(metering.Chain{}))
	body, err := v.Body()
	require.NoError(t, err)
	read := metering.PlanVersion{ImportedAt: v.ImportedAt, Plan: metering.Plan{ID: "pack"}}
	require.NoError(t, read.SetBody(body))
	require.Equal(t, v, read)
	require.ErrorContains(t, read.SetBody([]byte("x")), "plan pack from 0000-00 on: ")
}
