package memory

import (
	"context"
	"slices"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/internal/hold"
)

var _ metering.Pruner = (*Store)(nil)

// Prune implements [metering.Pruner].
func (s *Store) Prune(ctx context.Context, keep metering.Retention) (pruned metering.Pruned, err error) {
	if err := s.ready(ctx); err != nil {
		return pruned, err
	}
	if err := keep.Check(s.clock()); err != nil {
		return pruned, err
	}
	pruned.Changes = s.admin.prune(keep.Changes)
	if keep.Ledger == (metering.Period{}) {
		return pruned, nil
	}
	defer s.book.Forget(keep.Ledger)
	for i := 0; s.ledger.prune(i, keep.Ledger, &pruned); i++ {
		if err := s.ready(ctx); err != nil {
			return pruned, err
		}
	}
	return pruned, nil
}

// prune removes the charges of earlier months from a chunk, and reports whether there is such a chunk.
func (l *ledger) prune(i int, first metering.Period, pruned *metering.Pruned) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i >= len(l.chunks) {
		return false
	}
	var kept []metering.Entry // a new list: readers may hold the old one
	for _, e := range l.chunks[i] {
		if !e.Period.Before(first) {
			kept = append(kept, e)
			continue
		}
		at := accountMonth{e.Account, e.Period}
		m := l.months[at]
		m.Month = m.Plus(-1, hold.Parts{Credits: -e.Credits, Overage: -e.Overage, Rate: e.OverageRate})
		m.chain = metering.Chain{} // a part of it was removed
		l.pruned++
		pruned.Charges++
		if m.Charges == 0 {
			delete(l.months, at)
			pruned.Balances++
		}
	}
	if len(kept) < len(l.chunks[i]) {
		l.chunks[i] = kept
	}
	return true
}

// prune keeps so many of the newest changes.
func (r *registry) prune(keep int64) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	excess := int64(len(r.changes)) - keep
	if keep == 0 || excess <= 0 {
		return 0
	}
	r.changes = slices.Clone(r.changes[excess:])
	r.pruned += excess
	return excess
}
