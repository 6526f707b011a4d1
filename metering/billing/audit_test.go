package billing_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/stretchr/testify/require"
)

// The kinds of records that an audit of invoices verifies.
var provenKinds = []string{billing.InvoiceKind, billing.NoteKind, "invoice_head"}

// lived returns a store with invoices in many states, and with notes of all kinds.
func lived(t *testing.T) *bench {
	b := inMemory(t)
	plain, large, upgraded, declined, pending, free := b.account("pack"), b.account("enterprise"), b.account("pack"),
		b.account("pack"), b.account("agency"), b.account("free")
	b.spend(plain, 50_125)
	b.spend(large, 5_000_010)
	b.spend(free, 7)
	agreed := int64(99_999)
	b.set(large, func(a *metering.Account) {
		a.AgreedPriceCents, a.Tax = &agreed, metering.Tax{BasisPoints: 1900, Note: "VAT"}
	})
	b.at("2026-10-20T00:00:00Z")
	b.set(upgraded, toPlan("agency"))
	b.at("2026-11-01T00:15:00Z")
	b.close()
	b.finalize()
	b.Biller = newTill()
	_, _, err := b.Credit(t.Context(), plain, month, 100, "x")
	require.NoError(t, err)
	_, _, err = b.Void(t.Context(), upgraded, month, "wrong", true)
	require.NoError(t, err)
	b.Biller = &bank{}
	b.pay(billing.Paying{Pending: 4})
	for _, id := range []metering.AccountID{plain, large} {
		_, err = b.MarkPaid(t.Context(), id, month, "bank", "a transfer")
		require.NoError(t, err)
	}
	ref := billing.PaymentRef("pay-" + string(declined) + "-2026-10")
	_, err = b.Settle(t.Context(), report(declined, billing.PaymentDeclined, ref))
	require.NoError(t, err)
	_, err = b.WriteOff(t.Context(), declined, month, "gone")
	require.NoError(t, err)
	_, err = b.Suspend(t.Context(), declined, "gone")
	require.NoError(t, err)
	b.at("2026-12-01T00:15:00Z")
	_, err = b.Close(t.Context(), october.Next())
	require.NoError(t, err)
	b.sound()
	require.NotEmpty(t, pending)
	return b
}

// records returns the verified records.
func (b *bench) records() (list []metering.Record) {
	b.t.Helper()
	for _, kind := range provenKinds {
		for r, err := range b.store.Records(b.t.Context(), metering.RecordFilter{Kind: kind}) {
			require.NoError(b.t, err)
			list = append(list, r)
		}
	}
	return list
}

// drop removes a record, if it exists.
func (b *bench) drop(r metering.Record) {
	b.t.Helper()
	if now, err := b.store.Record(b.t.Context(), r.Account, r.Kind, r.ID); err == nil {
		now.Body = nil
		require.NoError(b.t, b.store.PutRecords(b.t.Context(), now))
	}
}

// forge replaces a record with another. Either may have no body, and so not exist. It is rewritten with its version,
// as are the notes whose version is hashed as well.
func (b *bench) forge(old, forged metering.Record) {
	b.t.Helper()
	b.drop(old)
	b.drop(forged)
	if forged.Body != nil {
		forged.Version = 0
		require.NoError(b.t, b.store.PutRecords(b.t.Context(), forged))
	}
}

// leaves changes each value in a JSON document, one at a time, and calls f with each.
func leaves(v any, path string, f func(path string, set func())) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			old := v[k]
			f(path+"."+k, func() { v[k] = other(old) })
			v[k] = old
			f(path+"."+k+" removed", func() { delete(v, k) })
			v[k] = old
			leaves(old, path+"."+k, f)
		}
		f(path+" with more", func() { v["more"] = 1 })
		delete(v, "more")
	case []any:
		for i, old := range v {
			f(fmt.Sprintf("%s[%d]", path, i), func() { v[i] = other(old) })
			v[i] = old
			leaves(old, fmt.Sprintf("%s[%d]", path, i), f)
		}
	}
}

// other is a value of the same type.
func other(v any) any {
	switch v := v.(type) {
	case json.Number:
		return json.Number("1" + v.String())
	case bool:
		return !v
	case string:
		if t, err := time.Parse(time.RFC3339, v); err == nil {
			return t.Add(time.Microsecond).Format(time.RFC3339Nano)
		}
		if v == "" {
			return "x"
		}
		last := v[len(v)-1]
		if last == '1' {
			return v[:len(v)-1] + "2"
		}
		return v[:len(v)-1] + "1"
	case []any:
		return append([]any{}, append(v, v...)...)
	case nil:
		return json.Number("7")
	}
	return map[string]any{}
}

// A head that was kept elsewhere detects even a chain that was rebuilt from its beginning.
func TestHead(t *testing.T) {
	onEachStore(t, func(t *testing.T, b *bench) {
		id := b.account("pack")
		b.at("2026-11-01T00:15:00Z")
		b.Draft = -1
		b.close()
		young, err := b.ReadHead(t.Context(), time.Time{})
		require.NoError(t, err)
		require.Zero(t, young.Count, "notes may still come that tell of the last minutes")
		b.clock.Advance(time.Hour)
		head, err := b.ReadHead(t.Context(), time.Time{})
		require.NoError(t, err)
		require.Equal(t, int64(1), head.Count)
		_, err = b.MarkPaid(t.Context(), id, month, "bank", "a transfer")
		require.NoError(t, err)
		holds := func(want bool) {
			t.Helper()
			got, err := head.Matches(t.Context(), b.Billing)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
		holds(true)
		forged := b.records()
		for r, err := range b.store.Records(t.Context(), metering.RecordFilter{Kind: metering.EventKind, Account: id}) {
			require.NoError(t, err)
			forged = append(forged, r)
		}
		for _, r := range forged {
			b.drop(r)
		}
		b.sound()
		holds(false)
		b.close()
		b.sound()
		holds(false)
	})
}

// An account is suspended exactly if its notes say so.
func TestAuditOfSuspensions(t *testing.T) {
	b := inMemory(t)
	id, free := b.account("pack"), b.account("pack")
	_, err := b.Suspend(t.Context(), id, "abuse")
	require.NoError(t, err)
	b.sound()
	for what, c := range map[string]struct {
		id metering.AccountID
		s  *metering.Suspension
	}{
		"ended": {id, nil}, "begun": {free, &metering.Suspension{At: b.clock.Now(), Reason: "abuse"}},
		"another reason": {id, &metering.Suspension{At: b.suspended(id).At, Reason: "x"}},
		"another time":   {id, &metering.Suspension{At: b.clock.Now().Add(time.Hour), Reason: "abuse"}},
	} {
		a, err := b.store.Account(t.Context(), c.id)
		require.NoError(t, err)
		was := a.Suspension
		a.Suspension = c.s
		require.NoError(t, b.store.PutAccount(t.Context(), a))
		found, err := b.Audit(t.Context())
		require.NoError(t, err)
		require.Len(t, found.Faults, 1, what)
		a.Version++
		a.Suspension = was
		require.NoError(t, b.store.PutAccount(t.Context(), a))
		b.sound()
	}
}

// What an invoice says is found wrong by what it follows from, even where its notes were forged with it.
func TestAuditRecomputes(t *testing.T) {
	for name, c := range map[string]struct {
		change func(v *billing.Invoice)
		want   string
	}{
		"price": {func(v *billing.Invoice) { *v.PriceCents, v.TotalCents = 1, 14 },
			"the invoice says 14 cents, ledger and prices say 2913"},
		"line":     {func(v *billing.Invoice) { v.Plans[0].Days = 30 }, "the invoice says 2913 cents"},
		"credits":  {func(v *billing.Invoice) { v.UsedCredits-- }, "the invoice says 50124 credits, the balance 50125"},
		"overage":  {func(v *billing.Invoice) { v.Overage[0].Credits = 5 }, "the invoice says 2913 cents"},
		"currency": {func(v *billing.Invoice) { v.Currency = "USD" }, "the invoice says 2913 cents"},
		"total":    {func(v *billing.Invoice) { v.TotalCents = 1 }, "the invoice says 1 cents, ledger and prices say 2913"},
	} {
		t.Run(name, func(t *testing.T) {
			b := inMemory(t)
			id := b.account("pack")
			b.spend(id, 50_125)
			b.at("2026-11-01T00:15:00Z")
			b.Draft = -1
			b.close()
			v := b.invoice(id)
			c.change(&v)
			// A forger starts from an empty store, and writes what a first close would have written.
			for _, r := range b.records() {
				r.Body = nil
				require.NoError(t, b.store.PutRecords(t.Context(), r))
			}
			body, err := json.Marshal(v)
			require.NoError(t, err)
			require.NoError(t, b.store.PutRecords(t.Context(), metering.Record{
				Account: id, Kind: billing.InvoiceKind, ID: month, At: v.CreatedAt, Due: v.CreatedAt, Body: body,
			}))
			_, err = b.Retry(t.Context(), id, month) // which makes its notes
			require.NoError(t, err)
			found, err := b.Audit(t.Context())
			require.NoError(t, err)
			require.Len(t, found.Faults, 1)
			require.Contains(t, found.Faults[0].Detail, c.want)
		})
	}
}

// Invoices from before there were notes stay as they are, and are counted; the next close notes them.
func TestAuditOfOldInvoices(t *testing.T) {
	onEachStore(t, func(t *testing.T, b *bench) {
		id, other := b.account("pack"), b.account("pack")
		b.spend(id, 3)
		b.at("2026-11-01T00:15:00Z")
		old := `{"id":"2026-10","number":"INV-2026-10-A","account":"` + string(id) + `","account_name":"a","period":"2026-10",
			"plan":"pack","currency":"EUR","price_cents":2900,"used_credits":3,"limit_credits":50000,"overage_credits":0,
			"overage_rate":100000,"overage_cents_exact":"0","overage_cents":0,"total_cents":2900,"state":"open","attempts":[],
			"failures":0,"created_at":"2026-11-01T00:15:00Z","next_attempt_at":"2026-11-01T00:15:00Z"}`
		require.NoError(t, b.store.PutRecords(t.Context(), metering.Record{
			Account: id, Kind: billing.InvoiceKind, ID: month, At: b.clock.Now(), Due: b.clock.Now(), Body: []byte(old),
		}))
		found, err := b.Audit(t.Context())
		require.NoError(t, err)
		require.Equal(t, billing.Audit{Invoices: 1, Unproven: 1}, found)
		require.Equal(t, billing.Closed{Period: october, Created: 1, Existed: 1}, b.close())
		r, err := b.store.Record(t.Context(), id, billing.InvoiceKind, month)
		require.NoError(t, err)
		require.Equal(t, old, string(r.Body))
		require.Equal(t, []billing.Action{billing.Adopted}, b.notes(id))
		b.sound()
		b.finalize()
		biller := newTill()
		b.Biller = biller
		b.pay(billing.Paying{Paid: 2})
		require.Equal(t, map[string]int64{string(id) + "-2026-10": 2900, string(other) + "-2026-10": 2900}, biller.paid)
		require.Equal(t, int64(100_000), b.invoice(id).OverageRate, "nothing is lost of it")
		b.sound()
	})
}

// Several old invoices of an account are noted at once, by a close as by what is done to one of them. An end of notes
// that an earlier version has filed under the time of the last of them is in order.
func TestAuditOfSeveralOldInvoices(t *testing.T) {
	onEachStore(t, func(t *testing.T, b *bench) {
		b.at("2026-08-30T00:00:00Z")
		id := b.account("pack")
		b.at("2026-11-01T00:15:00Z")
		for _, p := range []metering.Period{october.Previous(), october.Previous().Previous()} {
			old := fmt.Sprintf(`{"id":"%[1]v","number":"INV-%[1]v-A","account":"%[2]s","account_name":"a","period":"%[1]v",
				"plan":"pack","currency":"EUR","price_cents":2900,"used_credits":0,"limit_credits":50000,"overage_credits":0,
				"overage_rate":0,"overage_cents_exact":"0","overage_cents":0,"total_cents":2900,"state":"paid","attempts":[],
				"failures":0,"created_at":"2026-11-01T00:15:00Z"}`, p, id)
			require.NoError(t, b.store.PutRecords(t.Context(), metering.Record{
				Account: id, Kind: billing.InvoiceKind, ID: p.String(), At: b.clock.Now(), Body: []byte(old),
			}))
		}
		ticking := b.Billing
		ticking.Clock = func() time.Time { b.clock.Advance(time.Millisecond); return b.clock.Now() }
		_, err := ticking.Close(t.Context(), october)
		require.NoError(t, err)
		require.Equal(t, []billing.Action{billing.Adopted, billing.Adopted, billing.Created}, b.notes(id))
		b.sound()

		head, err := b.store.Record(t.Context(), id, "invoice_head", "head")
		require.NoError(t, err)
		faults := map[time.Time]int{head.At.Add(time.Hour): 1}
		for n, err := range b.Notes(t.Context(), id) {
			require.NoError(t, err)
			faults[n.At] = 0
		}
		require.Contains(t, faults, head.At)
		for at, want := range faults {
			forged := head
			forged.At = at
			b.forge(head, forged)
			found, err := b.Audit(t.Context())
			require.NoError(t, err)
			require.Len(t, found.Faults, want, at)
			head = forged
		}
	})
}

// An invoice that differs from the ledger is a fault, as far as that was kept.
func TestAuditOfUse(t *testing.T) {
	onEachStore(t, func(t *testing.T, b *bench) {
		september := october.Previous()
		b.at("2026-09-29T00:00:00Z")
		id := b.account("pack")
		b.spend(id, 5)
		b.at("2026-10-30T00:00:00Z")
		b.spend(id, 5)
		b.at("2026-11-02T00:00:00Z")
		for _, p := range []metering.Period{september, october} {
			_, err := b.Close(t.Context(), p)
			require.NoError(t, err)
		}
		b.sound()
		audit := func(p metering.Period, used int64) (count int) {
			t.Helper()
			r, err := b.store.Record(t.Context(), id, billing.InvoiceKind, p.String())
			require.NoError(t, err)
			kept := r.Body
			var v billing.Invoice
			require.NoError(t, json.Unmarshal(r.Body, &v))
			v.UsedCredits = used
			r.Body, err = json.Marshal(v)
			require.NoError(t, err)
			require.NoError(t, b.store.PutRecords(t.Context(), r))
			found, err := b.Audit(t.Context())
			require.NoError(t, err)
			for _, f := range found.Faults {
				if strings.Contains(f.Detail, "the balance") {
					count++
				}
			}
			r.Version++
			r.Body = kept
			require.NoError(t, b.store.PutRecords(t.Context(), r))
			return count
		}
		require.Equal(t, 1, audit(october, 4))
		require.Equal(t, 1, audit(october, 6))
		require.Equal(t, 1, audit(september, 4))
		require.Zero(t, audit(september, 6), "part of the oldest month may have been pruned")
		b.sound()
	})
}

// The months that have an invoice are known from the end of the notes, in whatever order they were closed.
func TestMonthsInAnyOrder(t *testing.T) {
	b := inMemory(t)
	id := b.account("pack")
	b.at("2033-01-15T00:00:00Z")
	var months []metering.Period
	for p := october; p.Before(metering.PeriodOf(b.clock.Now())); p = p.Next() {
		months = append(months, p)
	}
	require.Greater(t, len(months), 70)
	rand.Shuffle(len(months), func(i, j int) { months[i], months[j] = months[j], months[i] })
	for _, existed := range []int{0, 1} {
		for _, p := range months {
			closed, err := b.Close(t.Context(), p)
			require.NoError(t, err)
			require.Equal(t, billing.Closed{Period: p, Created: 1 - existed, Existed: existed}, closed)
		}
	}
	require.Len(t, b.invoices(billing.Filter{Account: id}), len(months))
	b.sound()
}
