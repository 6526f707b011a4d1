package metering_test

import (
	"slices"
	"testing"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
)

func TestTermsIn(t *testing.T) {
	store := memory.New(memory.Config{})
	defer store.Close()
	now := time.Date(2026, 1, 20, 0, 0, 0, 0, time.UTC)
	admin := metering.Admin{Store: store, Clock: func() time.Time { return now }}
	account, err := admin.CreateAccount(t.Context(), "Example Ltd", "free")
	if err != nil {
		t.Fatal(err)
	}
	set := func(month time.Month, day int, change func(*metering.Account)) {
		t.Helper()
		now = time.Date(2026, month, day, 0, 0, 0, 0, time.UTC)
		if account, err = admin.SetAccount(t.Context(), account.ID, change); err != nil {
			t.Fatal(err)
		}
	}
	plan := func(id metering.PlanID) func(*metering.Account) {
		return func(a *metering.Account) { a.Plan = id }
	}
	set(2, 1, plan("pack")) // at the first instant of the month
	set(2, 10, plan("agency"))
	set(2, 11, func(a *metering.Account) { a.Name = "renamed" })
	set(2, 20, plan("pack"))
	set(4, 5, func(a *metering.Account) { a.OverageEnabled = true })
	for month, want := range map[time.Month][]metering.Terms{
		1: {{Plan: "free"}},
		2: {{Plan: "free"}, {Plan: "agency"}, {Plan: "pack"}},
		3: {{Plan: "pack"}},
		4: {{Plan: "pack"}, {Plan: "pack", OverageEnabled: true}},
		5: {{Plan: "pack", OverageEnabled: true}},
	} {
		got, err := metering.TermsIn(t.Context(), store, account, metering.Period{Year: 2026, Month: month})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%v: got %v, want %v (%v)", month, got, want, err)
		}
	}
}
