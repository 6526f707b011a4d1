package billing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// A RefusedError is returned when the state of an invoice does not allow an operation. Nothing was changed.
type RefusedError struct {
	Account metering.AccountID
	Invoice string
	Reason  string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("invoice %s of %s %s", e.Invoice, e.Account, e.Reason)
}

func (v *Invoice) refuse(format string, args ...any) error {
	return &RefusedError{v.Account, v.ID, fmt.Sprintf(format, args...)}
}

// ErrBusy means that an invoice is being charged at this moment. It may be tried again after five minutes.
var ErrBusy = errors.New("the invoice is being charged at this moment; try again in five minutes")

// outcomeUnknown is why an invoice may be neither void nor of another amount: it may have been paid.
const outcomeUnknown = "had a payment attempt whose outcome is unknown"

// correct changes an invoice that is in one of the given states and is not being charged.
func (b Billing) correct(
	ctx context.Context, account metering.AccountID, id string, action Action, reason string, states []State,
	edit func(v *Invoice, r metering.Record, n *Note) (due time.Time, err error),
) (Invoice, Note, error) {
	return b.change(ctx, account, id, func(v *Invoice, r metering.Record, n *Note) (time.Time, error) {
		switch {
		case !v.State.isOneOf(states...):
			return time.Time{}, v.refuse("is %s", v.State)
		case v.isCharging(r, n.At):
			return time.Time{}, ErrBusy
		case v.isClaimed(r): // by a node that has stopped since
			v.addAttempt(r.Due.Add(-chargeLease)).Error = "its outcome was not noted"
		}
		n.Action, n.Reason = action, reason
		return edit(v, r, n)
	})
}

func (s State) isOneOf(states ...State) bool { return slices.Contains(states, s) }

// Retry makes an invoice that is open or has failed due now, and restarts its schedule. The earlier attempts stay on
// it.
func (b Billing) Retry(ctx context.Context, account metering.AccountID, id string) (Invoice, error) {
	v, _, err := b.correct(ctx, account, id, Retried, "", []State{Open, Failed},
		func(v *Invoice, _ metering.Record, n *Note) (time.Time, error) {
			v.State, v.Failures, v.NextAttempt = Open, 0, &n.At
			return n.At, nil
		})
	return v, err
}

// Finalize turns a draft into a payable invoice without waiting for the end of its hour.
func (b Billing) Finalize(ctx context.Context, account metering.AccountID, id string) (Invoice, error) {
	v, _, err := b.correct(ctx, account, id, Finalized, "", []State{Draft},
		func(v *Invoice, _ metering.Record, n *Note) (time.Time, error) {
			if err := b.finalize(ctx, v, n.At); err != nil {
				return time.Time{}, err
			}
			if v.State == Draft {
				return time.Time{}, v.refuse("has no price: agree on one for the account first")
			}
			return b.firstDue(v, n.At), nil
		})
	return v, err
}

// Void declares that an invoice should not have been made, and with reissue makes another in its place, from the
// ledger and the account as they are now.
func (b Billing) Void(
	ctx context.Context, account metering.AccountID, id, reason string, reissue bool,
) (void, next Invoice, err error) {
	void, _, err = b.change(ctx, account, id, func(v *Invoice, r metering.Record, n *Note) (due time.Time, err error) {
		switch {
		case v.State == Void && reissue: // not reached by the first try
			return due, nil
		case v.State == Paid && (v.AmountCents != 0 || v.CreditedCents != 0):
			return due, v.refuse("is paid: write a credit note")
		case !v.State.isOneOf(Draft, Open, Paid, Failed, Uncollectible):
			return due, v.refuse("is %s", v.State)
		case v.isCharging(r, n.At):
			return due, ErrBusy
		case v.hasUnknownOutcome(r):
			return due, v.refuse(outcomeUnknown)
		}
		n.Action, n.Reason = Voided, reason
		v.State, v.NextAttempt = Void, nil
		return v.resumeCheckAt(n.At), nil
	})
	if err == nil && reissue {
		next, err = b.reissue(ctx, void)
	}
	return void, next, err
}

func (b Billing) reissue(ctx context.Context, void Invoice) (Invoice, error) {
	n := 1
	if _, after, ok := strings.Cut(void.ID, "."); ok {
		var err error
		if n, err = strconv.Atoi(after); err != nil {
			return Invoice{}, fmt.Errorf("invoice %q: %w", void.ID, err)
		}
	}
	v, err := b.makeInvoice(ctx, void.Account, void.Period, fmt.Sprintf("%s.%d", void.Period, n+1))
	if err != nil {
		return Invoice{}, err
	}
	if v.UsedCredits != void.UsedCredits {
		return Invoice{}, void.refuse("was of %d credits, and the ledger has %d of that month: it is no longer kept whole",
			void.UsedCredits, v.UsedCredits)
	}
	made, due := Note{Action: Created, At: v.CreatedAt, By: b.by()}, b.firstDue(&v, v.CreatedAt)
	err = b.put(ctx, metering.Record{Account: v.Account, Kind: InvoiceKind, ID: v.ID}, v, due, &made)
	if errors.Is(err, metering.ErrVersion) {
		return Invoice{}, void.refuse("was replaced by %s before", v.ID)
	}
	return v, err
}

// Credit writes a credit note: it reduces the amount due of an invoice; for a paid one it states the amount to refund,
// which is up to the operator.
func (b Billing) Credit(
	ctx context.Context, account metering.AccountID, id string, cents int64, reason string,
) (Invoice, Note, error) {
	return b.correct(ctx, account, id, Credited, reason, []State{Open, Failed, Paid},
		func(v *Invoice, r metering.Record, n *Note) (time.Time, error) {
			left := v.TotalCents - v.CreditedCents
			switch {
			case v.hasUnknownOutcome(r):
				return time.Time{}, v.refuse(outcomeUnknown)
			case left == 0:
				return time.Time{}, v.refuse("is credited in full already")
			case cents < 1 || cents > left:
				return time.Time{}, v.refuse("leaves 1 to %d cents to be credited", left)
			}
			v.Credits++
			v.CreditedCents += cents
			n.Cents, n.Currency = cents, v.Currency
			n.TaxCents = v.creditedTax(v.CreditedCents) - v.creditedTax(v.CreditedCents-cents)
			n.NetCents = cents - n.TaxCents
			n.Number = fmt.Sprintf("CN-%s-%d", strings.TrimPrefix(v.Number, numberPrefix), v.Credits)
			if v.State != Paid {
				if v.AmountCents -= cents; v.AmountCents == 0 {
					return v.markPaid("", n.At), nil
				}
			}
			return r.Due, nil
		})
}

// MarkPaid notes a payment made outside of the biller.
func (b Billing) MarkPaid(
	ctx context.Context, account metering.AccountID, id string, ref PaymentRef, reason string,
) (Invoice, error) {
	ref = PaymentRef(truncate(string(ref)))
	v, _, err := b.correct(ctx, account, id, MarkedPaid, reason, []State{Open, Pending, Failed, Uncollectible},
		func(v *Invoice, _ metering.Record, n *Note) (time.Time, error) {
			n.Payment = ref
			return v.markPaid(ref, n.At), nil
		})
	return v, err
}

// WriteOff declares an invoice uncollectible.
func (b Billing) WriteOff(ctx context.Context, account metering.AccountID, id, reason string) (Invoice, error) {
	v, _, err := b.correct(ctx, account, id, WrittenOff, reason, []State{Open, Failed},
		func(v *Invoice, _ metering.Record, _ *Note) (time.Time, error) {
			v.State, v.NextAttempt = Uncollectible, nil
			return time.Time{}, nil
		})
	return v, err
}

// Settle applies a report that arrived after an attempt. A duplicate, or one so late that another attempt has been
// made, changes nothing. It is ErrBusy for a report that arrives before the response to its attempt, and a
// *RefusedError for one that needs a person: an invoice that was paid otherwise, or should not be paid.
func (b Billing) Settle(ctx context.Context, report PaymentReport) (Invoice, error) {
	report.Reference = PaymentRef(truncate(string(report.Reference)))
	v, _, err := b.change(ctx, report.Account, report.Invoice,
		func(v *Invoice, r metering.Record, n *Note) (due time.Time, err error) {
			changes, err := v.changesInvoice(report.Payment, v.isCharging(r, n.At))
			if err != nil || !changes {
				return due, err
			}
			if v.State == Pending {
				report.Reference = cmp.Or(report.Reference, v.Payment)
				due = v.applyOutcome(report.Payment, nil, n.At)
			} else {
				due = v.markPaid(report.Reference, n.At)
			}
			n.Action, n.By, n.Payment = Settled, billerActor, report.Reference
			if v.State != Paid {
				n.Reason = v.lastAttempt().Error
			}
			return due, nil
		})
	return v, err
}

// billerActor names the biller in notes about the outcome of payments.
const billerActor = "biller"

// changesInvoice reports whether a report changes an invoice.
func (v *Invoice) changesInvoice(p Payment, busy bool) (bool, error) {
	same := p.Reference == v.Payment
	switch {
	case !p.Status.Known():
		return false, v.refuse("cannot become %q: a report says paid, pending or declined", p.Status)
	case p.Status == PaymentPending, v.State == Paid && same && p.Status == PaymentPaid:
		return false, nil
	case v.State == Paid && p.Status == PaymentPaid:
		return false, v.refuse("is paid by %q, and now by %q as well", v.Payment, p.Reference)
	case v.State == Paid && same:
		return false, v.refuse("was paid by %q, which is now declined", v.Payment)
	case v.State.isOneOf(Draft, Void) && p.Status == PaymentPaid:
		return false, v.refuse("is %s, and was paid by %q", v.State, p.Reference)
	case p.Status == PaymentPaid:
		return true, nil
	case busy:
		return false, ErrBusy
	case v.State == Pending && p.Reference == "" && v.Payment != "":
		return false, v.refuse("has the pending payment %q, and a report that names none", v.Payment)
	}
	return v.State == Pending && (same || v.Payment == ""), nil
}
