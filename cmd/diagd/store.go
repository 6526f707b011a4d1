package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	hostedpostgres "github.com/diagkit/diagkit/mailauth/hostedspf/postgres"
	hostedsqlite "github.com/diagkit/diagkit/mailauth/hostedspf/sqlite"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/diagkit/diagkit/metering/postgres"
	"github.com/diagkit/diagkit/metering/postgresdb"
	"github.com/diagkit/diagkit/metering/sqlite"
	"github.com/spf13/cobra"
)

// parseStore parses --store: a kind of store, and its location, which for PostgreSQL is the whole URL.
func (a *app) parseStore() (kind, place string, err error) {
	kind, place, ok := strings.Cut(a.store, ":")
	switch {
	case ok && (kind == "sqlite" && place != "" || kind == "memory" && place == ""):
		return kind, place, nil
	case kind == "postgres" || kind == "postgresql":
		if err := postgresdb.CheckURL(a.store); err != nil {
			return "", "", usagef("--store: %w", err)
		}
		return "postgres", a.store, nil
	}
	return "", "", usagef("--store: %q is not sqlite:FILE, postgres://… or memory:", a.redactedStore())
}

// openStore opens the store that --store names, to serve or to administer. The plans are those of the store, and where
// it holds none those that it would be given.
func (a *app) openStore(ctx context.Context, admin bool) (metering.Store, *metering.PriceList, error) {
	given, _, err := a.plans()
	if err != nil {
		return nil, nil, err
	}
	plans := metering.NewPriceList(given.Versions(metering.Period{}, time.Time{})...)
	store, err := a.openWith(ctx, plans, admin)
	if err != nil {
		return nil, nil, err
	}
	if err = plans.Read(ctx, store); err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return store, plans, nil
}

func (a *app) openWith(ctx context.Context, plans *metering.PriceList, admin bool) (metering.Store, error) {
	if admin {
		if err := a.checkAdministrable(); err != nil {
			return nil, err
		}
	}
	kind, place, err := a.parseStore()
	switch {
	case err != nil:
		return nil, err
	case kind == "memory":
		return memory.New(memory.Config{Plans: plans, Clock: a.clock, Doubt: a.doubt}), nil
	case kind == "postgres":
		store, err := postgres.Open(ctx, place, postgres.Config{Present: a.examining, Plans: plans, Doubt: a.doubt})
		if err != nil {
			return nil, fmt.Errorf("--store: %w", err)
		}
		return store, nil
	}
	store, err := sqlite.Open(ctx, place, sqlite.Config{Plans: plans, Admin: admin, Clock: a.clock, Doubt: a.doubt})
	if errors.Is(err, sqlite.ErrServing) {
		return nil, fmt.Errorf(
			"the store %s is in use by another server; stop that one or name another --store", a.redactedStore())
	}
	if err != nil {
		return nil, fmt.Errorf("opening the store %s: %w", a.redactedStore(), err)
	}
	return store, nil
}

// checkAdministrable refuses a store that another process than its server cannot open, or that does not exist.
func (a *app) checkAdministrable() error {
	kind, place, err := a.parseStore()
	switch {
	case err != nil:
		return err
	case kind == "memory":
		return usagef("a store in memory cannot be administered from another process")
	case kind == "postgres":
		return nil // the database exists, and an empty one has no accounts
	}
	return checkExists(place)
}

func checkExists(place string) error {
	if _, err := os.Stat(place); err != nil {
		return fmt.Errorf("opening the store: %w (diagd serve creates it at its first start)", err)
	}
	return nil
}

// migrateView holds the versions of the layout before and after a migration. Hosted SPF has tables and versions of
// its own in the same file.
type migrateView struct {
	From       int `json:"from_version"`
	To         int `json:"to_version"`
	HostedFrom int `json:"hosted_spf_from_version"`
	HostedTo   int `json:"hosted_spf_to_version"`
	// Unknown lists what cannot be known about the time before.
	Unknown []string `json:"unknown"`
}

func (a *app) migrateCommand() *cobra.Command {
	cmd := newCommand("migrate", "Migrate the store to this version's layout, as serve does", "",
		func(ctx context.Context, _ []string) error { return a.migrate(ctx) })
	a.addJSON(cmd)
	return cmd
}

func (a *app) migrate(ctx context.Context) error {
	kind, place, err := a.parseStore()
	migrate, migrateHosted := sqlite.Migrate, hostedsqlite.Migrate
	switch {
	case err != nil:
		return err
	case kind == "memory":
		return usagef("--store: %q has nothing to migrate", a.redactedStore())
	case kind == "postgres":
		migrate, migrateHosted = postgres.Migrate, hostedpostgres.Migrate
	default:
		if err := checkExists(place); err != nil {
			return err
		}
	}
	var v migrateView
	if v.From, v.To, err = migrate(ctx, place); err != nil {
		return err
	}
	if v.HostedFrom, v.HostedTo, err = migrateHosted(ctx, place); err != nil {
		return err
	}
	if v.Unknown, err = a.migratePlans(ctx, v.From != v.To && v.From > 0); err != nil {
		return err
	}
	return a.print(v, func(t *table) {
		printMigration(t, "store", v.From, v.To)
		printMigration(t, "hosted SPF in it", v.HostedFrom, v.HostedTo)
		for _, line := range v.Unknown {
			t.row(line)
		}
	})
}

// migratePlans imports the plans into a store that holds none, and reports what is unknown about such a store.
func (a *app) migratePlans(ctx context.Context, older bool) (unknown []string, err error) {
	unknown = []string{}
	if older { // its layout had no chain, or one of another form
		unknown = append(unknown, "Charges from before are not proven by a chain.")
	}
	err = a.administer(ctx, func(admin metering.Admin) error {
		versions, err := admin.Store.PlanVersions(ctx)
		if err != nil || len(versions) > 0 {
			return err
		}
		if older {
			unknown = append(unknown, "Their overage is not known and counts as none.")
		}
		_, from, err := a.plans()
		if err != nil {
			return err
		}
		unknown = append(unknown, "The plans of "+from+" are used for all earlier months, whose plans "+
			"are not known.")
		return a.seedPlans(ctx, admin.Store)
	})
	return unknown, err
}

func printMigration(t *table, what string, from, to int) {
	if from == to {
		t.row(fmt.Sprintf("The %s has version %d, the current one.", what, to))
		return
	}
	t.row(fmt.Sprintf("The %s was migrated from version %d to %d.", what, from, to))
}

func (a *app) administer(ctx context.Context, f func(metering.Admin) error) (err error) {
	store, plans, err := a.openStore(ctx, true)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, store.Close()) }()
	return f(metering.Admin{Store: store, Plans: plans, Clock: clockOf(store)})
}

// clockOf is the clock of a store that several nodes share; nil for that of this machine.
func clockOf(s metering.Store) func() time.Time {
	if c, ok := s.(metering.Clocked); ok {
		return c.Now
	}
	return nil
}

const plansFile, builtIn = "plans.json", "this program"

// plans are those that a store is given, with the file or the program that they come from.
func (a *app) plans() (plans metering.Plans, from string, err error) {
	data, err := a.readOverride(plansFile)
	if err != nil || data == nil {
		return metering.DefaultPlans(), builtIn, err
	}
	from = filepath.Join(a.data, plansFile)
	if plans, err = parsePlans(data); err != nil {
		err = fmt.Errorf("%s: %w", from, err)
	}
	return plans, from, err
}

// readOverride returns a file of --data, or nil if it has none of that name.
func (a *app) readOverride(name string) ([]byte, error) {
	if a.data == "" {
		return nil, nil
	}
	data, err := os.ReadFile(filepath.Join(a.data, name))
	if os.IsNotExist(err) {
		_, err = os.Stat(a.data) // a folder that is missing must not mean that the built-in lists will do
		return nil, err
	}
	return data, err
}
