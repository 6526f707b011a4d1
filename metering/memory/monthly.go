package memory

import (
	"context"
	"iter"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/hold"
)

// Balances implements [metering.Monthly].
func (s *Store) Balances(ctx context.Context, p metering.Period) iter.Seq2[metering.MonthBalance, error] {
	return func(yield func(metering.MonthBalance, error) bool) {
		if err := s.ready(ctx); err != nil {
			yield(metering.MonthBalance{}, err)
			return
		}
		held := s.book.Held(p)
		settled := map[metering.AccountID]hold.Month{}
		s.ledger.mu.Lock()
		for at, m := range s.ledger.months {
			if at.period == p {
				settled[at.account] = m.Month
			}
		}
		s.ledger.mu.Unlock()
		hold.Balances(p, settled, held, yield)
	}
}
