package main

import (
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
	"strconv"
	"time"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/diagkit/diagkit/metering/postgres"
	"github.com/diagkit/diagkit/metering/postgresdb"
	"github.com/diagkit/diagkit/metering/redis"
	"github.com/diagkit/diagkit/metering/sqlite"
	"github.com/diagkit/diagkit/textutil"
	"github.com/spf13/cobra"
)

// benchFlags say how the API is measured.
type benchFlags struct {
	conns           int
	duration        time.Duration
	rounds          int
	dir             string
	postgres, redis string
}

func (a *app) benchCommand() *cobra.Command {
	var f benchFlags
	cmd := leaf("bench", "Measure what metering costs, beside a bare net/http handler", "",
		func(ctx context.Context, _ []string) error { return a.bench(ctx, f) })
	cmd.Long = "Serves text/lower on loopback in several ways, one after the other, and loads each from a second process."
	cmd.Flags().IntVar(&f.conns, "connections", 64, "connections kept busy")
	cmd.Flags().DurationVar(&f.duration, "duration", 3*time.Second, "time for each way and round")
	cmd.Flags().IntVar(&f.rounds, "rounds", 3, "rounds; the best of each way counts")
	cmd.PersistentFlags().StringVar(&f.dir, "dir", "", "folder for the database files (default: a temporary one)")
	cmd.PersistentFlags().StringVar(&f.postgres, "postgres", "",
		"postgres://… of a database to measure too, in a schema that is dropped afterwards (default: none)")
	cmd.Flags().StringVar(&f.redis, "redis", "", "redis://… to measure PostgreSQL with too (default: none)")
	client := leaf("client ADDRESS SECRET MODE", "", "an address, a secret and a mode",
		func(_ context.Context, args []string) error {
			return json.NewEncoder(a.stdout).Encode(load(args[0], args[1], args[2] == "idempotent", f.conns, f.duration))
		})
	client.Hidden = true
	client.Flags().IntVar(&f.conns, "connections", 64, "")
	client.Flags().DurationVar(&f.duration, "duration", 3*time.Second, "")
	cmd.AddCommand(client, a.crashCommand(&f), a.faultsCommand(&f))
	return cmd
}

// A way is one manner of serving the same work.
type way struct {
	name       string
	idempotent bool
	shared     bool                                             // the limiter is in Redis
	open       func(place scratchPlace) (metering.Store, error) // nil: no metering at all
}

// ways are what can be measured with the flags.
func (f benchFlags) ways() []way {
	list := []way{
		{name: "bare net/http handler"},
		{name: "metered, in memory", open: openBenchMemory},
		{name: "metered, SQLite synchronous=FULL", open: openBenchSQLite},
		{name: "the same, unique idempotency keys", open: openBenchSQLite, idempotent: true},
	}
	if f.postgres != "" {
		list = append(list,
			way{name: "metered, PostgreSQL", open: openBenchPostgres},
			way{name: "PostgreSQL, unique idempotency keys", open: openBenchPostgres, idempotent: true})
		if f.redis != "" {
			list = append(list, way{name: "metered, PostgreSQL and Redis", open: openBenchPostgres, shared: true})
		}
	}
	return list
}

// scratchPlace is where a store lies that is thrown away.
type scratchPlace struct {
	file     string           // of SQLite
	postgres string           // URL; empty where there is none
	clock    func() time.Time // by which leases end; nil is the wall clock
	plans    metering.Prices  // nil: the built-in ones
	drop     func() error
}

func (f benchFlags) scratch(ctx context.Context) (p scratchPlace, err error) {
	dir, err := os.MkdirTemp(f.dir, "diagd-bench-")
	if err != nil {
		return p, err
	}
	p.file, p.drop = filepath.Join(dir, "bench.db"), func() error { return os.RemoveAll(dir) }
	if f.postgres != "" {
		var dropSchema func() error
		if p.postgres, dropSchema, err = postgresdb.Scratch(ctx, f.postgres); err != nil {
			return p, errors.Join(fmt.Errorf("--postgres: %w", err), p.drop())
		}
		p.drop = func() error { return errors.Join(dropSchema(), os.RemoveAll(dir)) }
	}
	return p, nil
}

func openBenchMemory(scratchPlace) (metering.Store, error) { return memory.New(memory.Config{}), nil }

func openBenchSQLite(p scratchPlace) (metering.Store, error) {
	return sqlite.Open(context.Background(), p.file, sqlite.Config{Plans: p.plans, Clock: p.clock})
}

func openBenchPostgres(p scratchPlace) (metering.Store, error) {
	return postgres.Open(context.Background(), p.postgres, postgres.Config{Plans: p.plans, Clock: p.clock})
}

// measured is what one client saw and what it cost the server.
type measured struct {
	Requests int           `json:"requests"`
	Failures int           `json:"failures"`
	Elapsed  time.Duration `json:"elapsed"`
	P50      time.Duration `json:"p50"`
	P99      time.Duration `json:"p99"`

	cpu time.Duration // of the server, for each request
}

func (m measured) rate() float64 { return float64(m.Requests) / m.Elapsed.Seconds() }

func (a *app) bench(ctx context.Context, f benchFlags) error {
	fmt.Fprintf(a.stdout, "%s, %d CPUs, %d connections, %d rounds of %s\n\n",
		runtime.Version(), runtime.NumCPU(), f.conns, f.rounds, f.duration)
	ways := f.ways()
	best := make([]measured, len(ways))
	for range f.rounds {
		for i, w := range ways {
			m, err := f.measure(ctx, w)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			if m.Failures > 0 {
				return fmt.Errorf("%s: %d of %d requests failed", w.name, m.Failures, m.Requests)
			}
			if m.rate() > best[i].rate() || best[i].Requests == 0 {
				best[i] = m
			}
		}
	}
	return a.print(best, func(t *table) {
		t.row("WAY", "REQUESTS/S", "P50", "P99", "SERVER CPU/REQUEST", "FACTOR")
		for i, m := range best {
			t.row(ways[i].name, fmt.Sprintf("%.0f", m.rate()), m.P50, m.P99, m.cpu.Round(100*time.Nanosecond),
				fmt.Sprintf("%.2f", float64(m.cpu)/float64(best[0].cpu)))
		}
	})
}

// measure serves in one way and loads it from a second process.
func (f benchFlags) measure(ctx context.Context, w way) (m measured, err error) {
	place, err := f.scratch(ctx)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, place.drop()) }()
	handler, secret := http.Handler(http.HandlerFunc(bareLower)), "none"
	if w.open != nil {
		store, err := w.open(place)
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
		if secret, err = benchKey(ctx, store); err != nil {
			return m, err
		}
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
	client := exec.CommandContext(ctx, self, "bench", "client", address, secret, mode,
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

// serveLoopback serves on a free port of this machine.
func serveLoopback(handler http.Handler) (address string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: readHeaderTimeout}
	go server.Serve(l)
	return l.Addr().String(), func() { server.Close() }, nil
}

// benchPlans lets one key do as much as the machine can.
func benchPlans() metering.Plans {
	plans := metering.DefaultPlans()
	plan := plans["self"]
	plan.PerMinute = 1 << 30
	plans["self"] = plan
	return plans
}

func benchKey(ctx context.Context, store metering.Store) (string, error) {
	admin := metering.Admin{Store: store}
	account, err := admin.CreateAccount(ctx, "bench", "self")
	if err != nil {
		return "", err
	}
	request := metering.KeyRequest{Account: account.ID, Name: "bench", Scopes: metering.Scopes()}
	_, secret, err := admin.CreateKey(ctx, request)
	return secret.Reveal(), err
}

// bareLower does the work of text/lower with nothing around it.
func bareLower(w http.ResponseWriter, r *http.Request) {
	var req textutil.CaseRequest
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &req)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	report, err := textutil.Lower(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	out, err := json.Marshal(report)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(out)
}
