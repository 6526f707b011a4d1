package metering_test

import (
	"slices"
	"testing"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
)

func TestTerms(t *testing.T) {
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
	set(6, 30, plan("free"))
	since := func(month time.Month) metering.Period { return metering.Period{Year: 2026, Month: month} }
	at := func(month time.Month, day int) time.Time { return time.Date(2026, month, day, 0, 0, 0, 0, time.UTC) }
	for month, want := range map[time.Month][]metering.Terms{
		1: {{Plan: "free", PlanSince: since(1), Began: at(1, 20)}},
		2: {{Plan: "pack", PlanSince: since(2), Began: at(2, 1)},
			{Plan: "agency", PlanSince: since(2), Began: at(2, 10)}}, // the downgrade is for the next month
		3: {{Plan: "pack", PlanSince: since(3), Began: at(3, 1)}},
		4: {{Plan: "pack", PlanSince: since(3), Began: at(3, 1)},
			{Plan: "pack", OverageEnabled: true, PlanSince: since(3), Began: at(4, 5)}},
		5: {{Plan: "pack", OverageEnabled: true, PlanSince: since(3), Began: at(4, 5)}},
		6: {{Plan: "pack", OverageEnabled: true, PlanSince: since(3), Began: at(4, 5)}},
		7: {{Plan: "free", OverageEnabled: true, PlanSince: since(7), Began: at(7, 1)}}, // scheduled, not written down yet
	} {
		book, err := metering.ReadTerms(t.Context(), store, account.ID)
		if err != nil {
			t.Fatal(err)
		}
		got, err := book.In(account, metering.Period{Year: 2026, Month: month})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%v: got %v, want %v (%v)", month, got, want, err)
		}
	}
}
