package main

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"strings"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/spf13/cobra"
)

// explained are the flags of what a person does: why, and who it is.
func (c *billingCommands) explained(cmd *cobra.Command) *cobra.Command {
	name := "operator"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	cmd.Flags().StringVar(&c.reason, "reason", "", "why, for the notes (required)")
	cmd.Flags().StringVar(&c.by, "by", name, "who does it, for the notes")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if strings.TrimSpace(c.reason) == "" {
			return usagef("--reason: is required")
		}
		return run(cmd, args)
	}
	return cmd
}

// oneInvoice is a command about one invoice.
func (c *billingCommands) oneInvoice(
	use, short, long string, do func(ctx context.Context, b billing.Billing, account metering.AccountID, id string) error,
) *cobra.Command {
	return &cobra.Command{
		Use: use + " ACCOUNT INVOICE", Short: short, Long: strings.TrimSpace(short + ".\n\n" + long),
		Args: exactly(2, "the id of an account, and that of an invoice such as 2026-10"),
		RunE: func(cmd *cobra.Command, args []string) error {
			month, _, _ := strings.Cut(args[1], ".")
			if err := new(metering.Period).UnmarshalText([]byte(month)); err != nil {
				return usagef("INVOICE: %w", err)
			}
			return c.administerBilling(cmd.Context(), func(b billing.Billing) error {
				return refusal(do(cmd.Context(), b, metering.AccountID(args[0]), args[1]))
			})
		},
	}
}

// refusal tells what lies with the caller from what does not.
func refusal(err error) error {
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
	cmd := c.oneInvoice("retry", "Have an invoice charged again, from now on and with all attempts",
		`The invoice is open or has failed. The server charges it within two minutes, and makes all attempts anew if that
fails. With --failed and no argument, all invoices that have failed.`,
		func(ctx context.Context, b billing.Billing, account metering.AccountID, id string) error {
			v, err := b.Retry(ctx, account, id)
			return c.showInvoices(err, v)
		})
	cmd.Use = "retry [ACCOUNT INVOICE]"
	one, args := cmd.RunE, cmd.Args
	cmd.Args = func(cmd *cobra.Command, list []string) error {
		if c.failed {
			return noArgs(cmd, list)
		}
		return args(cmd, list)
	}
	cmd.RunE = func(cmd *cobra.Command, list []string) error {
		if !c.failed {
			return one(cmd, list)
		}
		return c.administerBilling(cmd.Context(), func(b billing.Billing) error { return c.retryAll(cmd.Context(), b) })
	}
	cmd.Flags().BoolVar(&c.failed, "failed", false, "all invoices that have failed")
	return cmd
}

// retryAll has all invoices charged again that have failed.
func (c *billingCommands) retryAll(ctx context.Context, b billing.Billing) error {
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
	return c.showInvoices(nil, list...)
}

func (c *billingCommands) finalizeCommand() *cobra.Command {
	return c.oneInvoice("finalize", "Make a draft final, without waiting for the end of its hour",
		`A draft is priced anew, by what was agreed with the account until now. A draft of a plan without a price needs an
agreed price first: diagd account set ACCOUNT --agreed-price CENTS.`,
		func(ctx context.Context, b billing.Billing, account metering.AccountID, id string) error {
			v, err := b.Finalize(ctx, account, id)
			return c.showInvoices(err, v)
		})
}

func (c *billingCommands) voidCommand() *cobra.Command {
	cmd := c.explained(c.oneInvoice("void", "Declare that an invoice should not have been made",
		`It is not charged any more. With --reissue another takes its place, such as 2026-10.2, as a draft: from the ledger,
and from the plans, the tax and the agreed price that the account has by now. What is paid needs a credit note
instead. If nobody knows whether an attempt has paid it, retry it first, or note it as paid.`,
		func(ctx context.Context, b billing.Billing, account metering.AccountID, id string) error {
			void, next, err := b.Void(ctx, account, id, c.reason, c.reissue)
			if err != nil || !c.reissue {
				return c.showInvoices(err, void)
			}
			return c.showInvoices(nil, void, next)
		}))
	cmd.Flags().BoolVar(&c.reissue, "reissue", false, "make another invoice in its place")
	return cmd
}

func (c *billingCommands) creditCommand() *cobra.Command {
	cmd := c.explained(c.oneInvoice("credit", "Write a credit note for an invoice",
		`It lessens what is to be paid of an invoice that is open or has failed. Of one that is paid it says what is to be
given back; nobody but you does that, at the payment service. Cents are those of the total, with tax.`,
		func(ctx context.Context, b billing.Billing, account metering.AccountID, id string) error {
			_, n, err := b.Credit(ctx, account, id, c.cents, c.reason)
			return c.showNotes(err, n)
		}))
	cmd.Flags().Int64Var(&c.cents, "cents", 0, "how much, in cents (required)")
	return cmd
}

func (c *billingCommands) paidCommand() *cobra.Command {
	cmd := c.explained(c.oneInvoice("paid", "Note that an invoice was paid on another way", "",
		func(ctx context.Context, b billing.Billing, account metering.AccountID, id string) error {
			v, err := b.MarkPaid(ctx, account, id, billing.PaymentRef(c.reference), c.reason)
			return c.showInvoices(err, v)
		}))
	cmd.Flags().StringVar(&c.reference, "reference", "", "what the payment is called, such as the number of a transfer")
	return cmd
}

func (c *billingCommands) uncollectibleCommand() *cobra.Command {
	return c.explained(c.oneInvoice("uncollectible", "Declare that nobody will pay an invoice", "",
		func(ctx context.Context, b billing.Billing, account metering.AccountID, id string) error {
			v, err := b.WriteOff(ctx, account, id, c.reason)
			return c.showInvoices(err, v)
		}))
}

// standingCommand suspends an account, or ends that.
func (c *billingCommands) standingCommand(
	use, short string,
	do func(b billing.Billing, ctx context.Context, id metering.AccountID, reason string) (metering.Account, error),
) *cobra.Command {
	return c.explained(&cobra.Command{
		Use: use + " ACCOUNT", Short: short, Args: exactly(1, "the id of an account"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.administerBilling(cmd.Context(), func(b billing.Billing) error {
				account, err := do(b, cmd.Context(), metering.AccountID(args[0]), c.reason)
				return c.showAccount(err, account)
			})
		},
	})
}
