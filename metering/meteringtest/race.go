package meteringtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
)

// racers is the number of goroutines of the races: far more than cores, and more than most batches.
const racers = 256

// each calls do for each number below n, by many goroutines, as a server does.
func each(n int, do func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(racers, n) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				do(int(i))
			}
		})
	}
	wg.Wait()
}

// beginAll expects a ticket for each operation.
func (f *fixture) beginAll(ops []metering.Op) []metering.Ticket {
	f.t.Helper()
	tickets := make([]metering.Ticket, len(ops))
	each(len(ops), func(i int) {
		begun, err := f.store.Begin(f.ctx(), ops[i])
		if assert.NoError(f.t, err) {
			tickets[i] = *begun.Ticket
		}
	})
	require.False(f.t, f.t.Failed())
	return tickets
}

// settleAll settles tickets.
func (f *fixture) settleAll(tickets []metering.Ticket) {
	f.t.Helper()
	each(len(tickets), func(i int) {
		_, err := f.store.Settle(f.ctx(), tickets[i], f.outcome(""))
		assert.NoError(f.t, err)
	})
}

// sell expects that an operation is granted and charged, on any goroutine, and reports it.
func (f *fixture) sell(op metering.Op) bool {
	begun, err := f.store.Begin(f.ctx(), op)
	if assert.NoError(f.t, err) {
		_, err = f.store.Settle(f.ctx(), *begun.Ticket, f.outcome(""))
	}
	return assert.NoError(f.t, err)
}

// buy runs one operation to its end, and returns the acknowledged credits.
func (f *fixture) buy(op metering.Op, dice *rand.Rand) (sold int64, err error) {
	begun, err := f.store.Begin(f.ctx(), op)
	if err != nil {
		return 0, err
	}
	if dice.IntN(8) == 0 {
		return 0, f.store.Cancel(f.ctx(), *begun.Ticket)
	}
	balance, err := f.store.Settle(f.ctx(), *begun.Ticket, f.outcome(""))
	if err != nil {
		return 0, err
	}
	if limit := int64(10007); balance.Used > limit || balance.Used+balance.Held > limit {
		return 0, fmt.Errorf("oversold: %+v", balance)
	}
	return op.Credits, nil
}

// testRaceQuota lets many goroutines with random prices compete for a prime number of credits: the acknowledged
// credits, the ledger and the balance must be equal, and in the end exactly the cap, because selling too little is a
// fault too.
func testRaceQuota(t *testing.T, f *fixture) { f.sellOut(f.customer(Prime)) }

// testRaceBudget is the same for a cap set by an overage budget.
func testRaceBudget(t *testing.T, f *fixture) {
	customer := f.customer(metered)
	f.change(customer.Account, func(a *metering.Account) {
		a.OverageEnabled, a.OverageBudgetCents = true, new(int64(297)) // pays for 9900 credits
	})
	f.sellOut(customer)
	require.Equal(t, int64(9900), f.balance(customer.Account).Overage)
}

// sellOut sells 10007 credits, which is all that the customer may use.
func (f *fixture) sellOut(customer metering.Op) {
	t := f.t
	other := f.customer(Large) // on the same store, and not disturbed by a neighbour without credits
	var sold, neighbour atomic.Int64
	each(racers, func(i int) {
		dice := rand.New(rand.NewPCG(1, uint64(i)))
		for refusals := 0; refusals < 3; {
			n, err := f.buy(f.op(customer, 1+dice.Int64N(10)), dice)
			sold.Add(n)
			if errors.As(err, new(*metering.QuotaError)) {
				refusals++
			} else if !assert.NoError(t, err) {
				return
			}
		}
		if f.sell(f.op(other, 1)) {
			neighbour.Add(1)
		}
	})
	for {
		begun, err := f.store.Begin(t.Context(), f.op(customer, 1))
		if err != nil {
			break
		}
		f.settle(*begun.Ticket)
		sold.Add(1)
	}
	var ledger int64
	for _, e := range f.entries(metering.EntryFilter{Account: customer.Account}) {
		ledger += e.Credits
	}
	f.uses(customer.Account, 10007, 0)
	require.Equal(t, int64(10007), sold.Load(), "acknowledged")
	require.Equal(t, int64(10007), ledger, "ledger")
	require.Equal(t, 10007+neighbour.Load(), f.sound().Credits)
}

// testRaceDuplicates sends every request a hundred times at once: it runs once.
func testRaceDuplicates(t *testing.T, f *fixture) {
	customer := f.customer(Large)
	for round := range 10 {
		var ran, replayed atomic.Int64
		each(100, func(int) {
			for {
				begun, err := f.store.Begin(f.ctx(), keyed(f.op(customer, 3), fmt.Sprint("key ", round), "body"))
				switch {
				case errors.Is(err, metering.ErrInFlight):
					continue
				case !assert.NoError(t, err):
				case begun.Replay != nil:
					replayed.Add(1)
					assert.Equal(t, fmt.Sprint("reply ", round), string(begun.Replay.Reply.Body))
				default:
					ran.Add(1)
					_, err := f.store.Settle(f.ctx(), *begun.Ticket, f.outcome(fmt.Sprint("reply ", round)))
					assert.NoError(t, err)
				}
				return
			}
		})
		require.Equal(t, int64(1), ran.Load())
		require.Equal(t, int64(99), replayed.Load())
	}
	f.uses(customer.Account, 30, 0)
	require.Equal(t, int64(30), f.sound().Credits)
}

// testRacePlans changes the plan while charges are in flight: no charge is lost or counted twice.
func testRacePlans(t *testing.T, f *fixture) {
	customer := f.customer(Large)
	var charged atomic.Int64
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			for range 40 {
				begun, err := f.store.Begin(f.ctx(), f.op(customer, int64(i%5)+1))
				if errors.As(err, new(*metering.QuotaError)) {
					continue
				}
				if assert.NoError(t, err) {
					_, err := f.store.Settle(f.ctx(), *begun.Ticket, f.outcome(""))
					assert.NoError(t, err)
					charged.Add(int64(i%5) + 1)
				}
			}
		})
	}
	wg.Go(func() {
		for i := range 30 {
			a, err := f.store.Account(f.ctx(), customer.Account)
			if !assert.NoError(t, err) {
				return
			}
			a.Plan = []metering.PlanID{Tiny, Large}[i%2]
			assert.NoError(t, f.store.PutAccount(f.ctx(), a))
		}
	})
	wg.Wait()
	f.uses(customer.Account, charged.Load(), 0)
	require.Equal(t, charged.Load(), f.sound().Credits)
}

// testRaceVersions lets many writers increment one account: each version is won once.
func testRaceVersions(t *testing.T, f *fixture) {
	id := f.account(Tiny)
	var won atomic.Int64
	each(32, func(int) {
		for range 5 {
			a, err := f.store.Account(f.ctx(), id)
			if !assert.NoError(t, err) {
				return
			}
			if err = f.store.PutAccount(f.ctx(), a); err == nil {
				won.Add(1)
			} else {
				assert.ErrorIs(t, err, metering.ErrVersion)
			}
		}
	})
	a, err := f.store.Account(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, won.Load()+1, a.Version)
	require.Positive(t, won.Load())
}

// testRaceCancel lets Settle and Cancel of the same ticket race: one of them wins, and the balance shows which.
func testRaceCancel(t *testing.T, f *fixture) {
	customer := f.customer(Large)
	var charged atomic.Int64
	var wg sync.WaitGroup
	for range 200 {
		ticket := f.begin(f.op(customer, 5))
		for range 2 {
			wg.Go(func() {
				if _, err := f.store.Settle(f.ctx(), ticket, f.outcome("")); err == nil {
					charged.Add(5)
				} else {
					assert.ErrorIs(t, err, metering.ErrLapsed)
				}
			})
		}
		wg.Go(func() { assert.NoError(t, f.store.Cancel(f.ctx(), ticket)) })
	}
	wg.Wait()
	f.uses(customer.Account, charged.Load(), 0)
	require.Equal(t, charged.Load(), f.sound().Credits)
}
