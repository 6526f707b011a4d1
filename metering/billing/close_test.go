package billing_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/diagkit/diagkit/metering/postgres"
	"github.com/diagkit/diagkit/metering/sqlite"
)

var (
	errBroken = errors.New("broken")
	october   = metering.Period{Year: 2026, Month: time.October}
)

// bench is a store with a clock in October 2026 and a Billing on it.
type bench struct {
	t     *testing.T
	clock *meteringtest.Clock
	store metering.Store
	billing.Billing
}

// onEachStore runs a test on every store that there is.
func onEachStore(t *testing.T, test func(t *testing.T, b *bench)) {
	for name, open := range map[string]func(t *testing.T, clock *meteringtest.Clock) metering.Store{
		"memory": func(_ *testing.T, clock *meteringtest.Clock) metering.Store {
			return memory.New(memory.Config{Clock: clock.Now})
		},
		"sqlite": func(t *testing.T, clock *meteringtest.Clock) metering.Store {
			store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "diag.db"), sqlite.Config{Clock: clock.Now})
			require.NoError(t, err)
			return store
		},
		"postgres": func(t *testing.T, clock *meteringtest.Clock) metering.Store {
			store, err := postgres.Open(t.Context(), newSchema(t), postgres.Config{Clock: clock.Now})
			require.NoError(t, err)
			return store
		},
	} {
		t.Run(name, func(t *testing.T) {
			clock := meteringtest.NewClock()
			test(t, newBench(t, clock, open(t, clock)))
		})
	}
}

// newSchema makes a schema of the test database that ends with the test, and returns the URL that finds it.
func newSchema(t *testing.T) string {
	t.Helper()
	text := os.Getenv("DIAG_TEST_POSTGRES")
	if text == "" {
		t.Skip("DIAG_TEST_POSTGRES is not set")
	}
	schema := fmt.Sprintf("billing_%016x", rand.Uint64())
	execute := func(sql string) {
		conn, err := pgx.Connect(context.Background(), text) // the context of a test has ended when it cleans up
		require.NoError(t, err)
		_, err = conn.Exec(context.Background(), sql)
		require.NoError(t, err)
		require.NoError(t, conn.Close(context.Background()))
	}
	execute("CREATE SCHEMA " + schema)
	t.Cleanup(func() { execute("DROP SCHEMA " + schema + " CASCADE") })
	u, err := url.Parse(text)
	require.NoError(t, err)
	query := u.Query()
	query.Set("search_path", schema)
	u.RawQuery = query.Encode()
	return u.String()
}

func newBench(t *testing.T, clock *meteringtest.Clock, store metering.Store) *bench {
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	b := &bench{t: t, clock: clock, store: store, Billing: billing.Billing{Store: store, Clock: clock.Now}}
	b.at("2026-10-05T00:00:00Z")
	return b
}

func inMemory(t *testing.T) *bench {
	clock := meteringtest.NewClock()
	return newBench(t, clock, memory.New(memory.Config{Clock: clock.Now}))
}

// at sets the clock.
func (b *bench) at(text string) {
	b.t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	require.NoError(b.t, err)
	b.clock.Advance(at.Sub(b.clock.Now()))
}

func (b *bench) admin() metering.Admin { return metering.Admin{Store: b.store, Clock: b.clock.Now} }

// account creates one with a plan, and opts in to overage.
func (b *bench) account(plan metering.PlanID) metering.AccountID {
	b.t.Helper()
	a, err := b.admin().CreateAccount(b.t.Context(), "Example Ltd", plan)
	require.NoError(b.t, err)
	return b.set(a.ID, func(a *metering.Account) { a.OverageEnabled = plan != "self" && plan != "free" })
}

func (b *bench) set(id metering.AccountID, change func(*metering.Account)) metering.AccountID {
	b.t.Helper()
	_, err := b.admin().SetAccount(b.t.Context(), id, change)
	require.NoError(b.t, err)
	return id
}

// begin admits a request.
func (b *bench) begin(id metering.AccountID, credits int64) metering.Ticket {
	b.t.Helper()
	now := b.clock.Now()
	begun, err := b.store.Begin(b.t.Context(), metering.Op{
		RequestID: metering.NewRequestID(), Account: id, Key: "key_a", Endpoint: "POST /x", Credits: credits,
		Now: now, Lease: now.Add(metering.ClaimLease),
	})
	require.NoError(b.t, err)
	return *begun.Ticket
}

func (b *bench) spend(id metering.AccountID, credits int64) {
	b.t.Helper()
	_, err := b.store.Settle(b.t.Context(), b.begin(id, credits), metering.Outcome{At: b.clock.Now()})
	require.NoError(b.t, err)
}

// close closes October.
func (b *bench) close() billing.Closed {
	b.t.Helper()
	closed, err := b.Close(b.t.Context(), october)
	require.NoError(b.t, err)
	return closed
}

// invoices lists what a filter selects.
func (b *bench) invoices(f billing.Filter) []billing.Invoice {
	b.t.Helper()
	list := []billing.Invoice{}
	for v, err := range b.Invoices(b.t.Context(), f) {
		require.NoError(b.t, err)
		list = append(list, v)
	}
	return list
}

// invoice is the only one of an account for October.
func (b *bench) invoice(id metering.AccountID) billing.Invoice {
	b.t.Helper()
	list := b.invoices(billing.Filter{Account: id, Period: &october})
	require.Len(b.t, list, 1)
	return list[0]
}

// events counts those of an account by type.
func (b *bench) events(id metering.AccountID) map[metering.EventType]int {
	b.t.Helper()
	types := map[metering.EventType]int{}
	for r, err := range b.store.Records(b.t.Context(), metering.RecordFilter{Kind: metering.EventKind, Account: id}) {
		require.NoError(b.t, err)
		e, err := metering.ParseEvent(r)
		require.NoError(b.t, err)
		types[e.Type]++
	}
	return types
}

func TestClose(t *testing.T) {
	onEachStore(t, func(t *testing.T, b *bench) {
		pack, agency, free, idle, self := b.account("pack"), b.account("agency"), b.account("free"), b.account("self"),
			b.account("self")
		enterprise := b.account("enterprise")
		b.spend(pack, 50_000)
		b.spend(pack, 125)
		b.spend(agency, 7)
		b.spend(enterprise, 5_000_050)
		b.spend(self, 3)
		b.at("2026-11-01T00:00:00Z")
		late := b.account("pack")
		b.spend(pack, 999)
		b.at("2026-11-01T00:15:00Z")
		require.Equal(t, billing.Closed{Period: october, Created: 5, Without: 2}, b.close())
		require.Equal(t, billing.Closed{Period: october, Existed: 5, Without: 2}, b.close(), "again")
		for name, c := range map[string]struct {
			account metering.AccountID
			want    string
		}{
			"overage, half up": {pack, "pack EUR 50125 of 50000, 125 beyond cost 12.5 = 13, in all 2913, open"},
			"no overage":       {agency, "agency EUR 7 of 1000000, 0 beyond cost 0 = 0, in all 14900, open"},
			"nothing to pay":   {free, "free EUR 0 of 30, 0 beyond cost 0 = 0, in all 0, paid"},
			"price on request": {enterprise, "enterprise EUR 5000050 of 5000000, 50 beyond cost 1.5 = 2, in all 2, open"},
			"not for sale":     {self, "self EUR 3 of 1000000000, 0 beyond cost 0 = 0, in all 0, paid"},
		} {
			v := b.invoice(c.account)
			require.Equal(t, c.want, fmt.Sprintf("%s %s %d of %d, %d beyond cost %s = %d, in all %d, %s", v.Plan, v.Currency,
				v.UsedCredits, v.LimitCredits, v.OverageCredits, v.OverageExact, v.OverageCents, v.TotalCents, v.State), name)
			want := map[metering.EventType]int{metering.EventPeriodClosed: 1}
			if v.OverageCredits > 0 {
				want[metering.EventOverageBilled] = 1
			}
			require.Equal(t, want, b.events(c.account), name)
		}
		require.Regexp(t, `^INV-2026-10-[A-Z2-7]{16}$`, b.invoice(pack).Number)
		require.NotEqual(t, b.invoice(pack).Number, b.invoice(agency).Number)
		require.Empty(t, b.invoices(billing.Filter{Account: idle}), "not for sale, and not used")
		require.Empty(t, b.invoices(billing.Filter{Account: late}), "created after the month")
		require.Len(t, b.invoices(billing.Filter{State: billing.Open}), 3)
	})
}

// The plan of an invoice is the largest of the month, whenever the month is closed.
func TestTermsOfInvoice(t *testing.T) {
	b := inMemory(t)
	plan := func(p metering.PlanID) func(*metering.Account) { return func(a *metering.Account) { a.Plan = p } }
	up, down, after := b.account("free"), b.account("agency"), b.account("pack")
	optedOut, never := b.account("pack"), b.account("agency")
	b.set(never, func(a *metering.Account) { a.OverageEnabled = false })
	b.spend(down, 800_000)
	b.spend(optedOut, 50_010)
	b.spend(never, 900_000)
	b.at("2026-10-20T00:00:00Z")
	b.set(up, plan("pack"))
	b.set(down, plan("pack"))
	b.set(optedOut, func(a *metering.Account) { a.OverageEnabled = false })
	b.at("2026-11-01T00:00:00Z")
	b.set(after, plan("agency"))
	b.set(up, plan("free"))
	b.spend(never, 500)
	b.at("2026-12-24T00:00:00Z")
	b.close()
	require.Equal(t, metering.PlanID("pack"), b.invoice(up).Plan)
	require.Equal(t, metering.PlanID("agency"), b.invoice(down).Plan)
	require.Zero(t, b.invoice(down).OverageCredits, "the plan of the first weeks included it")
	require.Equal(t, metering.PlanID("pack"), b.invoice(after).Plan, "the change was not in this month")
	require.Equal(t, int64(2901), b.invoice(optedOut).TotalCents, "opting out does not undo what was used")

	// Who never opted in pays no overage, even if an operator takes credits out of the plan.
	b.Plans = metering.DefaultPlans()
	agency := b.Plans["agency"]
	agency.Credits = 10
	b.Plans["agency"] = agency
	november := october.Next()
	b.at("2027-01-02T00:00:00Z")
	_, err := b.Close(t.Context(), november)
	require.NoError(t, err)
	v := b.invoices(billing.Filter{Account: never, Period: &november})[0]
	require.Equal(t, [3]int64{500, 10, 0}, [3]int64{v.UsedCredits, v.LimitCredits, v.OverageCents})

	delete(b.Plans, "agency")
	december := november.Next()
	closed, err := b.Close(t.Context(), december)
	require.ErrorContains(t, err, `plan "agency" is not in the price list`)
	require.Equal(t, 3, closed.Created, "the others get theirs")
}

// A request that was admitted before midnight is on the invoice of the old month, and no month is closed as
// long as there may be one.
func TestCloseAtMidnight(t *testing.T) {
	onEachStore(t, func(t *testing.T, b *bench) {
		id := b.account("pack")
		b.at("2026-10-31T23:59:59Z")
		ticket := b.begin(id, 50_100)
		for _, at := range []string{"2026-10-31T23:59:59Z", "2026-11-01T00:00:00Z", "2026-11-01T00:14:59Z"} {
			if at == "2026-11-01T00:14:59Z" {
				_, err := b.store.Settle(t.Context(), ticket, metering.Outcome{At: b.clock.Now()})
				require.NoError(t, err)
			}
			b.at(at)
			_, err := b.Close(t.Context(), october)
			early, ok := errors.AsType[*billing.TooEarlyError](err)
			require.True(t, ok, "%s: %v", at, err)
			require.Equal(t, "2026-11-01T00:15:00Z", early.From.Format(time.RFC3339))
			require.ErrorContains(t, err, "2026-10 can be closed from 2026-11-01T00:15:00Z on")
		}
		b.at("2026-11-01T00:15:00Z")
		b.close()
		require.Equal(t, int64(50_100), b.invoice(id).UsedCredits)
		november, err := b.store.Balance(t.Context(), id, october.Next())
		require.NoError(t, err)
		require.Zero(t, november.Used)
	})
}

// A hold in a month that should have none keeps its account from being closed, and no other.
func TestCloseHeld(t *testing.T) {
	b := inMemory(t)
	held, other := b.account("pack"), b.account("pack")
	b.at("2026-10-31T23:59:00Z")
	b.begin(held, 1)
	ahead := b.Billing
	ahead.Clock = func() time.Time { return b.clock.Now().Add(time.Hour) } // a node whose clock is wrong
	_, err := ahead.Close(t.Context(), october)
	require.ErrorContains(t, err, "1 credits are still held")
	require.Empty(t, b.invoices(billing.Filter{Account: held}))
	require.Len(t, b.invoices(billing.Filter{Account: other}), 1)
}

func TestCloseRace(t *testing.T) {
	onEachStore(t, func(t *testing.T, b *bench) {
		var ids []metering.AccountID
		for range 40 {
			id := b.account("pack")
			b.spend(id, 50_003)
			ids = append(ids, id)
		}
		b.at("2026-11-02T00:00:00Z")
		var made, existed atomic.Int64
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				closed, err := b.Close(t.Context(), october)
				assert.NoError(t, err)
				made.Add(int64(closed.Created))
				existed.Add(int64(closed.Existed))
			})
		}
		wg.Wait()
		require.Equal(t, [2]int64{40, 360}, [2]int64{made.Load(), existed.Load()})
		b.soundInvoices(ids)
	})
}

// soundInvoices expects one invoice with its events for each account, that agrees with the ledger.
func (b *bench) soundInvoices(ids []metering.AccountID) {
	b.t.Helper()
	require.Len(b.t, b.invoices(billing.Filter{}), len(ids))
	for _, id := range ids {
		used := int64(0)
		for e, err := range b.store.Entries(b.t.Context(), metering.EntryFilter{Account: id, Period: &october}) {
			require.NoError(b.t, err)
			used += e.Credits
		}
		require.Equal(b.t, used, b.invoice(id).UsedCredits)
		require.Equal(b.t,
			map[metering.EventType]int{metering.EventPeriodClosed: 1, metering.EventOverageBilled: 1}, b.events(id))
	}
}

// TestCloseDies breaks a close off at every call of the store, before and after it has done its work.
func TestCloseDies(t *testing.T) {
	for _, done := range []bool{false, true} {
		for calls, finished := 0, false; !finished; calls++ {
			b := inMemory(t)
			ids := []metering.AccountID{b.account("pack"), b.account("pack")}
			for _, id := range ids {
				b.spend(id, 50_003)
			}
			b.at("2026-11-02T00:00:00Z")
			faulty := meteringtest.Faulty(b.store)
			faulty.Die(calls, done, errBroken)
			dying := b.Billing
			dying.Store = faulty
			_, err := dying.Close(t.Context(), october)
			finished = err == nil
			for _, v := range b.invoices(billing.Filter{}) {
				require.Equal(t, 1, b.events(v.Account)[metering.EventPeriodClosed], "never one without the other")
			}
			b.close()
			b.soundInvoices(ids)
			require.Less(t, calls, 100)
			require.True(t, !finished || calls > 8, "only %d calls", calls)
		}
	}
}
