package hold

import "github.com/diagkit/diagkit/metering"

// Held is what each account has held in a period. Whoever adds what is settled reads that afterwards, so that no
// charge is missed between the two.
func (b *Book) Held(p metering.Period) map[metering.AccountID]int64 {
	now := b.clock()
	held := map[metering.AccountID]int64{}
	for _, a := range b.all() {
		a.mu.Lock()
		a.lapse(now)
		if m := a.known(p); m != nil && m.held.Credits > 0 {
			held[a.id] = m.held.Credits
		}
		a.mu.Unlock()
	}
	return held
}

// Balances yields the months that are settled, with what is held.
func Balances(
	p metering.Period, settled map[metering.AccountID]Month, held map[metering.AccountID]int64,
	yield func(metering.MonthBalance, error) bool,
) {
	for id := range held {
		if _, ok := settled[id]; !ok {
			settled[id] = Month{}
		}
	}
	for id, m := range settled {
		b := metering.Balance{
			Period: p, Used: m.Used, Held: held[id], Charges: m.Charges, Overage: m.Overage, OverageMicros: m.Micros,
		}
		if !yield(metering.MonthBalance{Account: id, Balance: b}, nil) {
			return
		}
	}
}
