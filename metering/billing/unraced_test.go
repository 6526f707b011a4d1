//go:build !race || nightly

package billing_test

// The race detector makes these many times slower, and nothing in them runs at once but what other tests race.

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/diagkit/diagkit/metering/postgres"
	"github.com/diagkit/diagkit/metering/sqlite"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// stride is from one call that is broken off to the next: by day PostgreSQL, which takes seconds for its schemas, is
// left with every third.
func stride(t *testing.T) int {
	if strings.HasSuffix(t.Name(), "/postgres") && !diagtest.Whole() {
		return 3
	}
	return 1
}

// TestCloseDies breaks a close off at every call of the store, before and after it has done its work.
func TestCloseDies(t *testing.T) {
	onEachKind(t, func(t *testing.T, open func() *bench) {
		for _, done := range []bool{false, true} {
			for calls := 0; !closeDies(t, open(), calls, done); calls += stride(t) {
				require.Less(t, calls, 30)
			}
		}
	})
}

// TestCrash kills processes that close a month and charge it, three at a time, at random moments. In the end
// each account has one invoice with its events, that agrees with the ledger, and has paid once.
func TestCrash(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		clock := meteringtest.NewClock()
		path := filepath.Join(t.TempDir(), "diag.db")
		store, err := sqlite.Open(t.Context(), path, sqlite.Config{Clock: clock.Now})
		require.NoError(t, err)
		killClosers(t, newBench(t, clock, store), path)
	})
	t.Run("postgres", func(t *testing.T) {
		clock := meteringtest.NewClock()
		url := newSchema(t)
		store, err := postgres.Open(t.Context(), url, postgres.Config{Clock: clock.Now})
		require.NoError(t, err)
		killClosers(t, newBench(t, clock, store), url)
	})
}

// TestPayDies breaks a payment off at every call of the store, before and after it has done its work. Money
// is charged once, because the biller is asked for the same thing again.
func TestPayDies(t *testing.T) {
	onEachKind(t, func(t *testing.T, open func() *bench) {
		for _, done := range []bool{false, true} {
			for _, declined := range []error{nil, errBroken} {
				for calls := 0; !payDies(t, open(), calls, done, declined); calls += stride(t) {
					require.Less(t, calls, 10)
				}
			}
		}
	})
}

// TestAuditFindsForgeries changes every single field of invoices, notes and ends of chains, takes each of them away,
// and adds others: an audit finds each.
func TestAuditFindsForgeries(t *testing.T) {
	b := lived(t)
	forgeries := 0
	found := func(what string, old, forged metering.Record) {
		t.Helper()
		forgeries++
		b.forge(old, forged)
		audit, err := b.Audit(t.Context())
		require.NoError(t, err, what)
		require.NotEmpty(t, audit.Faults, what)
		b.forge(forged, old)
		b.sound()
	}
	for _, r := range b.records() {
		what := fmt.Sprintf("%s %s of %s", r.Kind, r.ID, r.Account)
		gone := r
		gone.Body = nil
		found(what+" removed", r, gone)
		moved := r
		moved.At = r.At.Add(time.Microsecond)
		found(what+" at another time", r, moved)
		named := r
		named.ID += "9"
		found(what+" under another name", r, named)
		copied := r
		copied.ID, copied.Version = r.ID+"8", 0
		found(what+" copied", metering.Record{Account: r.Account, Kind: r.Kind, ID: copied.ID}, copied)
		if r.Kind != billing.InvoiceKind {
			due := r
			due.Due = r.At
			found(what+" due", r, due)
		}
		decoder := json.NewDecoder(strings.NewReader(string(r.Body)))
		decoder.UseNumber()
		var document map[string]any
		require.NoError(t, decoder.Decode(&document))
		leaves(document, "", func(path string, set func()) {
			set()
			forged := r
			var err error
			forged.Body, err = json.Marshal(document)
			require.NoError(t, err)
			if reflect.DeepEqual(forged.Body, r.Body) {
				return
			}
			found(what+path, r, forged)
		})
	}
	require.Greater(t, forgeries, 1000)
	t.Logf("%d forgeries", forgeries)
}

// TestBilledAsShown simulates months of charges, plan changes and opt-ins at any instants: the invoices match what the
// replies have shown, and no change makes a month cheaper than its days at the cheapest plan held, or more expensive
// than its days at the most expensive one.
func TestBilledAsShown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &life{T: t, now: october.Start(), shown: map[metering.Period]metering.Balance{}}
		clock := func() time.Time { return l.now }
		store := memory.New(memory.Config{Plans: small(), Clock: clock})
		defer store.Close()
		l.store = store
		l.now = l.now.Add(costMicros(t, 20*24*time.Hour))
		var err error
		l.account, err = metering.Admin{Store: store, Plans: small(), Clock: clock}.CreateAccount(context.Background(), "a",
			rapid.SampledFrom([]metering.PlanID{"none", "one", "two"}).Draw(t, "first"))
		require.NoError(t, err)
		l.set(metering.Admin{Store: store, Plans: small(), Clock: clock},
			func(a *metering.Account) { a.AgreedPriceCents = new(int64(777)) })
		l.held = l.held[:1]
		end := october.Next().Next().End()
		for l.now.Before(end) {
			l.act()
			l.pass(costMicros(t, 60*time.Hour))
		}
		l.now = end.AddDate(0, 1, 0)
		b := billing.Billing{Store: store, Plans: small(), Clock: clock}
		for p := october; p.Before(metering.PeriodOf(end)); p = p.Next() {
			_, err := b.Close(context.Background(), p)
			require.NoError(t, err)
			for v, err := range b.Invoices(context.Background(), billing.Filter{Period: &p}) {
				require.NoError(t, err)
				shown := l.shown[p]
				require.Equal(t, [2]int64{shown.Used, shown.Overage}, [2]int64{v.UsedCredits, v.OverageCredits}, p)
				sum := int64(0)
				for _, line := range v.Overage {
					sum += line.Rate * line.Credits
				}
				require.Equal(t, shown.OverageMicros, sum, p)
				require.Equal(t, divideHalfUp(big.NewRat(shown.OverageMicros, metering.MicrosPerCent)), v.OverageCents)
				want, least, most := l.base(p)
				require.Equal(t, want, *v.PriceCents, p)
				assert.GreaterOrEqual(t, *v.PriceCents, least, p)
				assert.LessOrEqual(t, *v.PriceCents, most, p)
				require.Equal(t, *v.PriceCents+v.OverageCents, v.TotalCents)
			}
		}
		found, err := b.Audit(context.Background())
		require.NoError(t, err)
		require.Empty(t, found.Faults)
	})
}
