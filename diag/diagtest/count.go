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
	DNS     time.Duration // from each question to its answer
	Connect time.Duration // for each TCP connection to come about
}

// Latency makes every exchange of DNS messages and every TCP connection last for d. Data sent over a connection
// arrives immediately.
func (w *World) Latency(d time.Duration) { w.SetLatencies(Latency{DNS: d, Connect: d}) }

// SetLatencies sets how long things take.
func (w *World) SetLatencies(l Latency) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.latency = l
}

// Latencies returns how long things take.
func (w *World) Latencies() Latency {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.latency
}

// A Query is a question that a server of the world was asked.
type Query struct {
	Server    netip.Addr // the server; invalid for the resolver that is the world itself
	Transport string     // udp, tcp, dot, doh; empty for the resolver that is the world itself
	Name      string     // absolute, in lower case
	Type      uint16
	Time      time.Time // in the world
}

func (q Query) is(name string, qtype uint16) bool {
	return (name == "" || q.Name == dns.CanonicalName(name)) && (qtype == 0 || q.Type == qtype)
}

// A Connection is one that was opened, or that was tried.
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

// Queries lists the questions so far, in order: at least the last 50,000.
func (w *World) Queries() []Query { return w.queries.all() }

// Connections lists the connections so far, in order, failed ones included: at least the last 50,000.
func (w *World) Connections() []Connection { return w.connections.all() }

// Asked counts the queries for a name and type. The empty name and type 0 match all.
func (w *World) Asked(name string, qtype uint16) int {
	return view.CountIf(w.Queries(), func(q Query) bool { return q.is(name, qtype) })
}

// Forget clears the lists of questions and connections.
func (w *World) Forget() {
	w.queries.forget()
	w.connections.forget()
}

// trip is how long a round trip lasts while round trips are counted: long enough that no work of the
// processor matters, short enough that few timeouts are reached.
const trip = 100 * time.Millisecond

// RoundTrips counts how many exchanges with the world, one after the other, a diagnostic has to wait for: its critical
// path. An exchange is a question to the DNS with its answer, or the opening of a TCP connection; what is sent over a
// connection costs nothing. Exchanges at the same time count once:
//
//	trips := diagtest.RoundTrips(t, func(w *diagtest.World) {
//		w.Zone(zone)
//	}, func(ctx context.Context, env *diag.Env) {
//		_, err := spf.Lookup(ctx, env, request)
//		require.NoError(t, err)
//	})
//	assert.Equal(t, depth+1, trips)
//
// Both functions run in a bubble of [testing/synctest] that RoundTrips makes, so it must not be called
// inside one; there [World.RoundTrips] does the counting. Time in which the diagnostic waits for
// something else, such as a delay before a second try, counts too, rounded up.
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

// RoundTrips counts the round trips that f takes, of the length that [World.Latency] sets for the DNS.
// It is 0 without a latency, and means something only inside a bubble of [testing/synctest], where
// no time passes but that of the world.
func (w *World) RoundTrips(f func()) int {
	unit := w.Latencies().DNS
	begin := time.Now()
	f()
	if unit <= 0 {
		return 0
	}
	return int((time.Since(begin) + unit - 1) / unit)
}

// Questions counts how often f has each question asked of the resolver of the environment, by the question with what it
// asks of DNSSEC. The environment must not be in use yet; f gets it.
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

// Whole reports whether tests play all that they can, and no sample of it: where $DRILLS is all, as by night.
func Whole() bool { return os.Getenv("DRILLS") == "all" }

// Share is how many of n rounds of a test that takes long are played: one of every few, or all.
func Share(n, few int) int {
	if Whole() {
		return n
	}
	return max(1, n/few)
}

// Sampled reports whether a case of a test that takes long is played: one of every n, always the same by their names,
// or all.
func Sampled(name string, n uint64) bool {
	if n <= 1 || Whole() {
		return true
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()%n == 0
}

// InOwnProcess reports whether this is the process in which a test measures memory with [LiveBytes]. Elsewhere it
// runs the test there, beside other tests that are parallel, and the caller returns. What other tests leave behind
// makes collections long, and what is allocated meanwhile would be counted as live; with gcstoptheworld nothing is.
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

// LiveBytes returns how many bytes of heap were live at most while f ran, in addition to those live before, sampled
// every fraction of a millisecond. Memory of the fakes is counted too, and so may be garbage, up to a quarter of the
// total. Beyond limit it runs f once more, collects all the time and before each sample, which is slower; some
// hundred KiB of garbage may be counted then. It is meant for a process of [InOwnProcess].
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
