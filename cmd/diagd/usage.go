package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/diagkit/diagkit/httpapi"
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
	ByEndpoint []usageRow         `json:"by_endpoint"`
	ByKey      []usageRow         `json:"by_key"`
}

type usageRow struct {
	Name    string `json:"name"`
	Credits int64  `json:"credits"`
	Charges int64  `json:"charges_count"`
}

func (a *app) usageCommand() *cobra.Command {
	var account, month string
	cmd := &cobra.Command{
		Use: "usage", Short: "Show what an account used in a month", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			period := metering.PeriodOf(time.Now())
			if month != "" {
				if err := period.UnmarshalText([]byte(month)); err != nil {
					return usagef("--month: %w", err)
				}
			}
			return a.administer(cmd.Context(), func(admin metering.Admin) error {
				owner, err := onlyAccount(cmd.Context(), admin, account)
				if err != nil {
					return err
				}
				return a.showUsage(cmd.Context(), admin.Store, owner.ID, period)
			})
		},
	}
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON")
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
	endpoints, keys := map[string]usageRow{}, map[string]usageRow{}
	for entry, err := range store.Entries(ctx, metering.EntryFilter{Account: id, Period: &period}) {
		if err != nil {
			return err
		}
		count(endpoints, entry.Endpoint, entry.Credits)
		count(keys, string(entry.Key), entry.Credits)
	}
	v := usageView{id, period, b.Plan, b.Limit, b.Used, b.Remaining(), b.Overage, b.Charges, ranked(endpoints),
		ranked(keys)}
	return a.print(v, func(t *table) {
		t.row("account", v.Account)
		t.row("month", v.Period)
		t.row("plan", v.Plan)
		t.row("used", fmt.Sprintf("%d of %d credits in %d charges", v.Used, v.Limit, v.Charges))
		for _, rows := range [][]usageRow{v.ByEndpoint, v.ByKey} {
			t.row()
			t.row("CREDITS", "CHARGES", "BY")
			for _, r := range rows {
				t.row(r.Credits, r.Charges, r.Name)
			}
		}
	})
}

func count(rows map[string]usageRow, name string, credits int64) {
	r := rows[name]
	rows[name] = usageRow{name, r.Credits + credits, r.Charges + 1}
}

func ranked(rows map[string]usageRow) []usageRow {
	list := slices.AppendSeq([]usageRow{}, maps.Values(rows))
	slices.SortFunc(list, func(a, b usageRow) int {
		return cmp.Or(cmp.Compare(b.Credits, a.Credits), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// auditView is the result of an audit.
type auditView struct {
	Accounts int                   `json:"accounts_count"`
	Entries  int64                 `json:"entries_count"`
	Credits  int64                 `json:"credits"`
	Unproven int64                 `json:"unproven_count"`     // entries that no chain proves
	Invoices *auditedInvoices      `json:"invoices,omitempty"` // absent where none were read
	Against  *againstView          `json:"against,omitempty"`
	Faults   []metering.AuditFault `json:"faults"`
}

type auditedInvoices struct {
	Count    int `json:"count"`
	Unproven int `json:"unproven_count"` // older than the notes that would prove them
}

func (a *app) auditCommand() *cobra.Command {
	var head bool
	var against string
	cmd := &cobra.Command{
		Use: "audit", Short: "Prove that ledger, balances and invoices agree", Args: noArgs,
		Long: `Prove that ledger, balances and invoices agree.

With --head it prints a proof of all charges and invoices instead, to be kept elsewhere; with --against it also proves
that those of such a head are what they were. The exit code is 3 if something does not agree, and 1 if it could not be
compared.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var then headView
			var err error
			if against != "" {
				if then, err = readHead(against); err != nil {
					return err
				}
			}
			return a.administer(cmd.Context(), func(admin metering.Admin) error {
				b := billing.Billing{Store: admin.Store, Plans: admin.Plans, Clock: admin.Clock}
				if head {
					return a.printHead(cmd.Context(), b)
				}
				audit, err := admin.Store.Audit(cmd.Context())
				if err != nil {
					return err
				}
				invoices, err := b.Audit(cmd.Context())
				if err != nil {
					return err
				}
				v := newAuditView(audit)
				v.Invoices = &auditedInvoices{invoices.Invoices, invoices.Unproven}
				v.Faults = append(v.Faults, invoices.Faults...)
				if against != "" {
					if err := v.against(cmd.Context(), b, then, admin.Time()); err != nil {
						return err
					}
				}
				a.did(auditDeed, len(v.Faults))
				return a.showAuditView(v)
			})
		},
	}
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON")
	cmd.Flags().BoolVar(&head, "head", false, "print a proof of all charges and invoices, as JSON, to be kept elsewhere")
	cmd.Flags().StringVar(&against, "against", "", "file with such a proof: was anything of it changed since?")
	return cmd
}

func newAuditView(audit metering.Audit) auditView {
	return auditView{Accounts: audit.Accounts, Entries: audit.Entries, Credits: audit.Credits, Unproven: audit.Unproven,
		Faults: append([]metering.AuditFault{}, audit.Faults...)}
}

func (v auditView) rows(t *table) {
	t.row(fmt.Sprintf("%d credits in %d charges of %d accounts", v.Credits, v.Entries, v.Accounts))
	if v.Unproven > 0 {
		t.row(fmt.Sprintf("%d charges are proven by no chain: they are from before there was one, or a part of their "+
			"month was pruned", v.Unproven))
	}
	if v.Against != nil {
		for _, p := range v.Against.Pruned {
			t.row(fmt.Sprintf("%v cannot be compared with the head: charges of it are gone, as old ones are when they "+
				"are pruned", p))
		}
	}
	if i := v.Invoices; i != nil && i.Unproven > 0 {
		t.row(fmt.Sprintf("%d of %d invoices are older than what would prove them", i.Unproven, i.Count))
	}
	for _, f := range v.Faults {
		t.row("FAULT", f.Account, f.Period, f.Detail)
	}
}

func (a *app) showAudit(audit metering.Audit) error { return a.showAuditView(newAuditView(audit)) }

func (a *app) showAuditView(v auditView) error {
	err := a.print(v, v.rows)
	if err == nil && len(v.Faults) > 0 {
		return fmt.Errorf("%w (%d)", errFaults, len(v.Faults))
	}
	return err
}

func (a *app) openapiCommand() *cobra.Command {
	return &cobra.Command{
		Use: "openapi", Short: "Print the OpenAPI document", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := a.stdout.Write(httpapi.OpenAPI())
			return err
		},
	}
}
