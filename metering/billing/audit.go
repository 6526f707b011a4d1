package billing

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/metering"
)

// Audit compares every invoice with the ledger, as far as that was kept, and reports each that says something
// else. In the oldest month of a ledger less may be left than was billed: part of it may have been pruned.
func (b Billing) Audit(ctx context.Context) ([]metering.AuditFault, error) {
	var oldest metering.Period
	for e, err := range b.Store.Entries(ctx, metering.EntryFilter{Limit: 1}) {
		if err != nil {
			return nil, fmt.Errorf("auditing invoices: %w", err)
		}
		oldest = e.Period
	}
	var faults []metering.AuditFault
	for v, err := range b.Invoices(ctx, Filter{}) {
		if err != nil {
			return nil, fmt.Errorf("auditing invoices: %w", err)
		}
		balance, err := b.Store.Balance(ctx, v.Account, v.Period)
		if err != nil {
			return nil, fmt.Errorf("auditing the invoice for %v of %s: %w", v.Period, v.Account, err)
		}
		pruned := !oldest.Before(v.Period) // all of it, or some
		if balance.Used > v.UsedCredits || balance.Used < v.UsedCredits && !pruned {
			faults = append(faults, metering.AuditFault{Account: v.Account, Period: v.Period, Detail: fmt.Sprintf(
				"the invoice says %d credits, the balance %d", v.UsedCredits, balance.Used)})
		}
	}
	return faults, nil
}
