package billing_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/diagkit/diagkit/metering/postgres"
	"github.com/diagkit/diagkit/metering/postgresdb"
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

// onEachStore runs a test on every store.
func onEachStore(t *testing.T, test func(t *testing.T, b *bench)) {
	onEachKind(t, func(t *testing.T, open func() *bench) { test(t, open()) })
}

// onEachKind runs a test with a function that opens a new store, for every kind of store.
func onEachKind(t *testing.T, test func(t *testing.T, open func() *bench)) {
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
			test(t, func() *bench {
				clock := meteringtest.NewClock()
				return newBench(t, clock, open(t, clock))
			})
		})
	}
}

// newSchema makes a schema of the test database that ends with the test, and returns the URL that finds it.
func newSchema(t testing.TB) string {
	t.Helper()
	text := os.Getenv("DIAG_TEST_POSTGRES")
	if text == "" {
		t.Skip("needs DIAG_TEST_POSTGRES, the URL of a database; .ci/run starts one")
	}
	url, drop, err := postgresdb.Scratch(context.Background(), text)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, drop()) })
	return url
}

func newBench(t *testing.T, clock *meteringtest.Clock, store metering.Store) *bench {
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	b := &bench{t: t, clock: clock, store: store, Billing: billing.Billing{Store: store, Clock: clock.Now}}
	b.at("2026-10-01T00:00:00Z")
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

// begin begins an operation.
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

// invoices returns the invoices that a filter selects.
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

// finalize lets an hour pass, and makes drafts final.
func (b *bench) finalize() {
	b.t.Helper()
	b.clock.Advance(time.Hour)
	for _, v := range b.invoices(billing.Filter{State: billing.Draft}) {
		_, err := b.Finalize(b.t.Context(), v.Account, v.ID)
		require.NoError(b.t, err)
	}
}

// sound expects that an audit of invoices finds nothing.
func (b *bench) sound() {
	b.t.Helper()
	found, err := b.Audit(b.t.Context())
	require.NoError(b.t, err)
	require.Empty(b.t, found.Faults)
	require.Zero(b.t, found.Unproven)
}

// soundInvoices expects one invoice with its events for each account, that agrees with the ledger.
func (b *bench) soundInvoices(ids []metering.AccountID) {
	b.t.Helper()
	b.sound()
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
