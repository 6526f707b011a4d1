package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/spf13/cobra"
)

// billingCommand is the group of commands about months and invoices.
func (a *app) billingCommand() *cobra.Command {
	c := &billingCommands{app: a}
	cmd := group("billing", "Close months, list invoices, have payments tried again",
		c.closeCommand(), c.invoicesCommand(), c.chargesCommand(), c.retryCommand())
	cmd.PersistentFlags().BoolVar(&a.json, "json", false, "print JSON")
	cmd.PersistentFlags().BoolVar(&c.csv, "csv", false, "print CSV (RFC 4180)")
	return cmd
}

// billingCommands are the commands with their flags.
type billingCommands struct {
	*app
	csv            bool
	account, month string
	state          string
	failed         bool
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
func (c *billingCommands) known(ctx context.Context, admin metering.Admin) error {
	if c.account == "" {
		return nil
	}
	_, err := admin.Store.Account(ctx, metering.AccountID(c.account))
	if errors.Is(err, metering.ErrNotFound) {
		return usagef("--account: %w; diagd account list shows the ids", err)
	}
	return err
}

func (c *billingCommands) closeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "close", Short: "Make the invoices of a month that do not exist yet", Args: noArgs,
		Long: `Make the invoices of a month that do not exist yet: one for each account, however often this is run.

A month can be closed from 15 minutes after its end on. A server with --biller closes the last month by itself. The
price list is that of --data.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := c.period()
			if err != nil {
				return err
			}
			return c.administer(cmd.Context(), func(admin metering.Admin) error {
				b := billing.Billing{Store: admin.Store, Plans: admin.Plans, Clock: clockOf(admin.Store)}
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

func (c *billingCommands) invoicesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "invoices", Short: "List invoices", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f := billing.Filter{Account: metering.AccountID(c.account), State: billing.State(c.state)}
			if !slices.Contains([]billing.State{"", billing.Open, billing.Paid, billing.Failed}, f.State) {
				return usagef("--state: %q is none of open, paid, failed", c.state)
			}
			if c.month != "" {
				p, err := parseMonth(c.month)
				if err != nil {
					return err
				}
				f.Period = &p
			}
			return c.administer(cmd.Context(), func(admin metering.Admin) error {
				if err := c.known(cmd.Context(), admin); err != nil {
					return err
				}
				list := []billing.Invoice{}
				for v, err := range (billing.Billing{Store: admin.Store}).Invoices(cmd.Context(), f) {
					if err != nil {
						return err
					}
					list = append(list, v)
				}
				return c.showInvoices(list)
			})
		},
	}
	cmd.Flags().StringVar(&c.account, "account", "", "only of this account")
	cmd.Flags().StringVar(&c.month, "month", "", "only of this month, such as 2026-10")
	cmd.Flags().StringVar(&c.state, "state", "", "only open, paid or failed ones")
	return cmd
}

// showInvoices prints a list of invoices.
func (c *billingCommands) showInvoices(list []billing.Invoice) error {
	if c.csv {
		return billing.WriteInvoices(c.stdout, func(yield func(billing.Invoice, error) bool) {
			for _, v := range list {
				if !yield(v, nil) {
					return
				}
			}
		})
	}
	return c.print(list, func(t *table) {
		t.row("MONTH", "ACCOUNT", "PLAN", "CREDITS", "OVERAGE", "CENTS", "CURRENCY", "STATE", "ATTEMPTS", "NEXT",
			"PAYMENT OR ERROR")
		for _, v := range list {
			attempts, note := 0, string(v.Payment)
			if n := len(v.Attempts); n > 0 {
				attempts = v.Attempts[n-1].Number
				if v.State != billing.Paid {
					note = v.Attempts[n-1].Error
				}
			}
			t.row(v.ID, v.Account, v.Plan, v.UsedCredits, v.OverageCredits, v.TotalCents, v.Currency, v.State, attempts,
				when(v.NextAttempt), note)
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
			return c.administer(cmd.Context(), func(admin metering.Admin) error {
				if err := c.known(cmd.Context(), admin); err != nil {
					return err
				}
				list, err := billing.Charges(cmd.Context(), admin.Store, metering.AccountID(c.account), p)
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

func (c *billingCommands) retryCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "retry [ACCOUNT MONTH]", Short: "Have an invoice charged again, from now on and with all attempts",
		Long: `Have an invoice that is open or has failed charged again: the server does so within two minutes, and makes all
attempts anew if that fails. With --failed, all invoices that have failed.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if c.failed {
				return noArgs(cmd, args)
			}
			return exactly(2, "the id of an account, and a month such as 2026-10")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.administer(cmd.Context(), func(admin metering.Admin) error {
				return c.retry(cmd.Context(), billing.Billing{Store: admin.Store, Clock: clockOf(admin.Store)}, args)
			})
		},
	}
	cmd.Flags().BoolVar(&c.failed, "failed", false, "all invoices that have failed")
	return cmd
}

func (c *billingCommands) retry(ctx context.Context, b billing.Billing, args []string) error {
	list := []billing.Invoice{}
	if c.failed {
		for v, err := range b.Invoices(ctx, billing.Filter{State: billing.Failed}) {
			if err != nil {
				return err
			}
			list = append(list, v)
		}
	} else {
		list = append(list, billing.Invoice{Account: metering.AccountID(args[0]), ID: args[1]})
	}
	for i, v := range list {
		var err error
		list[i], err = b.Retry(ctx, v.Account, v.ID)
		refused, _ := errors.AsType[*billing.RefusedError](err)
		switch {
		case errors.Is(err, metering.ErrNotFound):
			return usagef("%w; diagd billing invoices lists them", err)
		case refused != nil:
			return usageError{err}
		case err != nil:
			return fmt.Errorf("invoice %s of %s: %w", v.ID, v.Account, err)
		}
	}
	return c.showInvoices(list)
}
