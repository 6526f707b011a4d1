package billing

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// A Usage is what a key was charged in a month for one endpoint.
type Usage struct {
	Account  metering.AccountID `json:"account"`
	Key      metering.KeyID     `json:"key"`
	Endpoint string             `json:"endpoint"`
	Credits  int64              `json:"credits"`
	Charges  int64              `json:"charges_count"`
}

// Charges sums the charges of a month by account, key and endpoint, in this order; of one account where one is named.
func Charges(
	ctx context.Context, ledger metering.Ledger, account metering.AccountID, p metering.Period,
) ([]Usage, error) {
	type name struct {
		account  metering.AccountID
		key      metering.KeyID
		endpoint string
	}
	sums := map[name]Usage{}
	for e, err := range ledger.Entries(ctx, metering.EntryFilter{Account: account, Period: &p}) {
		if err != nil {
			return nil, err
		}
		n := name{e.Account, e.Key, e.Endpoint}
		u := sums[n]
		sums[n] = Usage{e.Account, e.Key, e.Endpoint, u.Credits + e.Credits, u.Charges + 1}
	}
	return slices.SortedFunc(maps.Values(sums), func(a, b Usage) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Endpoint, b.Endpoint))
	}), nil
}

// A Sum is the total charged under one name.
type Sum struct {
	Name    string `json:"name"`
	Credits int64  `json:"credits"`
	Charges int64  `json:"charges_count"`
}

// Ranked lists totals by their names, the largest first.
func Ranked[K ~string](totals map[K]metering.Total) []Sum {
	ranked := make([]Sum, 0, len(totals))
	for name, t := range totals {
		ranked = append(ranked, Sum{string(name), t.Credits, t.Charges})
	}
	slices.SortFunc(ranked, func(a, b Sum) int {
		return cmp.Or(cmp.Compare(b.Credits, a.Credits), cmp.Compare(a.Name, b.Name))
	})
	return ranked
}

// WriteUsages writes usages as CSV (RFC 4180).
func WriteUsages(w io.Writer, p metering.Period, list []Usage) error {
	c := newCSV(w, "period", "account", "key", "endpoint", "credits", "charges_count")
	for _, u := range list {
		c.row(p.String(), string(u.Account), string(u.Key), u.Endpoint, decimal(u.Credits), decimal(u.Charges))
	}
	return c.flush()
}

// WriteInvoices writes invoices as CSV (RFC 4180).
func WriteInvoices(w io.Writer, list iter.Seq2[Invoice, error]) error {
	c := newCSV(w, "number", "period", "account", "account_name", "plan", "currency", "price_cents", "used_credits",
		"limit_credits", "overage_credits", "overage_cents_exact", "overage_cents", "tax_basis_points", "tax_cents",
		"total_cents", "credited_cents", "amount_cents", "state", "attempts_count", "last_error", "payment", "created_at",
		"paid_at", "next_attempt_at")
	for v, err := range list {
		if err != nil {
			return err
		}
		attempts, problem, planPrice := 0, "", ""
		if n := len(v.Attempts); n > 0 {
			attempts, problem = v.Attempts[n-1].Number, v.Attempts[n-1].Error
		}
		if v.PriceCents != nil {
			planPrice = decimal(*v.PriceCents)
		}
		c.row(v.Number, v.Period.String(), string(v.Account), v.Name, string(v.Plan), v.Currency, planPrice,
			decimal(v.UsedCredits), decimal(v.LimitCredits), decimal(v.OverageCredits), v.OverageExact,
			decimal(v.OverageCents), strconv.Itoa(v.TaxBasisPoints), decimal(v.TaxCents), decimal(v.TotalCents),
			decimal(v.CreditedCents), decimal(v.AmountCents), string(v.State), strconv.Itoa(attempts), problem,
			string(v.Payment), instant(&v.CreatedAt), instant(v.PaidAt), instant(v.NextAttempt))
	}
	return c.flush()
}

// WriteNotes writes notes as CSV (RFC 4180); credit notes have what they credit, net, tax and gross, in cents.
func WriteNotes(w io.Writer, list iter.Seq2[Note, error]) error {
	c := newCSV(w, "account", "note", "at", "invoice", "action", "state", "credit_note_number", "currency",
		"credited_net_cents", "credited_tax_cents", "credited_cents", "payment", "by", "reason")
	for n, err := range list {
		if err != nil {
			return err
		}
		net, tax, gross := "", "", ""
		if n.Number != "" {
			net, tax, gross = decimal(n.NetCents), decimal(n.TaxCents), decimal(n.Cents)
		}
		c.row(string(n.Account), n.ID, instant(&n.At), n.Invoice, string(n.Action), string(n.State), n.Number, n.Currency,
			net, tax, gross, string(n.Payment), n.By, n.Reason)
	}
	return c.flush()
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

func instant(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// csvFile is a table with the line endings of RFC 4180.
type csvFile struct{ *csv.Writer }

func newCSV(w io.Writer, header ...string) csvFile {
	c := csvFile{csv.NewWriter(w)}
	c.UseCRLF = true
	c.row(header...)
	return c
}

// row writes cells. The writer remembers an error until end.
func (c csvFile) row(cells ...string) {
	for i, cell := range cells {
		cells[i] = escapeFormula(cell)
	}
	_ = c.Write(cells)
}

func (c csvFile) flush() error {
	c.Flush()
	return c.Error()
}

// escapeFormula keeps a spreadsheet from interpreting a text as a formula: an apostrophe marks it as text. The names of
// accounts are the customers' own.
func escapeFormula(cell string) string {
	if strings.ContainsAny(cell[:min(1, len(cell))], "=+-@\t\r\n") {
		return "'" + cell
	}
	return cell
}

// FileBiller exports invoices to a folder, for an accounting program or a person. Each invoice is one line of JSON in
// a file named after the month and the account, such as 2026-10/acc_….jsonl; `cat DIR/2026-10/*.jsonl` is a month. A
// file appears atomically, durably and once, also if several nodes share the folder.
type FileBiller struct{ Dir string }

// Charge implements [Biller]. The reference is the name of the file.
func (f FileBiller) Charge(ctx context.Context, v Invoice) (Payment, error) {
	if err := ctx.Err(); err != nil {
		return Payment{}, err
	}
	// What a repetition would write, too.
	v.State, v.Attempts, v.Failures, v.Declines, v.NextAttempt = Paid, []Attempt{}, 0, 0, nil
	line, err := json.Marshal(v)
	if err != nil {
		return Payment{}, err
	}
	name := filepath.Join(v.Period.String(), string(v.Account)+strings.TrimPrefix(v.ID, v.Period.String())+".jsonl")
	path := filepath.Join(f.Dir, name)
	if _, err := os.Stat(path); err == nil {
		return paidFile(name), syncDir(filepath.Dir(path)) // a crash may have come before it
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return Payment{}, err
	}
	temporary, err := writeTemporary(filepath.Dir(path), append(line, '\n'))
	if err != nil {
		return Payment{}, fmt.Errorf("writing invoice %s: %w", name, err)
	}
	defer os.Remove(temporary)
	// Unlike a renaming, a link replaces nothing.
	if err := os.Link(temporary, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return Payment{}, err
	}
	if err := errors.Join(syncDir(filepath.Dir(path)), syncDir(f.Dir)); err != nil {
		return Payment{}, err
	}
	return paidFile(name), nil
}

func paidFile(name string) Payment {
	return Payment{Status: PaymentPaid, Reference: PaymentRef(filepath.ToSlash(name))}
}

// writeTemporary makes a file durable under a name that no pattern for invoices matches.
func writeTemporary(dir string, data []byte) (path string, err error) {
	t, err := os.CreateTemp(dir, ".invoice-*")
	if err != nil {
		return "", err
	}
	_, err = t.Write(data)
	if err == nil {
		err = t.Sync()
	}
	if err = errors.Join(err, t.Close()); err != nil {
		return "", errors.Join(err, os.Remove(t.Name()))
	}
	return t.Name(), nil
}

// syncDir makes the names in a folder durable.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
