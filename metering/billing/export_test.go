package billing_test

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
)

func TestInvoicesAsCSV(t *testing.T) {
	b := inMemory(t)
	id := b.account("pack")
	b.set(id, func(a *metering.Account) { a.Name, a.Tax = `=HYPERLINK("x"), Ltd`, metering.Tax{BasisPoints: 1900} })
	b.spend(id, 50_125)
	b.at("2026-11-01T00:15:00Z")
	b.Draft = -1
	b.close()
	var out bytes.Buffer
	require.NoError(t, billing.WriteInvoices(&out, b.Invoices(t.Context(), billing.Filter{})))
	require.Equal(t, strings.Count(out.String(), "\n"), strings.Count(out.String(), "\r\n"))
	rows, err := csv.NewReader(&out).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 2)
	cells := map[string]string{}
	for i, name := range rows[0] {
		cells[name] = rows[1][i]
	}
	require.Equal(t, `'=HYPERLINK("x"), Ltd`, cells["account_name"])
	delete(cells, "account_name")
	require.Regexp(t, "^INV-2026-10-", cells["number"])
	delete(cells, "number")
	require.Equal(t, map[string]string{
		"period": "2026-10", "account": string(id), "plan": "pack", "currency": "EUR", "price_cents": "2900",
		"used_credits": "50125", "limit_credits": "50000", "overage_credits": "125", "overage_cents_exact": "12.5",
		"overage_cents": "13", "tax_basis_points": "1900", "tax_cents": "553", "total_cents": "3466", "credited_cents": "0",
		"amount_cents": "3466", "state": "open", "attempts_count": "0", "last_error": "",
		"payment": "", "created_at": "2026-11-01T00:15:00Z", "paid_at": "", "next_attempt_at": "2026-11-01T00:15:00Z",
	}, cells)
}

func TestChargesAsCSV(t *testing.T) {
	b := inMemory(t)
	one, two := b.account("pack"), b.account("pack")
	b.spend(two, 3)
	b.spend(one, 1)
	b.spend(one, 2)
	b.at("2026-11-01T00:00:00Z")
	b.spend(one, 9)
	list, err := billing.Charges(t.Context(), b.store, "", october)
	require.NoError(t, err)
	want := []billing.Usage{
		{Account: one, Key: "key_a", Endpoint: "POST /x", Credits: 3, Charges: 2},
		{Account: two, Key: "key_a", Endpoint: "POST /x", Credits: 3, Charges: 1},
	}
	if two < one {
		want[0], want[1] = want[1], want[0]
	}
	require.Equal(t, want, list)
	list, err = billing.Charges(t.Context(), b.store, two, october)
	require.NoError(t, err)
	require.Len(t, list, 1)
	var out bytes.Buffer
	require.NoError(t, billing.WriteUsages(&out, october, list))
	require.Equal(t, "period,account,key,endpoint,credits,charges_count\r\n"+
		"2026-10,"+string(two)+",key_a,POST /x,3,1\r\n", out.String())
}

func TestFormulasAreText(t *testing.T) {
	for _, cell := range []string{"=1", "+1", "-1", "@x", "\tx", "\rx", "\nx"} {
		var out bytes.Buffer
		require.NoError(t, billing.WriteUsages(&out, october, []billing.Usage{{Endpoint: cell}}))
		require.Regexp(t, `,"?'`, out.String(), "%q", cell)
	}
}
