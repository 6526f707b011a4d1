package diagtest

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// Latency is how long things take in a world.
type Latency struct {
	DNS     time.Duration // from each question to its answer
	Connect time.Duration // for each TCP connection to come about
}

// Latency makes every exchange of DNS messages and every TCP connection last for d. What is sent over
// a connection arrives at once.
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

// A ledger keeps what happened.
type ledger struct {
	mu          sync.Mutex
	queries     []Query
	connections []Connection
}

// maxEvents bounds each list, for worlds that serve for days. No test comes near it.
const maxEvents = 100_000

// push appends an event, dropping the older half of a full list.
func push[E any](list []E, event E) []E {
	if len(list) >= maxEvents {
		list = append([]E{}, list[maxEvents/2:]...)
	}
	return append(list, event)
}

func (l *ledger) query(q Query) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queries = push(l.queries, q)
}

func (l *ledger) connection(c Connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.connections = push(l.connections, c)
}

// Queries lists the questions so far, in order: at least the last 50,000.
func (w *World) Queries() []Query {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	return slices.Clone(w.log.queries)
}

// Connections lists the connections so far, in order, failed ones included: at least the last 50,000.
func (w *World) Connections() []Connection {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	return slices.Clone(w.log.connections)
}

// Asked counts the questions for a name and type. The empty name and type 0 stand for all.
func (w *World) Asked(name string, qtype uint16) int {
	count := 0
	for _, q := range w.Queries() {
		if q.is(name, qtype) {
			count++
		}
	}
	return count
}

// Forget clears the lists of questions and connections.
func (w *World) Forget() {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	w.log.queries, w.log.connections = nil, nil
}
