package diagtest

import (
	"context"
	"fmt"
	"hash/fnv"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/miekg/dns"
)

// Latency is the duration of operations in a world.
type Latency struct {
	DNS     time.Duration // of each query
	Connect time.Duration // of establishing each TCP connection
}

// Latency sets the duration of every DNS exchange and of opening a TCP connection. Data sent over a
// connection arrives immediately.
func (w *World) Latency(d time.Duration) { w.SetLatencies(Latency{DNS: d, Connect: d}) }

// SetLatencies sets the latencies of the world.
func (w *World) SetLatencies(l Latency) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.latency = l
}

// Latencies returns the latencies of the world.
func (w *World) Latencies() Latency {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.latency
}

// A Query is a query that a server of the world received.
type Query struct {
	Server    netip.Addr // the server; invalid for the world's own resolver
	Transport string     // udp, tcp, dot or doh; empty for the world's own resolver
	Name      string     // absolute, in lower case
	Type      uint16
	Time      time.Time // in the world
}

func (q Query) is(name string, qtype uint16) bool {
	return (name == "" || q.Name == dns.CanonicalName(name)) && (qtype == 0 || q.Type == qtype)
}

// A Connection is a connection that was opened or attempted.
type Connection struct {
	Network string // tcp or udp
	Addr    netip.AddrPort
	Time    time.Time // in the world
}

// A journal lists events in order. It may be used by several goroutines concurrently.
type journal[E any] struct {
	mu     sync.Mutex
	events []E
}

// maxEvents bounds each list, for worlds that serve for days. No test comes near it.
const maxEvents = 100_000

// add appends an event, dropping the older half of a full list.
func (l *journal[E]) add(event E) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.events) >= maxEvents {
		l.events = append([]E{}, l.events[maxEvents/2:]...)
	}
	l.events = append(l.events, event)
}

func (l *journal[E]) all() []E {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.events)
}

func (l *journal[E]) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = nil
}

// Queries lists the queries so far, in order: at least the last 50,000.
func (w *World) Queries() []Query { return w.queries.all() }

// Connections lists the connections so far, in order, failed ones included: at least the last 50,000.
func (w *World) Connections() []Connection { return w.connections.all() }

// Asked counts the queries for a name and type. The empty name and type 0 match all.
func (w *World) Asked(name string, qtype uint16) int {
	return view.CountIf(w.Queries(), func(q Query) bool { return q.is(name, qtype) })
}

// Forget clears the lists of queries and connections.
func (w *World) Forget() {
	w.queries.forget()
	w.connections.forget()
}

// trip is how long a round trip lasts while round trips are counted: long enough that no work of the
// processor matters, short enough that few timeouts are reached.
const trip = 100 * time.Millisecond

// RoundTrips returns how many exchanges with the world a diagnostic waits for in sequence: its critical path.
// An exchange is a DNS query with its reply, or the opening of a TCP connection; data sent over a connection
// does not count. Concurrent exchanges count once:
//
//	trips := diagtest.RoundTrips(t, func(w *diagtest.World) {
//		w.Zone(zone)
//	}, func(ctx context.Context, env *diag.Env) {
//		_, err := spf.Lookup(ctx, env, request)
//		require.NoError(t, err)
//	})
//	assert.Equal(t, depth+1, trips)
//
// Both functions run in a bubble of testing/synctest that RoundTrips creates, so it must not be called inside
// one; use [World.RoundTrips] there. Time in which the diagnostic waits for something else, such as a delay
// before a second try, counts too, rounded up.
func RoundTrips(t *testing.T, setup func(*World), run func(context.Context, *diag.Env)) int {
	t.Helper()
	return roundTrips(t, Latency{DNS: trip, Connect: trip}, setup, run)
}

// DNSRoundTrips is [RoundTrips] for DNS exchanges alone: connections open instantly.
func DNSRoundTrips(t *testing.T, setup func(*World), run func(context.Context, *diag.Env)) int {
	t.Helper()
	return roundTrips(t, Latency{DNS: trip}, setup, run)
}

func roundTrips(t *testing.T, l Latency, setup func(*World), run func(context.Context, *diag.Env)) int {
	t.Helper()
	trips := 0
	synctest.Test(t, func(t *testing.T) {
		w := NewWorld(t)
		setup(w)
		w.SetLatencies(l)
		trips = w.RoundTrips(func() { run(t.Context(), w.Env()) })
	})
	return trips
}

// RoundTrips returns how many round trips, of the DNS latency of the world, f takes. It is 0 without a
// latency. Call it only inside a testing/synctest bubble.
func (w *World) RoundTrips(f func()) int {
	unit := w.Latencies().DNS
	begin := time.Now()
	f()
	if unit <= 0 {
		return 0
	}
	return int((time.Since(begin) + unit - 1) / unit)
}

// Questions runs f with env and counts how often each question is sent to its resolver. The keys are the
// questions with their DNSSEC bits. The environment must not be in use yet.
func Questions(env *diag.Env, f func(*diag.Env)) map[string]int {
	r := &recorder{Resolver: env.Resolver, asked: map[string]int{}}
	env.Resolver = r
	f(env)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked
}

// A recorder counts the questions that reach a resolver.
type recorder struct {
	diag.Resolver
	mu    sync.Mutex
	asked map[string]int
}

func (r *recorder) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
	o := q.IsEdns0()
	r.mu.Lock()
	r.asked[fmt.Sprint(q.Question[0].String(), o != nil && o.Do(), q.CheckingDisabled)]++
	r.mu.Unlock()
	return r.Resolver.Exchange(ctx, q)
}

// Whole reports whether long tests run in full instead of as a sample: whether $DRILLS is "all".
func Whole() bool { return os.Getenv("DRILLS") == "all" }

// Share returns how many of n rounds of a long test to run: one of every few, or all if [Whole].
func Share(n, few int) int {
	if Whole() {
		return n
	}
	return max(1, n/few)
}

// Sampled reports whether to run a case of a long test: one of every n, selected by a hash of its name, or
// all if [Whole].
func Sampled(name string, n uint64) bool {
	if n <= 1 || Whole() {
		return true
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()%n == 0
}

// InOwnProcess runs the calling test in a process of its own, so that [LiveBytes] does not count the memory
// of other tests. It returns true in that process. Otherwise it starts the process, reports its result, and
// returns false; the test must then return.
func InOwnProcess(t *testing.T) bool {
	t.Helper()
	const setting = "gcstoptheworld=1"
	if strings.Contains(os.Getenv("GODEBUG"), setting) {
		return true
	}
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), "GODEBUG="+setting)
	output, err := cmd.CombinedOutput()
	t.Logf("%s", output)
	if err != nil || !strings.Contains(string(output), "--- PASS: "+t.Name()) {
		t.Fatalf("%s in a process of its own: %v", t.Name(), err)
	}
	return false
}

// LiveBytes returns the maximum of live heap bytes while f runs, in addition to those live before, sampled
// several times per millisecond. It includes the memory of the fakes, and garbage up to a quarter of the
// total. If the result exceeds limit, it runs f once more with a collection before each sample, which is
// slower and includes at most some hundred KiB of garbage. Call it in a process of [InOwnProcess].
func LiveBytes(limit int64, f func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(25))
	live := liveBytes(func() {}, f)
	if live > limit {
		debug.SetGCPercent(5)
		live = liveBytes(runtime.GC, f)
	}
	return live
}

func liveBytes(beforeLook, f func()) int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	before, most := stats.HeapAlloc, stats.HeapAlloc
	done := make(chan bool)
	go func() { f(); close(done) }()
	for {
		select {
		case <-done:
			return int64(most - before)
		default:
			beforeLook()
			runtime.ReadMemStats(&stats)
			most = max(most, stats.HeapAlloc)
			time.Sleep(200 * time.Microsecond)
		}
	}
}
