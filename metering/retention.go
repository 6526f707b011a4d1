package metering

import (
	"context"
	"fmt"
	"time"
)

// Retention is how much history a store keeps. The zero value keeps all.
type Retention struct {
	// Ledger is the first month whose charges and balances are kept; those of earlier months go, together,
	// so that an audit holds. The zero Period keeps all. This month and the one before it cannot go.
	Ledger Period
	// Changes is how many of the newest changes of keys and accounts are kept; 0 keeps all. A watcher that is further
	// behind gets a Change without an id, and reloads everything.
	Changes int64
}

// Check refuses a retention that a store may not carry out at an instant: a month in which requests are still
// being charged, or may be by a node whose clock is late, must stay.
func (r Retention) Check(now time.Time) error {
	if r.Ledger.Start().After(PeriodOf(now).Previous().Start()) {
		return fmt.Errorf("the ledger of %v and later is kept: charges of it may be under way", PeriodOf(now).Previous())
	}
	if r.Changes < 0 {
		return fmt.Errorf("%d changes cannot be kept", r.Changes)
	}
	return nil
}

// Pruned is the number of rows that a [Pruner] has removed.
type Pruned struct{ Charges, Balances, Changes int64 }

// Pruner is an optional ability of a [Store]: to remove old data. It works in small transactions, so that other
// writers do not wait long, and ends with the context's error when that ends first; removals up to then remain. A
// charge and its share of the balance are removed in one transaction, so that an audit holds at any time. The newest
// charge and the newest change may stay, however old they are: their sequence numbers are not reused. Several may
// prune at once.
type Pruner interface {
	Prune(ctx context.Context, keep Retention) (Pruned, error)
}
