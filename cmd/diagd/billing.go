package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/spf13/cobra"
)

// billingCommand is the group of commands about months and invoices.
func (a *app) billingCommand() *cobra.Command {
	c := &billingCommands{app: a}
	cmd := group("billing", "Close months, list and mend invoices, have payments tried again",
		c.closeCommand(), c.previewCommand(), c.invoicesCommand(), c.notesCommand(), c.chargesCommand(), c.retryCommand(),
		c.finalizeCommand(), c.voidCommand(), c.creditCommand(), c.paidCommand(), c.uncollectibleCommand(),
		c.standingCommand("suspend", "Refuse what an account would be charged from now on", billing.Billing.Suspend),
		c.standingCommand("resume", "Let an account that was suspended go on", billing.Billing.Resume))
	cmd.PersistentFlags().BoolVar(&a.json, "json", false, "print JSON")
	cmd.PersistentFlags().BoolVar(&c.csv, "csv", false, "print CSV (RFC 4180) of invoices and charges")
	return cmd
}

// billingCommands are the commands with their flags.
type billingCommands struct {
	*app
	csv            bool
	account, month string
	state          string
	failed         bool
	pages          pageFlags

	by, reason, reference string
	cents                 int64
	reissue               bool
}

// administerBilling runs a function on the invoices of the store.
func (c *billingCommands) administerBilling(ctx context.Context, f func(billing.Billing) error) error {
	return c.administer(ctx, func(admin metering.Admin) error {
		return f(billing.Billing{Store: admin.Store, Plans: admin.Plans, Clock: admin.Clock, By: c.by})
	})
}

// period is the month of --month, or the last that can be closed.
func (c *billingCommands) period() (metering.Period, error) {
	p := metering.PeriodOf(time.Now().Add(-billing.Grace)).Previous()
	if c.month == "" {
		return p, nil
	}
	return parseMonth(c.month)
}

func parseMonth(text string) (p metering.Period, err error) {
	if err = p.UnmarshalText([]byte(text)); err != nil {
		err = usagef("--month: %w", err)
	}
	return p, err
}

// known refuses the id of an account that does not exist. None stands for all.
func (c *billingCommands) known(ctx context.Context, store metering.Store) error {
	if c.account == "" {
		return nil
	}
	_, err := store.Account(ctx, metering.AccountID(c.account))
	if errors.Is(err, metering.ErrNotFound) {
		return usagef("--account: %w; diagd account list shows the ids", err)
	}
	return err
}

func (c *billingCommands) closeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "close", Short: "Make the invoices of a month that do not exist yet", Args: noArgs,
		Long: `Make the invoices of a month that do not exist yet: one for each account, however often this is run.

A month can be closed from 15 minutes after its end on. A server with --biller closes the last month by itself. Prices
are those that were in force in the month; diagd plan list shows them.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := c.period()
			if err != nil {
				return err
			}
			return c.administerBilling(cmd.Context(), func(b billing.Billing) error {
				closed, err := b.Close(cmd.Context(), p)
				if _, early := errors.AsType[*billing.TooEarlyError](err); early {
					return err
				}
				return errors.Join(err, c.showClosed(cmd.Context(), b, closed)) // some invoices may have been made
			})
		},
	}
	cmd.Flags().StringVar(&c.month, "month", "", "such as 2026-10 (default: the last that can be closed, UTC)")
	return cmd
}

func (c *billingCommands) showClosed(ctx context.Context, b billing.Billing, closed billing.Closed) error {
	if c.csv {
		return billing.WriteInvoices(c.stdout, b.Invoices(ctx, billing.Filter{Period: &closed.Period}))
	}
	return c.print(closed, func(t *table) {
		t.row("month", closed.Period)
		t.row("invoices made", closed.Created)
		t.row("made before", closed.Existed)
		t.row("accounts without", closed.Without)
	})
}

func (c *billingCommands) previewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "preview ACCOUNT", Short: "Show what an account would owe for a month", Args: exactly(1, "the id of an account"),
		Long: `Show what an account would owe for a month if nothing else happened until its end. Nothing is stored.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.administerBilling(cmd.Context(), func(b billing.Billing) (err error) {
				p := metering.PeriodOf(time.Now())
				if c.month != "" {
					if p, err = parseMonth(c.month); err != nil {
						return err
					}
				}
				v, err := b.Preview(cmd.Context(), metering.AccountID(args[0]), p)
				return c.showInvoices(err, v)
			})
		},
	}
	cmd.Flags().StringVar(&c.month, "month", "", "such as 2026-10 (default: this month, UTC)")
	return cmd
}

func (c *billingCommands) invoicesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "invoices", Short: "List invoices", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f := billing.Filter{Account: metering.AccountID(c.account), State: billing.State(c.state)}
			if c.state != "" && !slices.Contains(billing.States(), f.State) {
				return usagef("--state: %q is none of %s", c.state, stateNames())
			}
			if c.month != "" {
				p, err := parseMonth(c.month)
				if err != nil {
					return err
				}
				f.Period = &p
			}
			return c.administerBilling(cmd.Context(), func(b billing.Billing) error {
				if err := c.known(cmd.Context(), b.Store); err != nil {
					return err
				}
				list, err := pageOf(c.pages, b.Invoices(cmd.Context(), f), func(v billing.Invoice) string { return v.Number })
				return c.showInvoices(err, list...)
			})
		},
	}
	cmd.Flags().StringVar(&c.account, "account", "", "only of this account")
	cmd.Flags().StringVar(&c.month, "month", "", "only of this month, such as 2026-10")
	cmd.Flags().StringVar(&c.state, "state", "", "only those that are "+stateNames())
	c.pages.add(cmd.Flags())
	return cmd
}

func stateNames() string {
	var names []string
	for _, s := range billing.States() {
		names = append(names, string(s))
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// showInvoices prints a list of invoices.
func (c *billingCommands) showInvoices(err error, list ...billing.Invoice) error {
	if err != nil {
		return err
	}
	if c.csv {
		return billing.WriteInvoices(c.stdout, func(yield func(billing.Invoice, error) bool) {
			for _, v := range list {
				if !yield(v, nil) {
					return
				}
			}
		})
	}
	return c.print(append([]billing.Invoice{}, list...), func(t *table) {
		t.row("NUMBER", "INVOICE", "ACCOUNT", "PLAN", "CREDITS", "OVERAGE", "TOTAL CENTS", "TO PAY", "CURRENCY", "STATE",
			"ATTEMPTS", "NEXT", "PAYMENT OR ERROR")
		for _, v := range list {
			attempts, note := 0, string(v.Payment)
			if n := len(v.Attempts); n > 0 {
				attempts = v.Attempts[n-1].Number
				if v.State != billing.Paid && v.State != billing.Pending {
					note = v.Attempts[n-1].Error
				}
			}
			t.row(v.Number, v.ID, v.Account, v.Plan, v.UsedCredits, v.OverageCredits, v.TotalCents, v.AmountCents, v.Currency,
				v.State, attempts, when(v.NextAttempt), note)
		}
	})
}

func (c *billingCommands) notesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "notes", Short: "List what was done to invoices, credit notes included: why, when, and by whom", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.administerBilling(cmd.Context(), func(b billing.Billing) error {
				if err := c.known(cmd.Context(), b.Store); err != nil {
					return err
				}
				list, err := pageOf(c.pages, b.Notes(cmd.Context(), metering.AccountID(c.account)),
					func(n billing.Note) string { return string(n.Account) + "/" + n.ID })
				return c.showNotes(err, list...)
			})
		},
	}
	cmd.Flags().StringVar(&c.account, "account", "", "only of this account")
	c.pages.add(cmd.Flags())
	return cmd
}

func (c *billingCommands) showNotes(err error, list ...billing.Note) error {
	if err != nil {
		return err
	}
	return c.print(append([]billing.Note{}, list...), func(t *table) {
		t.row("NOTE", "AT", "INVOICE", "WHAT", "STATE", "CREDITED CENTS", "CREDIT NOTE", "BY", "REASON")
		for _, n := range list {
			t.row(string(n.Account)+"/"+n.ID, when(&n.At), n.Invoice, n.Action, n.State, n.Cents, n.Number, n.By, n.Reason)
		}
	})
}

func (c *billingCommands) chargesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "charges", Short: "Sum the charges of a month by account, key and endpoint", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := c.period()
			if err != nil {
				return err
			}
			return c.administerBilling(cmd.Context(), func(b billing.Billing) error {
				if err := c.known(cmd.Context(), b.Store); err != nil {
					return err
				}
				list, err := billing.Charges(cmd.Context(), b.Store, metering.AccountID(c.account), p)
				if err != nil {
					return err
				}
				if c.csv {
					return billing.WriteUsages(c.stdout, p, list)
				}
				return c.print(append([]billing.Usage{}, list...), func(t *table) {
					t.row("ACCOUNT", "KEY", "CREDITS", "CHARGES", "ENDPOINT")
					for _, u := range list {
						t.row(u.Account, u.Key, u.Credits, u.Charges, u.Endpoint)
					}
				})
			})
		},
	}
	cmd.Flags().StringVar(&c.account, "account", "", "only of this account")
	cmd.Flags().StringVar(&c.month, "month", "", "such as 2026-10 (default: the last that is over, UTC)")
	return cmd
}
