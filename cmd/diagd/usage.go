package main

import (
	"context"
	"fmt"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/spf13/cobra"
)

// usageView is what an account used in a month.
type usageView struct {
	Account    metering.AccountID `json:"account"`
	Period     metering.Period    `json:"period"`
	Plan       metering.PlanID    `json:"plan"`
	Limit      int64              `json:"limit"`
	Used       int64              `json:"used"`
	Remaining  int64              `json:"remaining"`
	Overage    int64              `json:"overage"`
	Charges    int64              `json:"charges_count"`
	ByEndpoint []billing.Sum      `json:"by_endpoint"`
	ByKey      []billing.Sum      `json:"by_key"`
}

func (a *app) usageCommand() *cobra.Command {
	var account, month string
	cmd := a.onStore("usage", "Show what an account used in a month", "",
		func(ctx context.Context, admin metering.Admin, _ []string) error {
			period, err := monthOr("--month", month, metering.PeriodOf(time.Now()))
			if err != nil {
				return err
			}
			owner, err := onlyAccount(ctx, admin, account)
			if err != nil {
				return err
			}
			return a.showUsage(ctx, admin.Store, owner.ID, period)
		})
	a.addJSON(cmd)
	cmd.Flags().StringVar(&account, "account", "", "id of the account (default: the only one)")
	cmd.Flags().StringVar(&month, "month", "", "such as 2026-01 (default: this month, UTC)")
	return cmd
}

func (a *app) showUsage(
	ctx context.Context, store metering.Store, id metering.AccountID, period metering.Period,
) error {
	b, err := store.Balance(ctx, id, period)
	if err != nil {
		return err
	}
	charges, err := billing.Charges(ctx, store, id, period)
	if err != nil {
		return err
	}
	v := usageView{id, period, b.Plan, b.Limit, b.Used, b.Remaining(), b.Overage, b.Charges,
		billing.SumBy(charges, func(u billing.Usage) string { return u.Endpoint }),
		billing.SumBy(charges, func(u billing.Usage) string { return string(u.Key) })}
	return a.print(v, func(t *table) {
		t.row("account", v.Account)
		t.row("month", v.Period)
		t.row("plan", v.Plan)
		t.row("used", fmt.Sprintf("%d of %d credits in %d charges", v.Used, v.Limit, v.Charges))
		for _, sums := range [][]billing.Sum{v.ByEndpoint, v.ByKey} {
			t.row()
			rows("CREDITS, CHARGES, BY", sums, func(s billing.Sum) []any { return []any{s.Credits, s.Charges, s.Name} })(t)
		}
	})
}
