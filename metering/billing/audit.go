package billing

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// An Audit is the result of an audit of invoices.
type Audit struct {
	Invoices int
	Notes    int
	Unproven int // invoices that are older than notes, and have not been noted yet
	Faults   []metering.AuditFault
}

// Audit verifies that every invoice matches its notes, that the notes of each account are a complete chain up to the
// end stored with them, and that the billed amounts follow from the ledger, the terms of the account and the price
// lists. It covers the ledger as far as that was kept: in its oldest month less may be left than was billed, since
// part of it may have been pruned.
func (b Billing) Audit(ctx context.Context) (Audit, error) {
	a := audit{Billing: b, accounts: map[metering.AccountID]*audited{}}
	for _, step := range []func(context.Context) error{a.readAccounts, a.readNotes, a.readHeads, a.readInvoices} {
		if err := step(ctx); err != nil {
			return Audit{}, fmt.Errorf("auditing invoices: %w", err)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(a.accounts)) {
		a.reportMissing(a.accounts[id])
	}
	return a.found, nil
}

// audit is one that is under way.
type audit struct {
	Billing
	found     Audit
	accounts  map[metering.AccountID]*audited
	firstNote time.Time // the oldest note
	oldest    metering.Period
	month     *month
}

// audited is the state that the notes of an account describe.
type audited struct {
	metering.Account
	chain chain // as it follows from the notes
	// possibleStarts are the times that the record of the end may be from: that of the first note, and where that adopts
	// an invoice, those of the notes that may have been written with it, of which earlier versions took the last.
	possibleStarts []time.Time
	// onlyAdopts is whether all notes so far adopt invoices.
	onlyAdopts     bool
	hasEnd         bool // the record of the end exists
	lastSuspension Note
	invoice        map[string]metering.Chain // the documents by id; those that were seen are taken away
}

func (a *audit) fault(id metering.AccountID, p metering.Period, format string, args ...any) {
	f := metering.AuditFault{Account: id, Period: p, Detail: fmt.Sprintf(format, args...)}
	a.found.Faults = append(a.found.Faults, f)
}

func (a *audit) readAccounts(ctx context.Context) error {
	list, err := a.Store.Accounts(ctx)
	for _, one := range list {
		a.accounts[one.ID] = &audited{Account: one, chain: chain{account: one.ID}}
	}
	return err
}

// readNotes follows the chain of each account.
func (a *audit) readNotes(ctx context.Context) error {
	for r, err := range a.Store.Records(ctx, metering.RecordFilter{Kind: NoteKind}) {
		if err != nil {
			return err
		}
		if a.found.Notes++; a.found.Notes == 1 {
			a.firstNote = r.At
		}
		one := a.accounts[r.Account]
		n, err := parseNote(r)
		if err != nil {
			a.fault(r.Account, metering.Period{}, "%v", err)
			continue
		}
		one.addNote(n)
		if want := one.chain.records[0]; !sameRecord(want, r) || r.Version != 1 {
			a.fault(r.Account, periodOf(n.Invoice), "note %s does not follow from the one before it", r.ID)
		}
	}
	return nil
}

func (o *audited) addNote(n Note) {
	o.chain.records = nil
	if n.Action == Created || n.Action == Adopted {
		o.chain.addMonth(periodOf(n.Invoice))
	}
	if n.Invoice != "" && n.Document != (metering.Chain{}) {
		if o.invoice == nil {
			o.invoice = map[string]metering.Chain{}
		}
		o.invoice[n.Invoice] = n.Document
	}
	if n.Action == AccountSuspended || n.Action == AccountResumed {
		o.lastSuspension = n
	}
	if o.chain.Count == 0 || o.onlyAdopts {
		o.possibleStarts, o.onlyAdopts = append(o.possibleStarts, n.At), n.Action == Adopted
	}
	o.chain.addNote(&n)
}

// sameRecord compares all that a store keeps, but for the version.
func sameRecord(a, b metering.Record) bool {
	return a.Account == b.Account && a.Kind == b.Kind && a.ID == b.ID && a.Due.Equal(b.Due) && a.At.Equal(b.At) &&
		string(a.Body) == string(b.Body)
}

// periodOf returns the month of an invoice; zero if the id is not that of an invoice.
func periodOf(id string) (p metering.Period) {
	_ = p.UnmarshalText([]byte(id[:min(len(id), len("2006-01"))]))
	return p
}

// readHeads compares the ends of the chains.
func (a *audit) readHeads(ctx context.Context) error {
	for r, err := range a.Store.Records(ctx, metering.RecordFilter{Kind: headKind}) {
		if err != nil {
			return err
		}
		one := a.accounts[r.Account]
		body := metering.RecordBody(one.chain.head)
		want := metering.Record{Account: r.Account, Kind: headKind, ID: headID, At: r.At, Body: body}
		if !sameRecord(want, r) || !slices.ContainsFunc(one.possibleStarts, r.At.Equal) {
			a.fault(r.Account, metering.Period{}, "the end of its notes is not what %d notes lead to", one.chain.Count)
		}
		one.hasEnd = true
	}
	return nil
}

// readInvoices compares each invoice with its notes, and with the data it follows from.
func (a *audit) readInvoices(ctx context.Context) error {
	for e, err := range a.Store.Entries(ctx, metering.EntryFilter{Limit: 1}) {
		if err != nil {
			return err
		}
		a.oldest = e.Period
	}
	for r, err := range a.Store.Records(ctx, metering.RecordFilter{Kind: InvoiceKind}) {
		if err != nil {
			return err
		}
		a.found.Invoices++
		one := a.accounts[r.Account]
		v, err := parseInvoice(r)
		if err != nil {
			a.fault(r.Account, periodOf(r.ID), "%v", err)
			continue
		}
		document, noted := one.invoice[r.ID]
		delete(one.invoice, r.ID)
		switch {
		case noted && document != sha256.Sum256(r.Body):
			a.fault(r.Account, periodOf(r.ID), "invoice %s is not what its last note says", r.ID)
		case !noted && one.chain.Count == 0 && (a.firstNote.IsZero() || r.At.Before(a.firstNote)):
			a.found.Unproven++
		case !noted:
			a.fault(r.Account, periodOf(r.ID), "invoice %s has no note", r.ID)
		}
		if detail := v.recordFault(r); detail != "" {
			a.fault(r.Account, periodOf(r.ID), "invoice %s %s", r.ID, detail)
			continue
		}
		detail, err := a.compareWithSources(ctx, one.Account, v)
		if err != nil {
			return err
		}
		if detail != "" {
			a.fault(r.Account, v.Period, "%s", detail)
		}
	}
	return nil
}

// recordFault returns how a record differs from the invoice in it.
func (v *Invoice) recordFault(r metering.Record) string {
	switch {
	case v.Account != r.Account || v.ID != r.ID || v.Period != periodOf(v.ID):
		return "is filed under another name than its own"
	case !v.CreatedAt.Equal(r.At):
		return "was made at another time than it says"
	case r.Due.IsZero() && v.State.isOneOf(Draft, Open, Pending):
		return "is due at no time"
	}
	return ""
}

// compareWithSources returns how an invoice differs from the data it is made from.
func (a *audit) compareWithSources(ctx context.Context, account metering.Account, v Invoice) (string, error) {
	if a.month == nil || a.month.period != v.Period {
		m, err := a.Billing.month(ctx, v.Period, "")
		if err != nil {
			return "", err
		}
		a.month = m
	}
	_, used, err := a.month.termsAndBalance(ctx, account)
	if err != nil {
		return err.Error(), nil // of the terms: a balance is missing for no account that exists
	}
	pruned := !a.oldest.Before(v.Period) // all of it, or some
	if used.Used > v.UsedCredits || used.Used < v.UsedCredits && !pruned {
		return fmt.Sprintf("the invoice says %d credits, the balance %d", v.UsedCredits, used.Used), nil
	}
	if len(v.Plans) == 0 { // it was made under custom rules
		return "", nil
	}
	var want Invoice
	for _, agreed := range a.month.agreedPrices(account) {
		account.AgreedPriceCents = agreed
		t, err := a.month.terms(account)
		if err != nil {
			return err.Error(), nil
		}
		if v.LimitCredits == t.lastPlan.Credits { // as invoices said while no account kept an allowance
			t.limit = v.LimitCredits
		}
		account.Tax = metering.Tax{BasisPoints: v.TaxBasisPoints, Note: v.TaxNote}
		if want, err = a.month.invoice(ctx, account, t, used, v.ID); err != nil {
			return "", err
		}
		if pruned {
			want.UsedCredits, want.OverageCredits = v.UsedCredits, v.OverageCredits
			want.OverageRate, want.Overage = v.OverageRate, v.Overage
			if err := want.price(t.plans, account.Tax); err != nil {
				return err.Error(), nil
			}
		}
		if reflect.DeepEqual(want.billedFields(), v.billedFields()) {
			return "", nil
		}
	}
	return fmt.Sprintf("the invoice says %d cents, ledger and prices say %d", v.TotalCents, want.TotalCents), nil
}

// agreedPrices is each price that was ever agreed with an account, which may have been before its invoice was finalized
// or after.
func (m *month) agreedPrices(a metering.Account) []*int64 {
	list := []*int64{nil, a.AgreedPriceCents}
	for _, r := range m.formerTerms[a.ID] {
		var t metering.Terms
		if json.Unmarshal(r.Body, &t) == nil {
			list = append(list, t.AgreedPriceCents)
		}
	}
	return list
}

// billedFields returns the amounts that follow from ledger, terms and prices.
func (v Invoice) billedFields() Invoice {
	return Invoice{
		ID: v.ID, Number: v.Number, Account: v.Account, Period: v.Period, Plan: v.Plan, Currency: v.Currency,
		PriceCents: v.PriceCents, Plans: v.Plans, UsedCredits: v.UsedCredits, LimitCredits: v.LimitCredits,
		OverageCredits: v.OverageCredits, OverageRate: v.OverageRate, Overage: v.Overage, OverageExact: v.OverageExact,
		OverageCents: v.OverageCents, TaxBasisPoints: v.TaxBasisPoints, TaxCents: v.TaxCents, TotalCents: v.TotalCents,
	}
}

// reportMissing reports what is missing for an account.
func (a *audit) reportMissing(o *audited) {
	if o.chain.Count > 0 && !o.hasEnd {
		a.fault(o.ID, metering.Period{}, "the end of its notes is missing")
	}
	for _, id := range slices.Sorted(maps.Keys(o.invoice)) {
		a.fault(o.ID, periodOf(id), "invoice %s has notes, and is gone", id)
	}
	isSuspended := o.lastSuspension.Action == AccountSuspended
	switch s := o.Suspension; {
	case s == nil && isSuspended:
		a.fault(o.ID, metering.Period{}, "its notes say that it is suspended, and it is not")
	case s != nil && (!isSuspended || !s.At.Equal(o.lastSuspension.At) || s.Reason != o.lastSuspension.Reason):
		a.fault(o.ID, metering.Period{}, "it is suspended, and its notes do not say so")
	}
}

// A Head is a hash over all notes from before an instant, and so over each invoice as it was then. Kept elsewhere, it
// reveals whether invoices, notes and the ends of their chains were rewritten.
type Head struct {
	Before time.Time      `json:"before"`
	Count  int64          `json:"count"` // of the notes
	Chain  metering.Chain `json:"chain"` // over all of them, by their time
}

// ReadHead computes the head of the notes from before an instant. Zero means [Grace] ago, by when each note about that
// time has been written.
func (b Billing) ReadHead(ctx context.Context, before time.Time) (Head, error) {
	if before.IsZero() {
		before = b.now().Add(-Grace)
	}
	h := Head{Before: before}
	for r, err := range b.Store.Records(ctx, metering.RecordFilter{Kind: NoteKind, Before: before}) {
		if err != nil {
			return Head{}, err
		}
		h.Count++
		h.Chain = h.Chain.Next("billing.head.v1", string(r.Account), r.ID, string(r.Body))
	}
	return h, nil
}

// Matches reports whether the notes that a head covers are unchanged.
func (h Head) Matches(ctx context.Context, b Billing) (bool, error) {
	now, err := b.ReadHead(ctx, h.Before)
	return now.Count == h.Count && now.Chain == h.Chain, err
}
