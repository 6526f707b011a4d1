package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/diagkit/diagkit/cmd/diagd/internal/printing"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
	"github.com/spf13/cobra"
)

func (a *app) crashCommand(f *benchFlags) *cobra.Command {
	var rounds int
	cmd := &cobra.Command{
		Use: "crash", Short: "Kill servers with -9 under load, again and again, and count what that has cost",
		Long: `Kill servers with -9 under load, again and again, and count what that has cost.

Clients buy with idempotency keys, and ask again after each kill until they know. At the end every charge that was
acknowledged must be in the ledger, none twice, each reply must be given again to the byte, and the audit must be clean.
The exit code is 3 if not. It is done on SQLite, and with --postgres on PostgreSQL too.`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.crash(cmd.Context(), *f, rounds) },
	}
	cmd.Flags().IntVar(&rounds, "rounds", 100, "how many servers are killed on each store")
	cmd.Flags().IntVar(&f.conns, "connections", 64, "clients")
	a.addServing(cmd, f)
	return cmd
}

type crashView struct {
	Store        string `json:"store"`
	Kills        int    `json:"kills_count"`
	Acknowledged int    `json:"acknowledged_count"` // purchases with a reply
	Charges      int64  `json:"charges_count"`      // rows of the ledger
	Open         int    `json:"open_count"`         // requests that a kill has left without a reply
	Replays      int    `json:"replays_count"`      // replies that were requested again at the end
	Different    int    `json:"different_count"`    // of these, not the same to the byte
	AuditFaults  int    `json:"audit_faults_count"`
}

func (v crashView) isGood() bool {
	return v.Charges == int64(v.Acknowledged) && v.Different == 0 && v.AuditFaults == 0
}

func (a *app) crash(ctx context.Context, f benchFlags, rounds int) error {
	program, remove, err := f.program(ctx)
	if err != nil {
		return err
	}
	defer remove()
	kinds := []string{onSQLite}
	if f.postgres != "" {
		kinds = append(kinds, onPostgres)
	}
	var list []crashView
	verdict := error(nil)
	for _, kind := range kinds {
		v, err := f.crashOne(ctx, program, kind, rounds)
		if err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		if list = append(list, v); !v.isGood() {
			verdict = errFaults
		}
	}
	err = a.print(list, func(t *printing.Table) {
		t.Row("STORE", "KILLS", "LEFT OPEN", "ACKNOWLEDGED", "CHARGES", "REPLAYS", "DIFFERENT", "AUDIT FAULTS", "VERDICT")
		for _, v := range list {
			word := "nothing lost, nothing doubled"
			if !v.isGood() {
				word = "FAULTY"
			}
			t.Row(v.Store, v.Kills, v.Open, v.Acknowledged, v.Charges, v.Replays, v.Different, v.AuditFaults, word)
		}
	})
	return errors.Join(err, verdict)
}

func (f benchFlags) crashOne(ctx context.Context, program, kind string, rounds int) (v crashView, err error) {
	store, err := f.newTempStore(ctx, kind)
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, store.drop()) }()
	v = crashView{Store: kind, Kills: rounds}
	c := newCustomers(f.conns)
	for range rounds {
		s, err := startVictim(ctx, program, store.url)
		if err != nil {
			return v, err
		}
		c.secret = cmp.Or(s.secret, c.secret)
		// At a random time: the operation under way differs from round to round.
		if err = c.buyUntil(ctx, s.url, 50+rand.IntN(500), s.kill); err != nil {
			return v, err
		}
	}
	left, err := c.settleOn(ctx, store)
	if err != nil {
		return v, err
	}
	defer left.Close()
	v.Open, v.Acknowledged, v.Replays, v.Different = c.lost, len(c.bought), c.replayed, c.different
	audit, err := left.Audit(ctx)
	v.Charges, v.AuditFaults = audit.Entries, len(audit.Faults)
	return v, err
}

// settleOn serves a store in this process, by a clock that is ahead of all leases, and settles there. The store stays
// open.
func (c *customers) settleOn(ctx context.Context, s tempStore) (metering.Store, error) {
	later := func() time.Time { return time.Now().Add(metering.ClaimLease + time.Second) }
	store, err := s.open(ctx, later)
	if err != nil {
		return nil, err
	}
	if err := c.settleBy(ctx, store, s.plans, later); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

func (c *customers) settleBy(
	ctx context.Context, store metering.Store, plans metering.Prices, clock func() time.Time,
) error {
	gate, err := metering.NewGate(ctx, metering.GateConfig{Store: store, Plans: plans, Clock: clock})
	if err != nil {
		return err
	}
	defer gate.Close()
	address, stop, err := serveLoopback(httpapi.Handler(httpapi.Config{Gate: gate, Clock: clock, IPRate: -1}))
	if err != nil {
		return err
	}
	defer stop()
	return c.settle(ctx, "http://"+address)
}
