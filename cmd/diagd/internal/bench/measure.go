package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/diagkit/diagkit/cmd/diagd/internal/printing"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/diagkit/diagkit/metering/postgres"
	"github.com/diagkit/diagkit/metering/postgresdb"
	"github.com/diagkit/diagkit/metering/redis"
	"github.com/diagkit/diagkit/metering/sqlite"
	"github.com/diagkit/diagkit/textutil"
)

// A variant is one way of serving the same work.
type variant struct {
	name       string
	kind       string // of store; empty: no metering at all
	idempotent bool
	shared     bool // the limiter is in Redis
}

func (f benchFlags) variants() []variant {
	list := []variant{
		{name: "bare net/http handler"},
		{name: "metered, in memory", kind: inMemory},
		{name: "metered, SQLite synchronous=FULL", kind: onSQLite},
		{name: "the same, unique idempotency keys", kind: onSQLite, idempotent: true},
	}
	if f.postgres != "" {
		list = append(list, variant{name: "metered, PostgreSQL", kind: onPostgres},
			variant{name: "PostgreSQL, unique idempotency keys", kind: onPostgres, idempotent: true})
		if f.redis != "" {
			list = append(list, variant{name: "metered, PostgreSQL and Redis", kind: onPostgres, shared: true})
		}
	}
	return list
}

// readHeaderTimeout is that of diagd.
const readHeaderTimeout = 5 * time.Second

// The kinds of stores.
const inMemory, onSQLite, onPostgres = "memory", "SQLite", "PostgreSQL"

// A tempStore is a store that is thrown away.
type tempStore struct {
	kind  string
	file  string          // of SQLite, alone in a folder
	url   string          // as diagd names the store
	plans metering.Prices // nil: the built-in ones
	drop  func() error
}

func (f benchFlags) newTempStore(ctx context.Context, kind string) (s tempStore, err error) {
	dir, err := os.MkdirTemp(f.dir, "diagd-bench-")
	if err != nil {
		return s, err
	}
	file, drop := filepath.Join(dir, "bench.db"), func() error { return os.RemoveAll(dir) }
	s = tempStore{kind: kind, file: file, url: "sqlite:" + file, drop: drop}
	if kind == onPostgres {
		var dropSchema func() error
		if s.url, dropSchema, err = postgresdb.Scratch(ctx, f.postgres); err != nil {
			return s, errors.Join(fmt.Errorf("--postgres: %w", err), drop())
		}
		s.drop = func() error { return errors.Join(dropSchema(), drop()) }
	}
	return s, nil
}

// open opens it, by a clock by which leases end; nil is the wall clock.
func (s tempStore) open(ctx context.Context, clock func() time.Time) (metering.Store, error) {
	switch s.kind {
	case inMemory:
		return memory.New(memory.Config{}), nil
	case onPostgres:
		return postgres.Open(ctx, s.url, postgres.Config{Plans: s.plans, Clock: clock})
	}
	return sqlite.Open(ctx, s.file, sqlite.Config{Plans: s.plans, Clock: clock})
}

// A measurement is what one client saw and what it cost the server.
type measurement struct {
	Requests int           `json:"requests"`
	Failures int           `json:"failures"`
	Elapsed  time.Duration `json:"elapsed"`
	P50      time.Duration `json:"p50"`
	P99      time.Duration `json:"p99"`

	cpu time.Duration // of the server, for each request
}

func (m measurement) rate() float64 { return float64(m.Requests) / m.Elapsed.Seconds() }

func (a *app) bench(ctx context.Context, f benchFlags) error {
	fmt.Fprintf(a.stdout, "%s, %d CPUs, %d connections, %d rounds of %s\n\n",
		runtime.Version(), runtime.NumCPU(), f.conns, f.rounds, f.duration)
	ways := f.variants()
	all := make([][]measurement, len(ways))
	for range f.rounds {
		for i, w := range ways {
			m, err := f.measure(ctx, w)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			if m.Failures > 0 {
				return fmt.Errorf("%s: %d of %d requests failed", w.name, m.Failures, m.Requests)
			}
			all[i] = append(all[i], m)
		}
	}
	medians := make([]measurement, len(ways))
	for i, list := range all {
		slices.SortFunc(list, func(a, b measurement) int { return cmp.Compare(a.cpu, b.cpu) })
		medians[i] = list[len(list)/2]
	}
	return a.print(medians, func(t *printing.Table) {
		t.Row("WAY", "REQUESTS/S", "P50", "P99", "SERVER CPU/REQUEST", "FACTOR")
		for i, m := range medians {
			t.Row(ways[i].name, fmt.Sprintf("%.0f", m.rate()), m.P50, m.P99,
				fmt.Sprintf("%.1f µs", float64(m.cpu)/float64(time.Microsecond)),
				fmt.Sprintf("%.2f", float64(m.cpu)/float64(medians[0].cpu)))
		}
	})
}

func (f benchFlags) measure(ctx context.Context, w variant) (m measurement, err error) {
	place, err := f.newTempStore(ctx, w.kind)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, place.drop()) }()
	handler, secret := http.Handler(http.HandlerFunc(plainLower)), "none"
	if w.kind != "" {
		store, err := place.open(ctx, nil)
		if err != nil {
			return m, err
		}
		defer store.Close()
		config := metering.GateConfig{Store: store, Plans: benchPlans()}
		if w.shared {
			limiter, err := redis.Open(ctx, f.redis, redis.Config{})
			if err != nil {
				return m, fmt.Errorf("--redis: %w", err)
			}
			defer limiter.Close()
			config.Limiter = limiter
		}
		gate, err := metering.NewGate(ctx, config)
		if err != nil {
			return m, err
		}
		defer gate.Close()
		_, own, err := benchKey(ctx, store)
		if err != nil {
			return m, err
		}
		secret = own.Reveal()
		handler = httpapi.Handler(httpapi.Config{Gate: gate})
	}
	address, stop, err := serveLoopback(handler)
	if err != nil {
		return m, err
	}
	defer stop()

	self, err := os.Executable()
	if err != nil {
		return m, err
	}
	mode := "plain"
	if w.idempotent {
		mode = "idempotent"
	}
	before := cpuTime()
	client := exec.CommandContext(ctx, self, "client", address, secret, mode,
		"--connections", strconv.Itoa(f.conns), "--duration", f.duration.String())
	client.Env = append(os.Environ(), "GOMAXPROCS=1")
	client.Stderr = os.Stderr
	out, err := client.Output()
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(out, &m); err != nil {
		return m, err
	}
	m.cpu = (cpuTime() - before) / time.Duration(max(1, m.Requests))
	return m, nil
}

func serveLoopback(handler http.Handler) (address string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: readHeaderTimeout}
	go server.Serve(l)
	return l.Addr().String(), func() { server.Close() }, nil
}

// benchPlans removes the limits of a key, so that the machine is the limit.
func benchPlans() metering.Plans {
	plans := metering.DefaultPlans()
	plan := plans["self"]
	plan.PerMinute = 1 << 30
	plans["self"] = plan
	return plans
}

func benchKey(ctx context.Context, store metering.Store) (key metering.Key, secret metering.Secret, err error) {
	admin := metering.Admin{Store: store}
	account, err := admin.CreateAccount(ctx, "bench", "self")
	if err != nil {
		return key, secret, err
	}
	return admin.CreateKey(ctx, metering.KeyRequest{Account: account.ID, Name: "bench", Scopes: metering.Scopes()})
}

// plainLower does the work of text/lower with nothing around it.
func plainLower(w http.ResponseWriter, r *http.Request) {
	var req textutil.CaseRequest
	var out []byte
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &req)
	}
	if err == nil {
		report, fault := textutil.Lower(req)
		if out, err = json.Marshal(report); fault != nil {
			err = fault
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(out)
}

const benchBody = `{"text":"The Quick Brown Fox Jumps Over The Lazy Dog"}`

// load keeps connections busy for a time. It speaks just as much HTTP as it takes, so that the
// machine works for the server.
func load(addr, secret string, idempotent bool, conns int, d time.Duration) measurement {
	var mu sync.Mutex
	var all []time.Duration
	m := measurement{}
	begin := time.Now()
	var wg sync.WaitGroup
	for i := range conns {
		wg.Go(func() {
			times, failures := loadOne(addr, secret, idempotent, i, begin.Add(d))
			mu.Lock()
			defer mu.Unlock()
			all = append(all, times...)
			m.Failures += failures
		})
	}
	wg.Wait()
	m.Elapsed = time.Since(begin)
	m.Requests = len(all)
	slices.Sort(all)
	if len(all) > 0 {
		m.P50, m.P99 = all[len(all)/2], all[len(all)*99/100]
	}
	return m
}

func loadOne(addr, secret string, idempotent bool, id int, until time.Time) (times []time.Duration, failures int) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, 1
	}
	defer conn.Close()
	head := "POST /public/v1/text/lower HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer " + secret +
		"\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(benchBody)) + "\r\n"
	r := bufio.NewReader(conn)
	var b bytes.Buffer
	for n := 0; ; n++ {
		sent := time.Now()
		if sent.After(until) {
			return times, failures
		}
		b.Reset()
		b.WriteString(head)
		if idempotent {
			fmt.Fprintf(&b, "Idempotency-Key: bench-%06d-%012d\r\n", id, n)
		}
		b.WriteString("\r\n" + benchBody)
		if _, err := conn.Write(b.Bytes()); err != nil {
			return times, failures + 1
		}
		ok, err := readReply(r)
		if err != nil {
			return times, failures + 1
		}
		if !ok {
			failures++
		}
		times = append(times, time.Since(sent))
	}
}

// readReply reads one reply with a Content-Length, and reports whether its status is 200.
func readReply(r *bufio.Reader) (ok bool, err error) {
	for {
		if _, err := r.Peek(r.Buffered() + 1); err != nil { // wait for more than there is
			return false, err
		}
		seen, err := r.Peek(r.Buffered())
		if err != nil {
			return false, err
		}
		end := bytes.Index(seen, []byte("\r\n\r\n"))
		if end < 0 {
			continue
		}
		length, err := contentLength(seen[:end])
		if err != nil {
			return false, err
		}
		ok = bytes.HasPrefix(seen, []byte("HTTP/1.1 200"))
		_, err = r.Discard(end + 4 + length)
		return ok, err
	}
}

// contentLength finds the length of the body in the head of a reply, as net/http spells it.
func contentLength(head []byte) (int, error) {
	_, rest, found := bytes.Cut(head, []byte("\r\nContent-Length: "))
	if !found {
		return 0, errors.New("the reply has no Content-Length")
	}
	digits, _, _ := bytes.Cut(rest, []byte("\r\n"))
	return strconv.Atoi(string(digits))
}
