package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/diagkit/diagkit/cmd/diagd/internal/printing"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/sqlitedb"
	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"
)

func (a *app) sizeCommand(f *benchFlags) *cobra.Command {
	var charges int64
	cmd := &cobra.Command{
		Use: "size", Short: "Charge many requests, and print how large the store is, before and after they are pruned",
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.size(cmd.Context(), *f, charges) },
	}
	cmd.Flags().Int64Var(&charges, "charges", 1_000_000, "how many requests of a month are charged")
	cmd.Flags().IntVar(&f.conns, "connections", 64, "requests at a time")
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON")
	return cmd
}

// A sizeView is the size of a store, in bytes.
type sizeView struct {
	Store   string `json:"store"`
	Charges int64  `json:"charges_count"`
	Empty   int64  `json:"empty_bytes"`
	Full    int64  `json:"full_bytes"`
	Pruned  int64  `json:"pruned_bytes"` // what is used of it; the rest takes the next charges
}

func (a *app) size(ctx context.Context, f benchFlags, charges int64) error {
	kinds := []string{onSQLite}
	if f.postgres != "" {
		kinds = append(kinds, onPostgres)
	}
	var list []sizeView
	for _, kind := range kinds {
		v, err := f.sizeOf(ctx, kind, charges)
		if err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		list = append(list, v)
	}
	return a.print(list, func(t *printing.Table) {
		t.Row("STORE", "CHARGES", "EMPTY KB", "FULL KB", "BYTES/CHARGE", "PRUNED KB")
		for _, v := range list {
			t.Row(v.Store, v.Charges, v.Empty/1000, v.Full/1000, (v.Full-v.Empty)/max(1, v.Charges), v.Pruned/1000)
		}
	})
}

// sizeOf charges requests of one month, and prunes them when they are three months old.
func (f benchFlags) sizeOf(ctx context.Context, kind string, charges int64) (v sizeView, err error) {
	place, err := f.newTempStore(ctx, kind)
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, place.drop()) }()
	passed := 0 // months
	clock := func() time.Time { return time.Now().AddDate(0, passed-3, 0) }
	after := func(act func(metering.Store) error) (int64, error) {
		store, err := place.open(ctx, clock)
		if err != nil {
			return 0, err
		}
		if err := errors.Join(act(store), store.Close()); err != nil {
			return 0, err
		}
		return place.bytes(ctx)
	}

	v = sizeView{Store: kind, Charges: charges}
	var op metering.Op
	v.Empty, err = after(func(store metering.Store) error {
		key, _, err := benchKey(ctx, store)
		op.Account, op.Key = key.Account, key.ID
		return err
	})
	if err != nil {
		return v, err
	}
	v.Full, err = after(func(store metering.Store) error { return f.chargeAll(ctx, store, op, charges, clock) })
	if err != nil {
		return v, err
	}
	passed = 3
	v.Pruned, err = after(func(store metering.Store) error {
		keep := metering.Retention{Ledger: metering.PeriodOf(clock()).Previous()}
		pruned, err := store.(metering.Pruner).Prune(ctx, keep)
		if err == nil && pruned.Charges < charges-1 { // the newest stays
			err = fmt.Errorf("only %d charges were pruned", pruned.Charges)
		}
		return err
	})
	return v, err
}

// chargeAll charges requests of an account, many at a time.
func (f benchFlags) chargeAll(
	ctx context.Context, store metering.Store, op metering.Op, charges int64, clock func() time.Time,
) error {
	op.Endpoint, op.Credits = "POST "+httpapi.Prefix+"/text/lower", 1
	var next atomic.Int64
	var all sync.WaitGroup
	faults := make([]error, f.conns)
	for i := range f.conns {
		all.Go(func() {
			for op := op; faults[i] == nil && next.Add(1) <= charges; {
				op.RequestID, op.Now = metering.NewRequestID(), clock()
				op.Lease = op.Now.Add(time.Minute)
				begun, err := store.Begin(ctx, op)
				if err == nil {
					_, err = store.Settle(ctx, *begun.Ticket, metering.Outcome{At: op.Now})
				}
				faults[i] = err
			}
		})
	}
	all.Wait()
	return errors.Join(faults...)
}

// bytes is how much of the disk the data takes. Pages of a file that wait to be used again do not count.
func (s tempStore) bytes(ctx context.Context) (n int64, err error) {
	if s.kind == onPostgres {
		conn, err := pgx.Connect(ctx, s.url)
		if err != nil {
			return 0, err
		}
		defer conn.Close(ctx)
		if _, err := conn.Exec(ctx, "VACUUM"); err != nil { // as autovacuum does by and by
			return 0, err
		}
		err = conn.QueryRow(ctx, `SELECT sum(pg_total_relation_size(oid)) FROM pg_class
			WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'`).Scan(&n)
		return n, err
	}
	file, err := sqlitedb.Open(s.file)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	conn, err := file.Connect()
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	_, err = sqlitedb.Get(conn, `SELECT (page_count - freelist_count) * page_size
		FROM pragma_page_count, pragma_freelist_count, pragma_page_size`, nil, &n)
	return n, err
}
