package dashboard

import (
	"errors"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/diagkit/diagkit/metering/member"
)

// billing returns the invoices, whose notes name the member who acts.
func (d *dashboard) billing(r *http.Request) billing.Billing {
	return billing.Billing{Store: d.Store, Plans: d.Plans, Clock: d.now, By: sessionOf(r).Email, Doubt: d.Doubt}
}

func (d *dashboard) showBilling(r *http.Request) (any, error) {
	account, b, month := sessionOf(r).Account, d.billing(r), metering.PeriodOf(d.now())
	data := struct {
		pager    // of the invoices
		Account  metering.Account
		Plan     metering.Plan
		Next     *metering.PlanChange // that is still to come
		Balance  metering.Balance
		Preview  billing.Invoice
		Invoices []billing.Invoice
		Notes    []billing.Note // the newest
	}{Account: account, Plan: d.Plans.In(month)[account.PlanIn(month)]}
	ofAccount := billing.Filter{Account: account.ID}
	overage := url.Values{"overage": {view.TextIf(account.OverageEnabled, "on")}}
	if account.OverageBudgetCents != nil {
		amount, _, _ := strings.Cut(formatMoney(*account.OverageBudgetCents, ""), " ")
		overage.Set("overage_budget_cents", strings.ReplaceAll(amount, ",", ""))
	}
	stateOf(r).form.SetDefaults(overage)
	if s := account.Scheduled; s != nil && month.Before(s.From) {
		data.Next = s
	}
	err := runParallel(
		func() (err error) { data.Invoices, err = newestFirst(b.Invoices(r.Context(), ofAccount)); return err },
		func() (err error) { data.Notes, err = newestFirst(b.Notes(r.Context(), account.ID)); return err },
		func() (err error) { data.Balance, err = d.Store.Balance(r.Context(), account.ID, month); return err },
		func() (err error) { data.Preview, err = b.Preview(r.Context(), account.ID, month); return err },
	)
	data.pager, data.Invoices = paginate(r, data.Invoices)
	data.Notes = data.Notes[:min(len(data.Notes), pageSize)] // earlier ones are shown with their invoices
	return &data, err
}

// newestFirst collects a list that begins with the oldest.
func newestFirst[T any](all iter.Seq2[T, error]) ([]T, error) {
	list, err := metering.Collect(all)
	slices.Reverse(list)
	return list, err
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

func (d *dashboard) setOverage(r *http.Request) (string, error) {
	var budget *int64
	if text := strings.TrimSpace(r.PostForm.Get("overage_budget_cents")); text != "" {
		cents, ok := parseMoney(text)
		if !ok {
			return "", &metering.FieldError{Field: "overage_budget_cents", Reason: "must be an amount such as 25.00, or empty"}
		}
		budget = &cents
	}
	_, err := d.admin().SetAccount(r.Context(), sessionOf(r).Account.ID, func(a *metering.Account) {
		a.OverageEnabled, a.OverageBudgetCents = r.PostForm.Get("overage") == "on", budget
	})
	return "/dashboard/billing", err
}

func (d *dashboard) showInvoice(r *http.Request) (any, error) {
	viewer, b, id := sessionOf(r), d.billing(r), r.PathValue("invoice")
	data := struct {
		billing.Invoice
		pager                // of the notes
		Notes                []billing.Note
		CreditableCents      int64 // the amount that can still be credited, in cents
		Creditable, Voidable bool  // by the visitor
		Seller               []string
	}{}
	if d.Seller != "" {
		data.Seller = strings.Split(d.Seller, "\n")
	}
	stateOf(r).title = "Invoice " + id
	var notes []billing.Note
	err := runParallel(
		func() (err error) { data.Invoice, err = b.Invoice(r.Context(), viewer.Account.ID, id); return err },
		func() (err error) { notes, err = newestFirst(b.Notes(r.Context(), viewer.Account.ID)); return err },
	)
	notes = slices.DeleteFunc(notes, func(n billing.Note) bool { return n.Invoice != data.ID })
	data.pager, data.Notes = paginate(r, notes)
	data.CreditableCents = data.TotalCents - data.CreditedCents
	mayCorrect := d.OwnersEditInvoices && viewer.May(member.Owner)
	creditable := []billing.State{billing.Open, billing.Failed, billing.Paid}
	data.Creditable = mayCorrect && data.CreditableCents > 0 && slices.Contains(creditable, data.State)
	data.Voidable = mayCorrect && data.State != billing.Pending && data.State != billing.Void
	return data, err
}

func (d *dashboard) voidInvoice(r *http.Request) (string, error) {
	reason, err := parseReason(r, "reason")
	if err == nil {
		_, _, err = d.billing(r).Void(r.Context(), sessionOf(r).Account.ID, r.PathValue("invoice"), reason,
			r.PostForm.Get("reissue") == "yes")
	}
	return invoiceResult(r, err)
}

func (d *dashboard) creditInvoice(r *http.Request) (string, error) {
	reason, err := parseReason(r, "credit_reason")
	cents, isMoney := parseMoney(r.PostForm.Get("cents"))
	if !isMoney || cents == 0 {
		err = errors.Join(err, &metering.FieldError{Field: "cents", Reason: "must be an amount such as 25.00"})
	}
	if err == nil {
		_, _, err = d.billing(r).Credit(r.Context(), sessionOf(r).Account.ID, r.PathValue("invoice"), cents, reason)
	}
	return invoiceResult(r, err)
}

// maxReason bounds the reason for a change of an invoice, in bytes.
const maxReason = 500

// parseReason returns a person's reason for a change, which notes of invoices must state.
func parseReason(r *http.Request, field string) (string, error) {
	reason := strings.TrimSpace(r.PostForm.Get(field))
	if reason == "" || len(reason) > maxReason {
		return "", &metering.FieldError{Field: field, Reason: "is required, with at most 500 characters"}
	}
	return reason, nil
}

// invoiceResult leads to an invoice that was changed, or shows in the form why the change was refused.
func invoiceResult(r *http.Request, err error) (string, error) {
	if refused, ok := errors.AsType[*billing.RefusedError](err); ok {
		err = &refusedError{"The invoice " + refused.Reason + "."}
	} else if errors.Is(err, billing.ErrBusy) {
		err = &refusedError{err.Error() + "."}
	}
	return "/dashboard/billing/" + r.PathValue("invoice"), err
}
