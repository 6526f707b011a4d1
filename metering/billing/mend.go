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

// A RefusedError says why something cannot be done to an invoice as it is. Nothing was changed.
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

// busy reports whether a node has taken an invoice to charge it.
func (v *Invoice) busy(r metering.Record, now time.Time) bool {
	return v.State == Open && r.Due.After(now) && (v.NextAttempt == nil || !r.Due.Equal(*v.NextAttempt))
}

// mend changes an invoice that is in one of some states, and that nobody is charging.
func (b Billing) mend(
	ctx context.Context, account metering.AccountID, id string, n Note, states []State,
	edit func(v *Invoice, at time.Time) (due time.Time, err error),
) (Invoice, error) {
	v, _, err := b.change(ctx, account, id, func(v *Invoice, r metering.Record) (time.Time, Note, error) {
		now := b.now()
		if !v.State.in(states...) {
			return time.Time{}, Note{}, v.refuse("is %s", v.State)
		}
		if v.busy(r, now) {
			return time.Time{}, Note{}, ErrBusy
		}
		due, err := edit(v, now)
		return due, n, err
	})
	return v, err
}

func (s State) in(states ...State) bool { return slices.Contains(states, s) }

// Retry makes an invoice that is open or has failed due now, and begins its schedule anew. The attempts so far
// stay on it.
func (b Billing) Retry(ctx context.Context, account metering.AccountID, id string) (Invoice, error) {
	return b.mend(ctx, account, id, Note{Action: Retried}, []State{Open, Failed},
		func(v *Invoice, at time.Time) (time.Time, error) {
			v.State, v.Failures, v.NextAttempt = Open, 0, &at
			return at, nil
		})
}

// Finalize makes a draft an invoice that is to be paid, without waiting for the end of its hour.
func (b Billing) Finalize(ctx context.Context, account metering.AccountID, id string) (Invoice, error) {
	v, _, err := b.change(ctx, account, id, func(v *Invoice, r metering.Record) (time.Time, Note, error) {
		if v.State != Draft {
			return time.Time{}, Note{}, v.refuse("is %s", v.State)
		}
		now := b.now()
		if err := b.finalize(ctx, v, now); err != nil {
			return time.Time{}, Note{}, err
		}
		if v.State == Draft {
			return time.Time{}, Note{}, v.refuse("has no price: agree on one for the account first")
		}
		if r.Due.Before(now) && !r.Due.IsZero() {
			now = r.Due
		}
		return b.firstDue(v, now), Note{Action: Finalized}, nil
	})
	return v, err
}

// Void declares that an invoice should not have been made, and with reissue makes another in its place, from the
// ledger and the account as they are now.
func (b Billing) Void(
	ctx context.Context, account metering.AccountID, id, reason string, reissue bool,
) (void, next Invoice, err error) {
	states := []State{Draft, Open, Failed, Uncollectible}
	void, _, err = b.change(ctx, account, id, func(v *Invoice, r metering.Record) (time.Time, Note, error) {
		now := b.now()
		switch {
		case v.busy(r, now):
			return time.Time{}, Note{}, ErrBusy
		case v.State == Void && reissue: // what a first try has not come to
			return time.Time{}, Note{}, nil
		case v.State == Paid && v.AmountCents == 0 && v.CreditedCents == 0:
		case v.State == Paid:
			return time.Time{}, Note{}, v.refuse("is paid: write a credit note")
		case !v.State.in(states...):
			return time.Time{}, Note{}, v.refuse("is %s", v.State)
		}
		due := v.resumes(now)
		v.State, v.NextAttempt = Void, nil
		return due, Note{Action: Voided, Reason: reason}, nil
	})
	if err == nil && reissue {
		next, err = b.reissue(ctx, void)
	}
	return void, next, err
}

// reissue makes the invoice that comes after a void one.
func (b Billing) reissue(ctx context.Context, void Invoice) (Invoice, error) {
	a, err := b.Store.Account(ctx, void.Account)
	if err != nil {
		return Invoice{}, err
	}
	m, err := b.month(ctx, void.Period, a.ID)
	if err != nil {
		return Invoice{}, err
	}
	n := 1
	if _, after, ok := strings.Cut(strings.TrimPrefix(void.ID, void.Period.String()), "."); ok {
		if n, err = strconv.Atoi(after); err != nil {
			return Invoice{}, fmt.Errorf("invoice %q: %w", void.ID, err)
		}
	}
	v, err := m.only(ctx, a, fmt.Sprintf("%s.%d", void.Period, n+1))
	if err != nil {
		return Invoice{}, err
	}
	if v.UsedCredits != void.UsedCredits {
		return Invoice{}, void.refuse("was of %d credits, and the ledger has %d of that month: it is no longer kept whole",
			void.UsedCredits, v.UsedCredits)
	}
	for range tries {
		end, err := b.chain(ctx, v.Account)
		if err != nil {
			return Invoice{}, err
		}
		records, err := m.write(&v, end)
		if err != nil {
			return Invoice{}, err
		}
		if err = b.Store.PutRecords(ctx, records...); !errors.Is(err, metering.ErrVersion) {
			return v, err
		}
		if _, err := b.Store.Record(ctx, v.Account, InvoiceKind, v.ID); !errors.Is(err, metering.ErrNotFound) {
			return Invoice{}, errors.Join(err, void.refuse("was replaced by %s before", v.ID))
		}
	}
	return Invoice{}, errMeddled
}

// Credit writes a credit note: it lessens what is to be paid of an invoice, and for one that is paid it says what is
// to be given back, which the operator does.
func (b Billing) Credit(
	ctx context.Context, account metering.AccountID, id string, cents int64, reason string,
) (Invoice, Note, error) {
	return b.change(ctx, account, id, func(v *Invoice, r metering.Record) (time.Time, Note, error) {
		now := b.now()
		switch {
		case v.busy(r, now):
			return time.Time{}, Note{}, ErrBusy
		case !v.State.in(Open, Failed, Paid):
			return time.Time{}, Note{}, v.refuse("is %s", v.State)
		case v.unknown():
			return time.Time{}, Note{}, v.refuse("had an attempt of which nobody knows whether it was paid")
		case cents < 1 || cents > v.TotalCents-v.CreditedCents:
			return time.Time{}, Note{}, v.refuse("leaves 1 to %d cents to be credited", v.TotalCents-v.CreditedCents)
		}
		v.Credits++
		v.CreditedCents += cents
		due := r.Due
		if v.State != Paid {
			if v.AmountCents -= cents; v.AmountCents == 0 {
				due = v.paid("", now)
			}
		}
		return due, Note{Action: Credited, Reason: reason, Cents: cents,
			Number: fmt.Sprintf("CN-%s-%d", strings.TrimPrefix(v.Number, "INV-"), v.Credits)}, nil
	})
}

// MarkPaid notes a payment that came on another way.
func (b Billing) MarkPaid(
	ctx context.Context, account metering.AccountID, id string, ref PaymentRef, reason string,
) (Invoice, error) {
	ref = PaymentRef(short(string(ref)))
	return b.mend(ctx, account, id, Note{Action: PaidByHand, Reason: reason, Payment: ref},
		[]State{Open, Pending, Failed, Uncollectible},
		func(v *Invoice, at time.Time) (time.Time, error) { return v.paid(ref, at), nil })
}

// WriteOff declares that nobody will pay an invoice.
func (b Billing) WriteOff(ctx context.Context, account metering.AccountID, id, reason string) (Invoice, error) {
	return b.mend(ctx, account, id, Note{Action: WrittenOff, Reason: reason}, []State{Open, Failed},
		func(v *Invoice, _ time.Time) (time.Time, error) {
			v.State, v.NextAttempt = Uncollectible, nil
			return time.Time{}, nil
		})
}

// Settle takes a word that came after an attempt. One that comes twice, or so late that another attempt has been
// made, changes nothing. It is ErrBusy for one that comes before the answer to its attempt, and a *RefusedError for
// one that a person must look at: an invoice that was paid otherwise, or should not be paid.
func (b Billing) Settle(ctx context.Context, w Word) (Invoice, error) {
	w.Reference = PaymentRef(short(string(w.Reference)))
	edit := func(v *Invoice, r metering.Record) (due time.Time, n Note, err error) {
		now := b.now()
		news, err := v.isNews(w.Payment, v.busy(r, now))
		if err != nil || !news {
			return due, n, err
		}
		if v.State == Pending {
			w.Reference = cmp.Or(w.Reference, v.Payment)
			due = v.outcome(w.Payment, nil, now)
		} else {
			due = v.paid(w.Reference, now)
		}
		n = Note{Action: Settled, By: biller, Payment: w.Reference}
		if v.State != Paid {
			n.Reason = v.last().Error
		}
		return due, n, nil
	}
	v, _, err := b.change(ctx, w.Account, w.Invoice, edit)
	return v, err
}

// biller stands for whoever says what became of payments.
const biller = "biller"

// isNews reports whether a word changes an invoice.
func (v *Invoice) isNews(p Payment, busy bool) (bool, error) {
	same := p.Reference == v.Payment
	switch {
	case !p.Status.Known():
		return false, v.refuse("cannot become %q: a word says paid, pending or declined", p.Status)
	case p.Status == PaymentPending, v.State == Paid && same && p.Status == PaymentPaid:
		return false, nil
	case v.State == Paid && p.Status == PaymentPaid:
		return false, v.refuse("is paid by %q, and now by %q as well", v.Payment, p.Reference)
	case v.State == Paid && same:
		return false, v.refuse("was paid by %q, which is now declined", v.Payment)
	case v.State.in(Draft, Void) && p.Status == PaymentPaid:
		return false, v.refuse("is %s, and was paid by %q", v.State, p.Reference)
	case p.Status == PaymentPaid:
		return true, nil
	case busy:
		return false, ErrBusy
	case v.State == Pending && p.Reference == "" && v.Payment != "":
		return false, v.refuse("has the pending payment %q, and a word that names none", v.Payment)
	}
	return v.State == Pending && (same || v.Payment == ""), nil
}
