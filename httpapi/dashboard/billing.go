package dashboard

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/diagkit/diagkit/metering/member"
)

func (d *dashboard) billingPages() []*page {
	const all, one = "/dashboard/billing", "/dashboard/billing/{invoice}"
	list := []*page{
		{method: "GET", pattern: all, role: member.Viewer, title: "Billing", nav: "Billing", handle: d.showBilling},
		{method: "POST", pattern: all + "/overage", role: member.Owner, title: "Billing", handle: d.setOverage,
			again: d.showBilling, act: "account set", fields: []string{"overage", "overage_budget_cents"}},
		{method: "GET", pattern: one, role: member.Viewer, title: "Invoice", handle: d.showInvoice},
	}
	if d.OwnersMend {
		list = append(list,
			&page{method: "POST", pattern: one + "/void", role: member.Owner, title: "Invoice", handle: d.voidInvoice,
				again: d.showInvoice, act: "billing void", fields: []string{"reason", "reissue"}, quiet: []string{"sure"}},
			&page{method: "POST", pattern: one + "/credit", role: member.Owner, title: "Invoice", handle: d.creditInvoice,
				again: d.showInvoice, act: "billing credit", fields: []string{"cents", "credit_reason"}})
	}
	return list
}

// billing are the invoices, of which whoever does something is named in the notes.
func (d *dashboard) billing(r *http.Request) billing.Billing {
	return billing.Billing{Store: d.Store, Plans: d.Plans, Clock: d.now, By: visitorOf(r).Email, Doubt: d.Doubt}
}

// bills is what the page of billing shows.
type bills struct {
	Plan      metering.Plan
	Next      *metering.PlanChange // that is still to come
	Balance   metering.Balance
	Budget    string
	Overage   bool
	Suspended *metering.Suspension
	Preview   *billing.Invoice // nil where none can be made
	Invoices  []billing.Invoice
	Notes     []billing.Note
}

func (d *dashboard) showBilling(w http.ResponseWriter, r *http.Request) error {
	account, b := visitorOf(r).Account, d.billing(r)
	month := metering.PeriodOf(d.now())
	data := bills{Plan: d.Plans.In(month)[account.PlanIn(month)], Overage: account.OverageEnabled,
		Suspended: account.Suspension}
	if account.OverageBudgetCents != nil {
		data.Budget = decimalMoney(*account.OverageBudgetCents)
	}
	if s := account.Scheduled; s != nil && month.Before(s.From) {
		data.Next = s
	}
	err := together(
		func() (err error) {
			data.Invoices, err = newestFirst(b.Invoices(r.Context(), billing.Filter{Account: account.ID}))
			return err
		},
		func() (err error) { data.Notes, err = newestFirst(b.Notes(r.Context(), account.ID)); return err },
		func() (err error) { data.Balance, err = d.Store.Balance(r.Context(), account.ID, month); return err },
		func() error {
			v, err := b.Preview(r.Context(), account.ID, month)
			if err == nil {
				data.Preview = &v
			}
			return err
		},
	)
	if err != nil {
		return err
	}
	return d.render(w, r, "billing", data)
}

// newestFirst collects a list that begins with the oldest.
func newestFirst[T any](all iter.Seq2[T, error]) ([]T, error) {
	var list []T
	for v, err := range all {
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	slices.Reverse(list)
	return list, nil
}

// decimalMoney writes cents as people type them.
func decimalMoney(cents int64) string {
	amount, _, _ := strings.Cut(money(cents, ""), " ")
	return strings.ReplaceAll(amount, ",", "")
}

// parseMoney reads an amount with at most two decimals as cents.
func parseMoney(text string) (int64, bool) {
	whole, fraction, _ := strings.Cut(strings.Replace(strings.TrimSpace(text), ",", ".", 1), ".")
	if len(fraction) > 2 || strings.Trim(whole+fraction, "0123456789") != "" {
		return 0, false
	}
	cents, err := strconv.ParseInt(whole+(fraction + "00")[:2], 10, 64)
	return cents, err == nil && whole != ""
}

func (d *dashboard) setOverage(w http.ResponseWriter, r *http.Request) error {
	var budget *int64
	if text := strings.TrimSpace(r.PostForm.Get("overage_budget_cents")); text != "" {
		cents, ok := parseMoney(text)
		if !ok {
			return &metering.FieldError{Field: "overage_budget_cents", Reason: "must be an amount such as 25.00, or empty"}
		}
		budget = &cents
	}
	_, err := d.admin().SetAccount(r.Context(), visitorOf(r).Account.ID, func(a *metering.Account) {
		a.OverageEnabled, a.OverageBudgetCents = r.PostForm.Get("overage") == "on", budget
	})
	if err != nil {
		return err
	}
	d.see(w, r, "/dashboard/billing", "overage-set")
	return nil
}

// invoicePage is what the page of one invoice shows.
type invoicePage struct {
	billing.Invoice
	Notes      []billing.Note
	Mend       bool  // whether the visitor may void and credit invoices
	Left       int64 // what can still be credited, in cents
	Creditable bool
	Voidable   bool
}

// Title implements titled.
func (p invoicePage) Title() string { return "Invoice " + p.ID }

func (d *dashboard) showInvoice(w http.ResponseWriter, r *http.Request) error {
	v, b := visitorOf(r), d.billing(r)
	data := invoicePage{}
	var notes []billing.Note
	err := together(
		func() (err error) {
			data.Invoice, err = b.Invoice(r.Context(), v.Account.ID, r.PathValue("invoice"))
			return err
		},
		func() (err error) { notes, err = newestFirst(b.Notes(r.Context(), v.Account.ID)); return err },
	)
	if err != nil {
		return err
	}
	data.Notes = slices.DeleteFunc(notes, func(n billing.Note) bool { return n.Invoice != data.ID })
	data.Mend = d.OwnersMend && v.May(member.Owner)
	data.Left = data.TotalCents - data.CreditedCents
	is := func(states ...billing.State) bool { return slices.Contains(states, data.State) }
	data.Creditable = data.Left > 0 && is(billing.Open, billing.Failed, billing.Paid)
	data.Voidable = is(billing.Draft, billing.Open, billing.Paid, billing.Failed, billing.Uncollectible)
	return d.render(w, r, "invoice", data)
}

func (d *dashboard) voidInvoice(w http.ResponseWriter, r *http.Request) error {
	reason, err := reasonOf(r, "reason")
	if err != nil {
		return err
	}
	if err := sure(r, "a void invoice stays so"); err != nil {
		return err
	}
	return d.mend(w, r, "invoice-void", func(ctx context.Context, b billing.Billing, account metering.AccountID) error {
		_, _, err := b.Void(ctx, account, r.PathValue("invoice"), reason, r.PostForm.Get("reissue") == "yes")
		return err
	})
}

func (d *dashboard) creditInvoice(w http.ResponseWriter, r *http.Request) error {
	reason, err := reasonOf(r, "credit_reason")
	if err != nil {
		return err
	}
	cents, ok := parseMoney(r.PostForm.Get("cents"))
	if !ok || cents == 0 {
		return &metering.FieldError{Field: "cents", Reason: "must be an amount such as 25.00"}
	}
	return d.mend(w, r, "invoice-credited", func(ctx context.Context, b billing.Billing, account metering.AccountID) error {
		_, _, err := b.Credit(ctx, account, r.PathValue("invoice"), cents, reason)
		return err
	})
}

// reasonOf is why a person does something, which notes of invoices must say.
func reasonOf(r *http.Request, field string) (string, error) {
	reason := strings.TrimSpace(r.PostForm.Get(field))
	if reason == "" || len(reason) > 500 {
		return "", &metering.FieldError{Field: field, Reason: "must say why, in at most 500 characters"}
	}
	return reason, nil
}

// mend does something to an invoice, and says in the form why it was refused.
func (d *dashboard) mend(w http.ResponseWriter, r *http.Request, notice string,
	do func(context.Context, billing.Billing, metering.AccountID) error,
) error {
	err := do(r.Context(), d.billing(r), visitorOf(r).Account.ID)
	if refused, ok := errors.AsType[*billing.RefusedError](err); ok {
		return &refusal{"The invoice " + refused.Reason + "."}
	}
	if errors.Is(err, billing.ErrBusy) {
		return &refusal{err.Error() + "."}
	}
	if err != nil {
		return err
	}
	d.see(w, r, "/dashboard/billing/"+r.PathValue("invoice"), notice)
	return nil
}
