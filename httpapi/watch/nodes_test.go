package watch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/watch"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/diagkit/diagkit/metering/postgres"
	"github.com/diagkit/diagkit/metering/postgresdb"
	"github.com/diagkit/diagkit/metering/sqlite"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A fleet is two nodes that share a store, on which watches run by the clock of a test.
type fleet struct {
	testing.TB
	clock    *meteringtest.Clock
	store    metering.Store
	accounts []metering.AccountID
	nodes    []*node

	mu      sync.Mutex
	running map[string]bool // domains that are being checked
	twice   []string        // domains that were checked twice concurrently
	asked   atomic.Int64
}

// A node can be killed: it writes nothing more.
type node struct {
	metering.Store
	fleet   *fleet
	watches *watch.Watches
	dead    atomic.Bool
	dies    atomic.Int64 // after so many calls from now; 0: it does not
}

var errKilled = errors.New("the node was killed")

func (n *node) PutRecords(ctx context.Context, records ...metering.Record) error {
	if n.dead.Load() {
		return errKilled
	}
	return n.Store.PutRecords(ctx, records...)
}

func (n *node) ask(_ context.Context, _ metering.KeyID, ep httpapi.Endpoint, body []byte) (*httpapi.Answer, error) {
	var request struct{ Domain string }
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, err
	}
	f := n.fleet
	f.mu.Lock()
	if f.running[request.Domain] {
		f.twice = append(f.twice, request.Domain)
	}
	f.running[request.Domain] = true
	f.mu.Unlock()
	if n.dies.Add(-1) == 0 {
		n.dead.Store(true)
	}
	f.asked.Add(1)
	reply := fmt.Sprintf(`{"domain":%q,"record_name":%[1]q,"rcode":"NOERROR","found":true,"record":"v=spf1 -all",`+
		`"records":["v=spf1 -all"],"state":"valid"}`, request.Domain)
	f.mu.Lock()
	delete(f.running, request.Domain)
	f.mu.Unlock()
	return &httpapi.Answer{Result: httpapi.Result{Body: []byte(reply)}, Credits: ep.Credits}, nil
}

func newFleet(t testing.TB, open func(testing.TB, *meteringtest.Clock) metering.Store, accounts int) *fleet {
	f := &fleet{TB: t, clock: meteringtest.NewClock(), running: map[string]bool{}}
	f.store = open(t, f.clock)
	t.Cleanup(func() { f.store.Close() })
	admin := metering.Admin{Store: f.store, Clock: f.clock.Now, DowngradeNow: true}
	for i := range accounts {
		a, err := admin.CreateAccount(t.Context(), fmt.Sprint("account ", i), "self")
		require.NoError(t, err)
		f.accounts = append(f.accounts, a.ID)
	}
	for range 2 {
		n := &node{Store: f.store, fleet: f}
		n.watches = watch.New(watch.Config{Store: n, Clock: f.clock.Now, Ask: n.ask, Running: 1024})
		f.nodes = append(f.nodes, n)
	}
	return f
}

// create makes so many watches, each of a domain of its own.
func (f *fleet) create(from, count int) {
	f.Helper()
	for i := from; i < from+count; i++ {
		_, err := f.nodes[0].watches.Create(f.Context(), watch.Request{
			Account: f.accounts[i%len(f.accounts)], Domain: domainOf(i),
			Settings: watch.Settings{Checks: []string{"spf/lookup"}},
		})
		require.NoError(f, err)
	}
}

func domainOf(i int) string { return fmt.Sprintf("d%d.example", i) }

// advance moves the clock and has all live nodes run what is due, concurrently.
func (f *fleet) advance(d time.Duration) {
	f.Helper()
	f.clock.Advance(d)
	var all sync.WaitGroup
	for _, n := range f.nodes {
		if n.dead.Load() {
			continue
		}
		all.Go(func() {
			if err := n.watches.Flush(f.Context()); err != nil && !n.dead.Load() {
				f.Error(err)
			}
		})
	}
	all.Wait()
}

// runs counts the runs of each watch since an instant.
func (f *fleet) runs(count int, since time.Time) (runs map[int]int) {
	f.Helper()
	runs = map[int]int{}
	lists := map[metering.AccountID][]watch.Watch{}
	for i := range count {
		account := f.accounts[i%len(f.accounts)]
		if lists[account] == nil {
			var err error
			lists[account], err = f.nodes[1].watches.List(f.Context(), account)
			require.NoError(f, err)
		}
		one := lists[account][i/len(f.accounts)]
		list, err := f.nodes[1].watches.History(f.Context(), account, one.ID, since)
		require.NoError(f, err)
		runs[len(list)]++
	}
	return runs
}

// day lets a day pass in steps, in the middle of which a node is killed, and checks what has run.
func (f *fleet) day(count int) {
	f.Helper()
	const step = 10 * time.Minute
	began := f.clock.Now()
	most := 0
	for i := range int(day / step) {
		if i == int(day/step)/2 {
			f.nodes[0].dies.Store(int64(max(1, count/1000)))
		}
		before := f.asked.Load()
		f.advance(step)
		most = max(most, int(f.asked.Load()-before))
	}
	require.True(f, f.nodes[0].dead.Load())
	f.advance(step) // the last claims of the dead node
	assert.Empty(f, f.twice)
	runs := f.runs(count, began.Add(time.Microsecond))
	late := 5 + count/50 // slots of the last step, which come again only tomorrow; accounts and so slots are random
	assert.Zero(f, runs[0], "none is missed: %v", runs)
	assert.GreaterOrEqual(f, runs[1], count-late, "none is run twice: %v", runs)
	assert.Zero(f, runs[3])
	assert.Less(f, most, count/50+50, "they are spread over the day")
	overdue, err := f.nodes[1].watches.Overdue(f.Context(), 10)
	require.NoError(f, err)
	assert.Zero(f, overdue)
}

// simulate lets watches find their times of the day, and then a day pass.
func simulate(t *testing.T, count int) {
	f := newFleet(t, func(_ testing.TB, c *meteringtest.Clock) metering.Store {
		return memory.New(memory.Config{Clock: c.Now})
	}, 100)
	const batches = 100 // of creation, so that few are due at a time
	for i := range batches {
		f.create(i*count/batches, count/batches)
		f.advance(time.Minute)
	}
	for range 30 {
		f.advance(time.Hour)
	}
	f.day(count)
}

func TestThousandsOfWatches(t *testing.T) { simulate(t, 500) }

func TestFewWatchesOnEachStore(t *testing.T) {
	const count = 60
	for name, open := range map[string]func(testing.TB, *meteringtest.Clock) metering.Store{
		"sqlite": func(t testing.TB, c *meteringtest.Clock) metering.Store {
			s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "diag.db"), sqlite.Config{Clock: c.Now})
			require.NoError(t, err)
			return s
		},
		"postgres": func(t testing.TB, c *meteringtest.Clock) metering.Store { return openPostgres(t, c.Now) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, open, 4)
			f.create(0, count)
			for range 36 {
				f.advance(time.Hour)
			}
			f.day(count)
		})
	}
}

// openPostgres opens a schema of its own in the database that the environment names.
func openPostgres(t testing.TB, clock func() time.Time) metering.Store {
	place := os.Getenv("DIAG_TEST_POSTGRES")
	if place == "" {
		t.Skip("needs DIAG_TEST_POSTGRES, the URL of a database; .ci/run starts one")
	}
	url, drop, err := postgresdb.Scratch(context.Background(), place)
	require.NoError(t, err)
	t.Cleanup(func() { drop() })
	s, err := postgres.Open(context.Background(), url, postgres.Config{Clock: clock})
	require.NoError(t, err)
	return s
}
