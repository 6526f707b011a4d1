package main

import (
	"context"
	"errors"
	"fmt"
	"github.com/diagkit/diagkit/diag/kit"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/spf13/cobra"
)

type planView struct {
	metering.Plan
	From       metering.Period `json:"from"`
	Existing   bool            `json:"existing,omitempty"`
	ImportedAt time.Time       `json:"imported_at"`
}

func viewPlan(v metering.PlanVersion) planView {
	return planView{v.Plan, v.From, v.ReplacesAllowances, v.ImportedAt}
}

func (v planView) name() string { return string(v.ID) + "@" + v.From.String() }

func (a *app) planCommand() *cobra.Command {
	var pages pageFlags
	list := a.newStoreCommand("list", "List the versions of plans and the months from which they apply", "",
		func(ctx context.Context, admin metering.Admin, _ []string) error {
			versions, err := admin.Store.PlanVersions(ctx)
			views, err := metering.Collect(paginate(pages, sequence(kit.Map(versions, viewPlan), err), planView.name))
			return a.showPlans(views, err)
		})
	pages.add(list.Flags())
	return a.newGroup("plan", "List and import plans", list, a.planImportCommand())
}

func (a *app) planImportCommand() *cobra.Command {
	var from string
	var existing bool
	cmd := a.newStoreCommand("import FILE", "Import plans that apply from a month on", "a file in the form of plans.json",
		func(ctx context.Context, admin metering.Admin, args []string) error {
			data, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			plans, err := parsePlans(data)
			if err != nil {
				return usagef("%s: %w", args[0], err)
			}
			month, err := parseMonth("--from", from, metering.PeriodOf(admin.Time()).Next())
			if err != nil {
				return err
			}
			versions, err := admin.Store.PlanVersions(ctx)
			if err != nil {
				return err
			} else if len(versions) == 0 {
				return errors.New("the store has no plans yet; diagd migrate, with the --data of the server, " +
					"imports them")
			}
			accounts, err := admin.Store.Accounts(ctx)
			if err != nil {
				return err
			}
			admin.ReplaceAllowances = existing
			added, err := admin.ImportPlans(ctx, plans, month)
			if err != nil {
				return err
			}
			return a.showImport(kit.Map(added, func(v metering.PlanVersion) importView {
				return importView{viewPlan(v), affectedAccounts(v, versions, accounts)}
			}))
		})
	cmd.Long = `Import the plans of a file in the form of plans.json that differ from those in force in that month.

Accounts on a plan keep its allowance if the new one is smaller, and are listed; with --existing they do not. Price,
overage rate and rate limit change for all.

Plans change with the next month at the earliest; only a plan with a new id may apply from this month. Versions are
never changed or removed. Running servers apply them within a minute.`
	cmd.Flags().StringVar(&from, "from", "", "such as 2026-12 (default: the next month, UTC)")
	cmd.Flags().BoolVar(&existing, "existing", false, "also lower the allowance of existing accounts")
	return cmd
}

// importView is a version that was imported, with the accounts whose allowance was larger.
type importView struct {
	planView
	Accounts []holderView `json:"accounts"`
}

// holderView is what a plan includes for an account that has it when a new version comes into force.
type holderView struct {
	Account metering.AccountID `json:"account"`
	Before  int64              `json:"limit_before"`
	Limit   int64              `json:"limit"`
}

// affectedAccounts returns the accounts for which the earlier versions include more than the new one does for others.
func affectedAccounts(
	v metering.PlanVersion, versions []metering.PlanVersion, accounts []metering.Account,
) []holderView {
	before := metering.NewPriceList(versions...).In(v.From)[v.Plan.ID]
	after := metering.NewPriceList(append(slices.Clone(versions), v)...).In(v.From)[v.Plan.ID]
	list := []holderView{}
	for _, a := range accounts {
		h := holderView{a.ID, before.Allowance(a), after.Allowance(a)}
		if a.PlanIn(v.From) == v.Plan.ID && h.Before > v.Plan.Credits {
			list = append(list, h)
		}
	}
	return list
}

func (a *app) showImport(list []importView) error {
	return a.print(append([]importView{}, list...), func(t *table) {
		planRows(kit.Map(list, func(v importView) planView { return v.planView }))(t)
		for _, v := range list {
			for _, h := range v.Accounts {
				if h.Limit < h.Before {
					t.row(fmt.Sprintf("%s has %d credits a month with %s, %d before", h.Account, h.Limit, v.name(), h.Before))
				} else {
					t.row(fmt.Sprintf("%s keeps its %d credits a month with %s", h.Account, h.Limit, v.name()))
				}
			}
		}
	})
}

// parseMonth reads the month of a flag, which without one is another.
func parseMonth(flag, text string, other metering.Period) (metering.Period, error) {
	if text == "" {
		return other, nil
	}
	if err := other.UnmarshalText([]byte(text)); err != nil {
		return other, usagef("%s: %w", flag, err)
	}
	return other, nil
}

func (a *app) showPlans(views []planView, err error) error {
	if err != nil {
		return err
	}
	return a.print(append([]planView{}, views...), planRows(views))
}

func planRows(views []planView) func(*table) {
	return rows("VERSION, NAME, PRICE, CREDITS, PER MINUTE, OVERAGE, IMPORTED", views,
		func(v planView) []any {
			price, overage := "on request", "none"
			if v.PriceCents != nil {
				price = fmt.Sprintf("%d.%02d %s", *v.PriceCents/100, *v.PriceCents%100, v.Currency)
			}
			if !v.HasHardCap() {
				cents := float64(v.OverageRate) / metering.MicrosPerCent
				overage = strconv.FormatFloat(cents, 'f', -1, 64) + " cents a credit"
			}
			return []any{v.name(), v.Name, price, v.Credits, v.PerMinute, overage, formatTime(&v.ImportedAt)}
		})
}

// seedPlans puts the plans of this program, or those of --data, into a store that holds none, as if they had always
// been in force: what was is unknown.
func (a *app) seedPlans(ctx context.Context, store metering.Store) error {
	versions, err := store.PlanVersions(ctx)
	if err != nil || len(versions) > 0 {
		return err
	}
	plans, _, err := a.plans()
	if err != nil {
		return err
	}
	err = store.PutPlanVersions(ctx, plans.Versions(metering.Period{}, time.Now())...)
	if errors.Is(err, metering.ErrVersion) {
		err = nil // another server was first
	}
	return err
}

// plansEvery is how often a server reads the plans anew.
const plansEvery = time.Minute

// followPlans imports the plans into a store that holds none, reports differences in plans.json, and reads what
// others import until the function that it returns is called.
func (a *app) followPlans(
	ctx context.Context, store metering.Store, prices *metering.PriceList, log *slog.Logger,
) (stop func(), err error) {
	if err = a.seedPlans(ctx, store); err == nil {
		err = prices.Read(ctx, store)
	}
	if err == nil {
		err = a.comparePlans(prices, log)
	}
	if err != nil {
		return nil, err
	}
	var reading background
	reading.start(ctx, log, func(ctx context.Context) {
		for sleep(ctx, plansEvery) {
			if err := prices.Read(ctx, store); err != nil && ctx.Err() == nil {
				log.Warn("reading the plans; the earlier ones stay in force", "error", err)
			}
		}
	})
	return reading.close, nil
}

// comparePlans warns if a plans.json differs from the store.
func (a *app) comparePlans(prices *metering.PriceList, log *slog.Logger) error {
	plans, from, err := a.plans()
	if err != nil || from == builtIn {
		return err
	}
	var differ []metering.PlanID
	for _, v := range plans.Versions(metering.Period{}, time.Time{}) {
		if last, ok := prices.In(lastPeriod)[v.Plan.ID]; !ok || !last.Equal(v.Plan) {
			differ = append(differ, v.Plan.ID)
		}
	}
	if len(differ) > 0 {
		log.Warn("plans.json differs from the plans in the store, which are in force; diagd plan import imports it",
			"plans", differ)
	}
	return nil
}

// lastPeriod is later than every version.
var lastPeriod = metering.Period{Year: 9999, Month: time.December}
