package main

import (
	"context"
	"strconv"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/spf13/cobra"
)

type accountView struct {
	ID                 metering.AccountID `json:"id"`
	Name               string             `json:"name"`
	Plan               metering.PlanID    `json:"plan"`
	OverageEnabled     bool               `json:"overage_enabled"`
	OverageBudgetCents *int64             `json:"overage_budget_cents,omitempty"`
	CreatedAt          time.Time          `json:"created_at"`
}

func viewAccount(a metering.Account) accountView {
	return accountView{a.ID, a.Name, a.Plan, a.OverageEnabled, a.OverageBudgetCents, a.CreatedAt.UTC()}
}

func (a *app) accountCommand() *cobra.Command {
	var name, plan string
	create := &cobra.Command{
		Use: "create", Short: "Create an account", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.administer(cmd.Context(), func(admin metering.Admin) error {
				account, err := admin.CreateAccount(cmd.Context(), name, metering.PlanID(plan))
				return a.showAccount(err, account)
			})
		},
	}
	create.Flags().StringVar(&name, "name", "", "name of the account")
	create.Flags().StringVar(&plan, "plan", "free", "plan of the account")
	list := &cobra.Command{
		Use: "list", Short: "List the accounts", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.administer(cmd.Context(), func(admin metering.Admin) error {
				accounts, err := admin.Store.Accounts(cmd.Context())
				if err != nil {
					return err
				}
				return a.showAccounts(accounts)
			})
		},
	}
	show := &cobra.Command{
		Use: "show ID", Short: "Show one account", Args: exactly(1, "the id of an account"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.administer(cmd.Context(), func(admin metering.Admin) error {
				account, err := onlyAccount(cmd.Context(), admin, args[0])
				return a.showAccount(err, account)
			})
		},
	}
	cmd := group("account", "Administer accounts", create, list, show, a.accountSetCommand())
	cmd.PersistentFlags().BoolVar(&a.json, "json", false, "print JSON")
	return cmd
}

func (a *app) accountSetCommand() *cobra.Command {
	var name, plan, overage, budget string
	set := &cobra.Command{
		Use: "set ID", Short: "Change an account", Args: exactly(1, "the id of an account"),
		RunE: func(cmd *cobra.Command, args []string) error {
			change, err := accountChange(name, plan, overage, budget)
			if err != nil {
				return err
			}
			return a.administer(cmd.Context(), func(admin metering.Admin) error {
				account, err := admin.SetAccount(cmd.Context(), metering.AccountID(args[0]), change)
				return a.showAccount(err, account)
			})
		},
	}
	set.Flags().StringVar(&name, "name", "", "new name")
	set.Flags().StringVar(&plan, "plan", "", "new plan; holds for the next request")
	set.Flags().StringVar(&overage, "overage", "", "on or off: go beyond the allowance where the plan sells that")
	set.Flags().StringVar(&budget, "budget-cents", "", "what overage may cost in a month, in cents, or none for no cap")
	return set
}

// accountChange turns the flags of "account set" into a change; empty flags change nothing.
func accountChange(name, plan, overage, budget string) (func(*metering.Account), error) {
	var cents *int64
	if budget != "" && budget != "none" {
		n, err := strconv.ParseInt(budget, 10, 64)
		if err != nil || n < 0 {
			return nil, usagef("--budget-cents: %q is neither a number of cents nor none", budget)
		}
		cents = &n
	}
	if overage != "" && overage != "on" && overage != "off" {
		return nil, usagef("--overage: %q is neither on nor off", overage)
	}
	return func(acc *metering.Account) {
		if name != "" {
			acc.Name = name
		}
		if plan != "" {
			acc.Plan = metering.PlanID(plan)
		}
		if overage != "" {
			acc.OverageEnabled = overage == "on"
		}
		if budget != "" {
			acc.OverageBudgetCents = cents
		}
	}, nil
}

// showAccount prints one account, as an object.
func (a *app) showAccount(err error, account metering.Account) error {
	if err != nil {
		return err
	}
	v := viewAccount(account)
	return a.print(v, func(t *table) { t.accounts(v) })
}

// showAccounts prints a list of accounts.
func (a *app) showAccounts(accounts []metering.Account) error {
	views := []accountView{}
	for _, acc := range accounts {
		views = append(views, viewAccount(acc))
	}
	return a.print(views, func(t *table) { t.accounts(views...) })
}

func (t *table) accounts(views ...accountView) {
	t.row("ID", "NAME", "PLAN", "OVERAGE", "BUDGET", "CREATED")
	for _, v := range views {
		overage, budget := "off", "-"
		if v.OverageEnabled {
			overage = "on"
		}
		if v.OverageBudgetCents != nil {
			budget = strconv.FormatInt(*v.OverageBudgetCents, 10)
		}
		t.row(v.ID, v.Name, v.Plan, overage, budget, when(&v.CreatedAt))
	}
}

// onlyAccount returns the account with an id, or without one the only account that there is.
func onlyAccount(ctx context.Context, admin metering.Admin, id string) (metering.Account, error) {
	if id != "" {
		return admin.Store.Account(ctx, metering.AccountID(id))
	}
	accounts, err := admin.Store.Accounts(ctx)
	if err != nil {
		return metering.Account{}, err
	}
	if len(accounts) != 1 {
		return metering.Account{}, usagef("there are %d accounts: name one with --account", len(accounts))
	}
	return accounts[0], nil
}
