package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/metering"
	"github.com/spf13/cobra"
)

type planView struct {
	metering.Plan
	From       metering.Period `json:"from"`
	ImportedAt time.Time       `json:"imported_at"`
}

func viewPlan(v metering.PlanVersion) planView { return planView{v.Plan, v.From, v.ImportedAt} }

func (v planView) name() string { return string(v.ID) + "@" + v.From.String() }

func (a *app) planCommand() *cobra.Command {
	var pages pageFlags
	list := a.onStore("list", "List the plans with the month from which on each version holds", "",
		func(ctx context.Context, admin metering.Admin, _ []string) error {
			versions, err := admin.Store.PlanVersions(ctx)
			views, err := page(pages, each(diag.Map(versions, viewPlan), err), planView.name)
			return a.showPlans(views, err)
		})
	pages.add(list.Flags())
	return a.group("plan", "List and change what plans include and cost", list, a.planImportCommand())
}

func (a *app) planImportCommand() *cobra.Command {
	var from string
	cmd := a.onStore("import FILE", "Let plans hold from a month on", "a file in the form of plans.json",
		func(ctx context.Context, admin metering.Admin, args []string) error {
			data, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			plans, err := parsePlans(data)
			if err != nil {
				return usagef("%s: %w", args[0], err)
			}
			month, err := monthOr("--from", from, metering.PeriodOf(admin.Time()).Next())
			if err != nil {
				return err
			}
			if versions, err := admin.Store.PlanVersions(ctx); err != nil {
				return err
			} else if len(versions) == 0 {
				return errors.New("the store holds no plans yet; diagd migrate, with the --data of the server, " +
					"takes them over")
			}
			added, err := admin.ImportPlans(ctx, plans, month)
			return a.showPlans(diag.Map(added, viewPlan), err)
		})
	cmd.Long = `Let plans hold from a month on: those of a file in the form of plans.json that differ from what
holds then.

What is in force stays as it is: a plan changes with the next month at the earliest, and only one whose id is new may
hold from this month on. Versions are never changed or removed. A server takes them up within a minute.`
	cmd.Flags().StringVar(&from, "from", "", "such as 2026-12 (default: the next month, UTC)")
	return cmd
}

// monthOr reads the month of a flag, which without one is another.
func monthOr(flag, text string, other metering.Period) (metering.Period, error) {
	if text == "" {
		return other, nil
	}
	if err := other.UnmarshalText([]byte(text)); err != nil {
		return other, usagef("%s: %w", flag, err)
	}
	return other, nil
}

func (a *app) showPlans(views []planView, err error) error {
	return printList(a, views, err, "VERSION, NAME, PRICE, CREDITS, PER MINUTE, OVERAGE, IMPORTED",
		func(v planView) []any {
			price, overage := "on request", "none"
			if v.PriceCents != nil {
				price = fmt.Sprintf("%d.%02d %s", *v.PriceCents/100, *v.PriceCents%100, v.Currency)
			}
			if !v.HardCap() {
				cents := float64(v.OverageRate) / metering.MicrosPerCent
				overage = strconv.FormatFloat(cents, 'f', -1, 64) + " cents a credit"
			}
			return []any{v.name(), v.Name, price, v.Credits, v.PerMinute, overage, when(&v.ImportedAt)}
		})
}

// seedPlans puts the plans of this program, or those of --data, into a store that holds none, as if they had always
// been in force: nobody can say what was.
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

// followPlans takes the plans into a store that holds none, says where plans.json differs, and reads what others import
// until the function that it returns is called.
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
	reading.begin(ctx, log, func(ctx context.Context) {
		for rest(ctx, plansEvery) {
			if err := prices.Read(ctx, store); err != nil && ctx.Err() == nil {
				log.Warn("the plans could not be read anew; those that were read hold on", "error", err)
			}
		}
	})
	return reading.close, nil
}

// comparePlans warns where a plans.json says something else than the store.
func (a *app) comparePlans(prices *metering.PriceList, log *slog.Logger) error {
	plans, from, err := a.plans()
	if err != nil || from == builtIn {
		return err
	}
	var differ []metering.PlanID
	for _, v := range plans.Versions(metering.Period{}, time.Time{}) {
		if last, ok := prices.In(farMonth)[v.Plan.ID]; !ok || !last.Equal(v.Plan) {
			differ = append(differ, v.Plan.ID)
		}
	}
	if len(differ) > 0 {
		log.Warn("plans.json differs from the plans in the store, which hold; diagd plan import takes it over",
			"plans", differ)
	}
	return nil
}

// farMonth is behind every version.
var farMonth = metering.Period{Year: 9999, Month: time.December}
