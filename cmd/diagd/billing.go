package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/spf13/cobra"
)

func (a *app) billingCommand() *cobra.Command {
	c := &billingCommands{app: a}
	cmd := a.newGroup("billing", "Close months, list and correct invoices, retry payments",
		c.closeCommand(), c.previewCommand(), c.invoicesCommand(), c.notesCommand(), c.chargesCommand(), c.retryCommand(),
		c.finalizeCommand(), c.voidCommand(), c.creditCommand(), c.paidCommand(), c.uncollectibleCommand(),
		c.accountStateCommand("suspend", "Refuse all billable requests of an account", billing.Billing.Suspend),
		c.accountStateCommand("resume", "Resume a suspended account", billing.Billing.Resume))
	cmd.PersistentFlags().BoolVar(&c.csv, "csv", false, "print CSV (RFC 4180) of invoices, notes and charges")
	return cmd
}

type billingCommands struct {
	*app
	csv                   bool
	account, month, state string
	failed                bool
	pages                 pageFlags

	by, reason, reference string
	cents                 int64
	reissue               bool
}

// newCommand makes a command that works on the invoices of the store. An account that --account names must exist.
func (c *billingCommands) newCommand(
	use, short, takes string, run func(context.Context, billing.Billing, []string) error,
) *cobra.Command {
	return c.newStoreCommand(use, short, takes, func(ctx context.Context, admin metering.Admin, args []string) error {
		if c.account != "" {
			if _, err := admin.Store.Account(ctx, metering.AccountID(c.account)); err != nil {
				return asUnknownAccount(err)
			}
		}
		return run(ctx, billing.Billing{Store: admin.Store, Plans: admin.Plans, Clock: admin.Clock, By: c.by}, args)
	})
}

// lastClosableMonth is the last that can be closed.
func lastClosableMonth() metering.Period {
	return metering.PeriodOf(time.Now().Add(-billing.Grace)).Previous()
}

func (c *billingCommands) closeCommand() *cobra.Command {
	cmd := c.newCommand("close", "Create the missing invoices of a month", "",
		func(ctx context.Context, b billing.Billing, _ []string) error {
			p, err := parseMonth("--month", c.month, lastClosableMonth())
			if err != nil {
				return err
			}
			closed, err := b.Close(ctx, p)
			if _, early := errors.AsType[*billing.TooEarlyError](err); early {
				return err
			}
			return errors.Join(err, c.showClosed(ctx, b, closed)) // some invoices may have been made
		})
	cmd.Long = `Create the missing invoices of a month: one for each account, however often this is run.

A month can be closed 15 minutes after its end. A server with --biller closes the last month automatically. Prices are
those that were in force in the month; diagd plan list shows them.`
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
		t.row("accounts without", closed.WithoutInvoice)
	})
}

func (c *billingCommands) previewCommand() *cobra.Command {
	cmd := c.newCommand("preview ACCOUNT", "Estimate the invoice of an account for a month", "the id of an account",
		func(ctx context.Context, b billing.Billing, args []string) error {
			p, err := parseMonth("--month", c.month, metering.PeriodOf(time.Now()))
			if err != nil {
				return err
			}
			return c.showInvoice(b.Preview(ctx, metering.AccountID(args[0]), p))
		})
	cmd.Long = `Estimate the invoice of an account for a month, based on usage so far. Nothing is stored.`
	cmd.Flags().StringVar(&c.month, "month", "", "such as 2026-10 (default: this month, UTC)")
	return cmd
}

func (c *billingCommands) invoicesCommand() *cobra.Command {
	cmd := c.newCommand("invoices", "List invoices", "", func(ctx context.Context, b billing.Billing, _ []string) error {
		f := billing.Filter{Account: metering.AccountID(c.account), State: billing.State(c.state)}
		if c.state != "" && !slices.Contains(billing.States(), f.State) {
			return usagef("--state: %q is not one of %s", c.state, stateNames())
		}
		if c.month != "" {
			p, err := parseMonth("--month", c.month, metering.Period{})
			if err != nil {
				return err
			}
			f.Period = &p
		}
		return c.showInvoices(paginate(c.pages, b.Invoices(ctx, f), func(v billing.Invoice) string { return v.Number }))
	})
	cmd.Flags().StringVar(&c.account, "account", "", "only of this account")
	cmd.Flags().StringVar(&c.month, "month", "", "only of this month, such as 2026-10")
	cmd.Flags().StringVar(&c.state, "state", "", "only those that are "+stateNames())
	c.pages.add(cmd.Flags())
	return cmd
}

func stateNames() string {
	names := kit.Values(billing.States()...)
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

func (c *billingCommands) showInvoice(v billing.Invoice, err error) error {
	return c.showInvoices(sequence([]billing.Invoice{v}, err))
}

func (c *billingCommands) showInvoices(list iter.Seq2[billing.Invoice, error]) error {
	if c.csv {
		return billing.WriteInvoices(c.stdout, list)
	}
	return printEach(c.app, list, "NUMBER, INVOICE, ACCOUNT, PLAN, CREDITS, OVERAGE, TOTAL CENTS, TO PAY, CURRENCY, "+
		"STATE, ATTEMPTS, NEXT, PAYMENT OR ERROR", func(v billing.Invoice) []any {
		attempts, note := 0, string(v.Payment)
		if n := len(v.Attempts); n > 0 {
			attempts = v.Attempts[n-1].Number
			if v.State != billing.Paid && v.State != billing.Pending {
				note = v.Attempts[n-1].Error
			}
		}
		return []any{v.Number, v.ID, v.Account, v.Plan, v.UsedCredits, v.OverageCredits, v.TotalCents, v.AmountCents,
			v.Currency, v.State, attempts, formatTime(v.NextAttempt), note}
	})
}

func (c *billingCommands) notesCommand() *cobra.Command {
	cmd := c.newCommand("notes", "List changes of invoices, including credit notes, with reason, time and author", "",
		func(ctx context.Context, b billing.Billing, _ []string) error {
			return c.showNotes(paginate(c.pages, b.Notes(ctx, metering.AccountID(c.account)), noteName))
		})
	cmd.Flags().StringVar(&c.account, "account", "", "only of this account")
	c.pages.add(cmd.Flags())
	return cmd
}

func noteName(n billing.Note) string { return string(n.Account) + "/" + n.ID }

func (c *billingCommands) showNotes(list iter.Seq2[billing.Note, error]) error {
	if c.csv {
		return billing.WriteNotes(c.stdout, list)
	}
	return printEach(c.app, list, "NOTE, AT, INVOICE, WHAT, STATE, CREDITED CENTS, TAX CENTS, CREDIT NOTE, BY, REASON",
		func(n billing.Note) []any {
			return []any{
				noteName(n), formatTime(&n.At), n.Invoice, n.Action, n.State,
				n.Cents, n.TaxCents, n.Number, n.By, n.Reason,
			}
		})
}

func (c *billingCommands) chargesCommand() *cobra.Command {
	cmd := c.newCommand("charges", "Summarize the charges of a month by account, key and endpoint", "",
		func(ctx context.Context, b billing.Billing, _ []string) error {
			p, err := parseMonth("--month", c.month, lastClosableMonth())
			if err != nil {
				return err
			}
			list, err := billing.Charges(ctx, b.Store, metering.AccountID(c.account), p)
			if c.csv && err == nil {
				return billing.WriteUsages(c.stdout, p, list)
			}
			return printList(c.app, list, err, "ACCOUNT, KEY, CREDITS, CHARGES, ENDPOINT", func(u billing.Usage) []any {
				return []any{u.Account, u.Key, u.Credits, u.Charges, u.Endpoint}
			})
		})
	cmd.Flags().StringVar(&c.account, "account", "", "only of this account")
	cmd.Flags().StringVar(&c.month, "month", "", "such as 2026-10 (default: the last that is over, UTC)")
	return cmd
}

// requireReason adds the flags of a person's action: why, and who acts.
func (c *billingCommands) requireReason(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&c.reason, "reason", "", "reason, for the notes (required)")
	cmd.Flags().StringVar(&c.by, "by", userName(), "author, for the notes")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if strings.TrimSpace(c.reason) == "" {
			return usagef("--reason: is required")
		}
		return run(cmd, args)
	}
	return cmd
}

func (c *billingCommands) newInvoiceCommand(
	use, short, long string, do func(ctx context.Context, b billing.Billing, account metering.AccountID, id string) error,
) *cobra.Command {
	takes := "the id of an account, and that of an invoice such as 2026-10, or its number"
	cmd := c.newCommand(use+" ACCOUNT INVOICE", short, takes,
		func(ctx context.Context, b billing.Billing, args []string) error {
			month, _, _ := strings.Cut(args[1], ".")
			if _, err := parseMonth("INVOICE", month, metering.Period{}); err != nil && !billing.IsNumber(args[1]) {
				return err
			}
			return asUsageError(do(ctx, b, metering.AccountID(args[0]), args[1]))
		})
	appendLong(cmd, long)
	return cmd
}

// asUsageError separates the caller's faults from others.
func asUsageError(err error) error {
	refused, _ := errors.AsType[*billing.RefusedError](err)
	switch {
	case errors.Is(err, metering.ErrNotFound):
		return usagef("%w; diagd billing invoices lists them", err)
	case refused != nil:
		return usageError{err}
	}
	return err
}

func (c *billingCommands) retryCommand() *cobra.Command {
	one := c.newInvoiceCommand("retry", "Charge an invoice again, with all attempts",
		`The invoice must be open or failed. The server charges it within two minutes, and repeats all attempts if that fails.
With --failed and no argument, all failed invoices are charged.`,
		func(ctx context.Context, b billing.Billing, account metering.AccountID, id string) error {
			return c.showInvoice(b.Retry(ctx, account, id))
		})
	all := c.newCommand("retry", "", "", c.retryAll)
	chosen := func() *cobra.Command {
		if c.failed {
			return all
		}
		return one
	}
	cmd := &cobra.Command{
		Use: "retry [ACCOUNT INVOICE]", Short: one.Short, Long: one.Long,
		Args: func(cmd *cobra.Command, args []string) error { return chosen().Args(cmd, args) },
		RunE: func(cmd *cobra.Command, args []string) error { return chosen().RunE(cmd, args) },
	}
	cmd.Flags().BoolVar(&c.failed, "failed", false, "all failed invoices")
	return cmd
}

func (c *billingCommands) retryAll(ctx context.Context, b billing.Billing, _ []string) error {
	var list []billing.Invoice
	for v, err := range b.Invoices(ctx, billing.Filter{State: billing.Failed}) {
		if err != nil {
			return err
		}
		retried, err := b.Retry(ctx, v.Account, v.ID)
		if err != nil {
			return fmt.Errorf("invoice %s of %s: %w", v.ID, v.Account, err)
		}
		list = append(list, retried)
	}
	return c.showInvoices(sequence(list, nil))
}

func (c *billingCommands) finalizeCommand() *cobra.Command {
	return c.newInvoiceCommand("finalize", "Finalize a draft before its hour is over",
		`The draft is priced again by the current agreements of the account. A draft of a plan without a price needs an agreed
price first: diagd account set ACCOUNT --agreed-price CENTS.`,
		func(ctx context.Context, b billing.Billing, account metering.AccountID, id string) error {
			return c.showInvoice(b.Finalize(ctx, account, id))
		})
}

func (c *billingCommands) voidCommand() *cobra.Command {
	cmd := c.requireReason(c.newInvoiceCommand(
		"void",
		"Void an invoice",
		`The invoice is no longer charged. With --reissue a corrected draft replaces it, such as 2026-10.2, from the ledger and
the current plans, tax and agreed price of the account. A paid invoice needs a credit note instead. If the outcome of an
attempt is unknown, retry the invoice first, or record it as paid.`,
		func(ctx context.Context, b billing.Billing, account metering.AccountID, id string) error {
			void, next, err := b.Void(ctx, account, id, c.reason, c.reissue)
			if !c.reissue {
				return c.showInvoice(void, err)
			}
			return c.showInvoices(sequence([]billing.Invoice{void, next}, err))
		},
	))
	cmd.Flags().BoolVar(&c.reissue, "reissue", false, "issue a corrected invoice")
	return cmd
}

func (c *billingCommands) creditCommand() *cobra.Command {
	cmd := c.requireReason(c.newInvoiceCommand("credit", "Write a credit note for an invoice",
		`A credit note reduces the amount due of an open or failed invoice. For a paid invoice it records a refund; issue the
refund at the payment service. Cents are those of the total, with tax.`,
		func(ctx context.Context, b billing.Billing, account metering.AccountID, id string) error {
			_, n, err := b.Credit(ctx, account, id, c.cents, c.reason)
			return c.showNotes(sequence([]billing.Note{n}, err))
		}))
	cmd.Flags().Int64Var(&c.cents, "cents", 0, "amount in cents (required)")
	return cmd
}

func (c *billingCommands) paidCommand() *cobra.Command {
	cmd := c.requireReason(c.newInvoiceCommand("paid", "Record that an invoice was paid in another way", "",
		func(ctx context.Context, b billing.Billing, account metering.AccountID, id string) error {
			return c.showInvoice(b.MarkPaid(ctx, account, id, billing.PaymentRef(c.reference), c.reason))
		}))
	cmd.Flags().StringVar(&c.reference, "reference", "", "reference of the payment, such as the number of a transfer")
	return cmd
}

func (c *billingCommands) uncollectibleCommand() *cobra.Command {
	return c.requireReason(c.newInvoiceCommand("uncollectible", "Write off an invoice", "",
		func(ctx context.Context, b billing.Billing, account metering.AccountID, id string) error {
			return c.showInvoice(b.WriteOff(ctx, account, id, c.reason))
		}))
}

func (c *billingCommands) accountStateCommand(
	use, short string,
	do func(b billing.Billing, ctx context.Context, id metering.AccountID, reason string) (metering.Account, error),
) *cobra.Command {
	return c.requireReason(c.newCommand(use+" ACCOUNT", short, "the id of an account",
		func(ctx context.Context, b billing.Billing, args []string) error {
			account, err := do(b, ctx, metering.AccountID(args[0]), c.reason)
			return c.showAccount(b.Plans, account, err)
		}))
}
