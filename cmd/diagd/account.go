package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type accountView struct {
	ID                 metering.AccountID `json:"id"`
	Name               string             `json:"name"`
	Plan               metering.PlanID    `json:"plan"`
	OverageEnabled     bool               `json:"overage_enabled"`
	OverageBudgetCents *int64             `json:"overage_budget_cents,omitempty"`
	CreatedAt          time.Time          `json:"created_at"`
	Limit              int64              `json:"limit"` // credits of a month that the plan includes for it
	metering.Agreement
}

// viewAccounts shows accounts as they are in this month.
func viewAccounts(prices metering.Prices) func(metering.Account) accountView {
	month := metering.PeriodOf(time.Now())
	plans := prices.In(month)
	return func(a metering.Account) accountView {
		v := accountView{
			a.ID, a.Name, a.PlanIn(month), a.OverageEnabled, a.OverageBudgetCents, a.CreatedAt.UTC(), 0, a.Agreement,
		}
		v.Limit = plans[v.Plan].Allowance(a)
		if v.Scheduled != nil && v.Plan == v.Scheduled.Plan {
			v.PlanSince, v.Scheduled = v.Scheduled.From, nil // it has come
		}
		return v
	}
}

func (a *app) accountCommand() *cobra.Command {
	var name, plan string
	create := a.newStoreCommand("create", "Create an account", "",
		func(ctx context.Context, admin metering.Admin, _ []string) error {
			account, err := admin.CreateAccount(ctx, name, metering.PlanID(plan))
			return a.showAccount(admin.Plans, account, err)
		})
	create.Flags().StringVar(&name, "name", "", "name of the account")
	create.Flags().StringVar(&plan, "plan", "free", "plan of the account")
	var pages pageFlags
	list := a.newStoreCommand("list", "List the accounts", "",
		func(ctx context.Context, admin metering.Admin, _ []string) error {
			list := paginate(
				pages,
				sequence(admin.Store.Accounts(ctx)),
				func(acc metering.Account) string { return string(acc.ID) },
			)
			return printEach(a, mapSequence(list, viewAccounts(admin.Plans)), accountColumns, accountView.row)
		})
	pages.add(list.Flags())
	show := a.newStoreCommand("show ID", "Show one account", "the id of an account",
		func(ctx context.Context, admin metering.Admin, args []string) error {
			account, err := findAccount(ctx, admin, args[0])
			return a.showAccount(admin.Plans, account, err)
		})
	return a.newGroup("account", "Administer accounts", create, list, show, a.accountSetCommand())
}

// accountFlags are the flags of "account set"; empty ones change nothing.
type accountFlags struct {
	name, plan, overage, budget, price, tax, taxNote string

	now bool
}

func (a *app) accountSetCommand() *cobra.Command {
	var f accountFlags
	var flags *pflag.FlagSet
	set := a.newStoreCommand("set ID", "Change an account", "the id of an account",
		func(ctx context.Context, admin metering.Admin, args []string) error {
			change, err := f.buildChange(flags.Changed("tax-note"))
			if err != nil {
				return err
			}
			admin.DowngradeNow = f.now
			account, err := admin.SetAccount(ctx, metering.AccountID(args[0]), change)
			return a.showAccount(admin.Plans, account, err)
		})
	flags = set.Flags()
	flags.StringVar(&f.name, "name", "", "new name")
	flags.StringVar(&f.plan, "plan", "",
		"new plan; a more expensive one applies to the next request, a cheaper one from next month")
	flags.BoolVar(&f.now, "now", false, "apply a cheaper plan to the next request, too; the difference is not credited")
	flags.StringVar(&f.overage, "overage", "", "on or off: allow overage where the plan includes it")
	flags.StringVar(&f.budget, "budget-cents", "", "monthly overage cap in cents, or none")
	flags.StringVar(&f.price, "agreed-price", "",
		"agreed monthly price in cents, for a plan without a price; or none")
	flags.StringVar(&f.tax, "tax", "", "tax percentage on invoices, such as 19 or 7.7; 0 for none")
	flags.StringVar(&f.taxNote, "tax-note", "", "name of the tax on invoices, such as VAT")
	return set
}

func (f accountFlags) buildChange(note bool) (func(*metering.Account), error) {
	budget, err := parseCents("--budget-cents", f.budget)
	if err != nil {
		return nil, err
	}
	price, err := parseCents("--agreed-price", f.price)
	if err != nil {
		return nil, err
	}
	tax, err := parsePercent(f.tax)
	if err != nil {
		return nil, err
	}
	if f.overage != "" && f.overage != "on" && f.overage != "off" {
		return nil, usagef("--overage: %q is not on or off", f.overage)
	}
	return func(acc *metering.Account) {
		acc.Name = cmp.Or(f.name, acc.Name)
		if f.plan != "" {
			acc.Plan, acc.Scheduled = metering.PlanID(f.plan), nil
		}
		if f.overage != "" {
			acc.OverageEnabled = f.overage == "on"
		}
		if f.budget != "" {
			acc.OverageBudgetCents = budget
		}
		if f.price != "" {
			acc.AgreedPriceCents = price
		}
		if f.tax != "" {
			acc.Tax.BasisPoints = tax
		}
		if note {
			acc.Tax.Note = f.taxNote
		}
	}, nil
}

// parseCents reads a flag; nil means none.
func parseCents(flag, text string) (*int64, error) {
	if text == "" || text == "none" {
		return nil, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return nil, usagef("%s: %q is not a number of cents or none", flag, text)
	}
	return &n, nil
}

// parsePercent reads a percentage with at most two decimals as basis points.
func parsePercent(text string) (points int, err error) {
	whole, fraction, _ := strings.Cut(text, ".")
	if text != "" && len(fraction) <= 2 {
		points, err = strconv.Atoi(whole + (fraction + "00")[:2])
	}
	if err != nil || points < 0 || len(fraction) > 2 {
		return 0, usagef("--tax: %q is not a percentage with at most two decimals", text)
	}
	return points, nil
}

func (a *app) showAccount(prices metering.Prices, account metering.Account, err error) error {
	return printOne(a, viewAccounts(prices)(account), err, accountColumns, accountView.row)
}

const accountColumns = "ID, NAME, PLAN, CREDITS, OVERAGE, BUDGET, CREATED"

func (v accountView) row() []any {
	overage, budget := "off", "-"
	if v.OverageEnabled {
		overage = "on"
	}
	if v.OverageBudgetCents != nil {
		budget = strconv.FormatInt(*v.OverageBudgetCents, 10)
	}
	plan := string(v.Plan)
	if v.Scheduled != nil {
		plan += fmt.Sprintf(" (%s from %v on)", v.Scheduled.Plan, v.Scheduled.From)
	}
	if v.Suspension != nil {
		plan += " (suspended)"
	}
	return []any{v.ID, v.Name, plan, v.Limit, overage, budget, formatTime(&v.CreatedAt)}
}

// newAccountCommand makes a command that works on the account that --account names. An unknown one is a fault of the
// command line with a hint to the command that lists the IDs.
func (a *app) newAccountCommand(
	use, short, takes, hint string, run func(context.Context, metering.Admin, metering.AccountID, []string) error,
) *cobra.Command {
	var id string
	cmd := a.newStoreCommand(use, short, takes, func(ctx context.Context, admin metering.Admin, args []string) error {
		owner, err := findAccount(ctx, admin, id)
		if err != nil && hint != "" {
			return asUnknownAccount(err)
		}
		if err == nil {
			err = run(ctx, admin, owner.ID, args)
		}
		if errors.Is(err, metering.ErrNotFound) && hint != "" {
			return usagef("%w; %s", err, hint)
		}
		return err
	})
	cmd.Flags().StringVar(&id, "account", "", "id of the account (default: the only one)")
	return cmd
}

// asUnknownAccount returns the error for an --account that does not exist, with what to do.
func asUnknownAccount(err error) error {
	if errors.Is(err, metering.ErrNotFound) {
		return usagef("--account: %w; diagd account list shows the ids", err)
	}
	return err
}

// findAccount returns the account with an id, or without one the only account that there is.
func findAccount(ctx context.Context, admin metering.Admin, id string) (metering.Account, error) {
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
	var month string
	var limit int
	cmd := a.newAccountCommand("usage", "Show the usage of an account in a month", "", "",
		func(ctx context.Context, admin metering.Admin, account metering.AccountID, _ []string) error {
			period, err := parseMonth("--month", month, metering.PeriodOf(time.Now()))
			if err == nil && limit < 0 {
				err = usagef("--limit: must be 0 or more")
			}
			if err != nil {
				return err
			}
			return a.showUsage(ctx, admin.Store, account, period, limit)
		})
	a.addJSON(cmd)
	cmd.Flags().StringVar(&month, "month", "", "such as 2026-01 (default: this month, UTC)")
	cmd.Flags().IntVar(&limit, "limit", 0, "maximum number of keys, those charged most first (default: all)")
	return cmd
}

func (a *app) showUsage(
	ctx context.Context, store metering.Store, id metering.AccountID, period metering.Period, limit int,
) error {
	b, err := store.Balance(ctx, id, period)
	if err != nil {
		return err
	}
	sums, err := store.Sums(ctx, metering.EntryFilter{Account: id, Period: &period})
	if err != nil {
		return err
	}
	keys := billing.Ranked(sums.Keys)
	if limit > 0 {
		keys = keys[:min(limit, len(keys))]
	}
	v := usageView{id, period, b.Plan, b.Limit, b.Used, b.Remaining(), b.Overage, b.Charges,
		billing.Ranked(sums.Endpoints), keys}
	return a.print(v, func(t *table) {
		t.row("account", v.Account)
		t.row("month", v.Period)
		t.row("plan", v.Plan)
		t.row("used", fmt.Sprintf("%d of %d credits in %d charges", v.Used, v.Limit, v.Charges))
		for _, sums := range [][]billing.Sum{v.ByEndpoint, v.ByKey} {
			if len(sums) == 0 {
				continue
			}
			t.row()
			rows("CREDITS, CHARGES, BY", sums, func(s billing.Sum) []any { return []any{s.Credits, s.Charges, s.Name} })(t)
		}
	})
}
