package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/diagkit/diagkit/cmd/diagd/internal/faultproxy"
	"github.com/diagkit/diagkit/cmd/diagd/internal/printing"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/postgresdb"
	"github.com/spf13/cobra"
)

// A fault is one that servers must bear without a wrong charge.
type fault struct {
	name, description string
	storeKind         string // the kind of store that can have it; empty: every one
	movesClock        bool   // the server has a biller, and a clock that can be moved
	billerLies        bool   // the biller lies at first
	noServer          bool   // no server is started and nothing is sold
	inject            func(*trial, context.Context) error
}

const (
	// recovery is how long a server may take to sell again after a fault, and enough how much it must sell.
	recovery   = time.Minute
	minCharges = 50
)

// allFaults are all of them, in the order in which they are played.
func allFaults() []fault {
	return []fault{
		{name: "kill", description: "kill -9 of three servers, one after another", inject: (*trial).killServers},
		{name: "cut", description: "a proxy cuts all connections to the database and refuses new ones", storeKind: onPostgres,
			inject: throughProxy((*faultproxy.Proxy).Cut)},
		{name: "slow", description: "a proxy delays every packet to and from the database by 200 ms", storeKind: onPostgres,
			inject: throughProxy((*faultproxy.Proxy).Slow)},
		{name: "hang", description: "a proxy keeps all connections to the database and passes nothing", storeKind: onPostgres,
			inject: throughProxy((*faultproxy.Proxy).Hang)},
		{name: "stop", description: "SIGSTOP of the database processes that serve the connections", storeKind: onPostgres,
			inject: (*trial).stopBackends},
		{
			name:        "lock",
			description: "another connection locks the ledger (SQLite: the database)",
			inject:      (*trial).lockLedger,
		},
		{name: "clock", description: "the clock jumps 40 days ahead, back, 40 days behind, and back", movesClock: true,
			inject: (*trial).moveClock},
		{
			name:        "biller",
			description: "billers answer HTML, unknown statuses, rubbish, nothing, 500 once paid; and report twice",
			billerLies:  true,
			inject:      (*trial).waitOut,
		},
		{name: "mount", description: "the store is a single file that is mounted", storeKind: onSQLite, noServer: true,
			inject: (*trial).checkMountRefused},
	}
}

func (a *app) faultsCommand(f *benchFlags) *cobra.Command {
	names := kit.Map(allFaults(), func(one fault) string { return one.name })
	var only []string
	var hold time.Duration
	var store string
	var conns int // which are fewer than the connections of the other commands
	cmd := &cobra.Command{
		Use: "faults", Args: arguments(cobra.NoArgs),
		Short: "Play faults of machines, clocks and billers under load, and check what was charged and billed",
		Long: `Play faults of machines, clocks and billers under load, and check what was charged and billed.

Each fault has servers and a store of its own: a temporary SQLite file, or with --store postgres://…
a schema that is dropped afterwards. Connections of that PostgreSQL are stopped and tables locked, so name one that nobody
else needs. Customers buy with idempotency keys all the while. After each fault, what was acknowledged must be in the
ledger, once for each key; replies are given again to the byte, free of charge; the audit is clean; no month was closed
early; and once the month is over, there is one invoice for each account that says what the ledger says and is paid
once. The exit code is 3 if not. A fault that cannot be played here is shown as such.

Faults: ` + strings.Join(names, ", ") + ".",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if store != "" {
				if kind, _, _ := strings.Cut(store, ":"); kind != "postgres" && kind != "postgresql" {
					return usagef("--store: name a PostgreSQL, or none for a temporary SQLite file in --dir")
				}
				if err := postgresdb.CheckURL(store); err != nil {
					return usagef("--store: %w", err)
				}
				f.postgres = store
			}
			for _, name := range only {
				if !slices.Contains(names, name) {
					return usagef("--only: unknown fault %q", name)
				}
			}
			f.conns = conns
			return a.faults(cmd.Context(), *f, slices.DeleteFunc(allFaults(), func(one fault) bool {
				return len(only) > 0 && !slices.Contains(only, one.name)
			}), hold)
		},
	}
	cmd.Flags().StringVar(&store, "store", "", "postgres://… to play them on (default: a temporary SQLite file)")
	cmd.Flags().StringSliceVar(&only, "only", nil, "play these alone (default: all)")
	cmd.Flags().DurationVar(&hold, "hold", 8*time.Second, "how long a fault lasts; the clock is wrong 12 times as long")
	cmd.Flags().IntVar(&conns, "connections", 16, "customers")
	a.addServing(cmd, f)
	return cmd
}

type faultView struct {
	Fault     string   `json:"fault"`
	Store     string   `json:"store"`
	Done      string   `json:"done"`
	NotPlayed string   `json:"not_played,omitempty"` // why
	Charges   int      `json:"charges_count"`
	Refusals  int      `json:"refusals_count"` // with requests that were lost
	Seconds   float64  `json:"seconds"`
	Broken    []string `json:"broken"` // what does not hold
}

func (v faultView) verdict() string {
	switch {
	case v.NotPlayed != "":
		return "not played: " + v.NotPlayed
	case len(v.Broken) > 0:
		return "BROKEN: " + strings.Join(v.Broken, "; ")
	}
	return "hold"
}

func (a *app) faults(ctx context.Context, f benchFlags, list []fault, hold time.Duration) error {
	program, remove, err := f.program(ctx)
	if err != nil {
		return err
	}
	defer remove()
	views := []faultView{}
	verdict := error(nil)
	for _, one := range list {
		v, err := f.runTrial(ctx, program, one, hold)
		if err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
		if views = append(views, v); len(v.Broken) > 0 {
			verdict = errFaults
		}
	}
	err = a.print(views, func(t *printing.Table) {
		t.Row("FAULT", "STORE", "CHARGES", "REFUSALS", "SECONDS", "DONE", "INVARIANTS")
		for _, v := range views {
			t.Row(v.Fault, v.Store, v.Charges, v.Refusals, fmt.Sprintf("%.1f", v.Seconds), v.Done, v.verdict())
		}
	})
	return errors.Join(err, verdict)
}

// notRunnable explains why a fault cannot be played here.
type notRunnable string

func (n notRunnable) Error() string { return string(n) }

// runTrial plays one fault on a store of its own. An error means that it could not be begun, or was aborted.
func (f benchFlags) runTrial(
	ctx context.Context, program string, one fault, hold time.Duration,
) (v faultView, err error) {
	p := &trial{program: program, duration: hold, c: newCustomers(f.conns), begun: time.Now()}
	v = faultView{Fault: one.name, Store: onSQLite, Done: one.description}
	if f.postgres != "" {
		v.Store = onPostgres
	}
	if one.storeKind != "" && one.storeKind != v.Store {
		v.NotPlayed = "it needs " + one.storeKind
		return v, nil
	}
	if p.tempStore, err = f.newTempStore(ctx, v.Store); err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, p.drop()) }()
	p.plans, p.c.toleratesRefusals, p.serverStore = faultsPlans(), true, p.url
	if f.postgres != "" {
		if err := p.startProxy(); err != nil {
			return v, err
		}
		defer p.proxy.Close()
	}
	err = p.run(ctx, one)
	v.Charges, v.Refusals, v.Seconds = p.c.charges(), p.c.refused+p.c.lost, time.Since(p.begun).Seconds()
	if reason, ok := errors.AsType[notRunnable](err); ok {
		v.NotPlayed = string(reason)
	} else if err != nil {
		p.violations = append(p.violations, err.Error())
	}
	v.Broken = append([]string{}, p.violations...)
	return v, ctx.Err()
}

// A trial is one fault with its servers and customers.
type trial struct {
	tempStore
	program     string // diagd
	duration    time.Duration
	serverStore string // the store as configured for servers, which for PostgreSQL leads through the proxy
	proxy       *faultproxy.Proxy
	name        string               // by which PostgreSQL knows the connections of servers
	accounts    []metering.AccountID // the first buys
	c           *customers
	begun       time.Time
	server      atomic.Value // its URL
	stop        func()       // ends the server
	violations  []string
}

func (p *trial) startProxy() error {
	u, err := url.Parse(p.url)
	if err != nil || u.Hostname() == "" || strings.Contains(u.Host, ",") {
		return usagef("--store: name one host")
	}
	target := u.Host
	if u.Port() == "" {
		target = net.JoinHostPort(u.Hostname(), "5432")
	}
	if p.proxy, err = faultproxy.Start(target); err != nil {
		return err
	}
	p.name = "diagd-" + strings.ToLower(rand.Text())
	query := u.Query()
	query.Set("application_name", p.name)
	u.Host, u.RawQuery = p.proxy.Addr(), query.Encode()
	p.serverStore = u.String()
	return nil
}

// run plays the fault while customers buy, and examines the result.
func (p *trial) run(ctx context.Context, f fault) error {
	if f.noServer {
		return f.inject(p, ctx)
	}
	var settings []string
	if f.movesClock {
		if !hasMovableClock(p.program) {
			return notRunnable("it needs a diagd built with -tags=" + movableClock)
		}
		invoices := filepath.Join(filepath.Dir(p.file), "invoices")
		settings = []string{"DIAGD_CLOCK=" + p.clockFile(), "DIAG_BILLER=file:" + invoices}
	}
	err := p.createAccounts(ctx, f)
	if err == nil {
		err = p.start(ctx, settings...)
	}
	if err != nil {
		return err
	}
	shopping, stop := context.WithCancel(ctx)
	var buyers sync.WaitGroup
	buyers.Go(func() { p.c.buyUntilDone(shopping, p.address) })
	for _, step := range []func(*trial, context.Context) error{(*trial).waitForCharges, f.inject, (*trial).waitForCharges} {
		if err == nil {
			err = step(p, ctx)
		}
	}
	stop()
	buyers.Wait()
	p.stop()
	if err != nil {
		return err
	}
	return p.examine(ctx, f)
}

func (p *trial) address() string { return p.server.Load().(string) }

func (p *trial) start(ctx context.Context, settings ...string) error {
	v, err := startVictim(ctx, p.program, p.serverStore, settings...)
	if err == nil {
		p.stop = v.kill
		p.server.Store(v.url)
	}
	return err
}
