package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/sqlite"
	"github.com/diagkit/diagkit/metering/sqlitedb"
	"github.com/spf13/cobra"
)

func (a *app) backupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "backup FILE", Short: "Copy the store to a new file, while the server runs, and audit the copy",
		Long: `Copy the store to a new file, while the server runs, and audit the copy.

The copy is one state of the store: every charge that was acknowledged before the command began is in it. To restore
it, stop the server, move the store and the files FILE-wal and FILE-shm beside it away, and put the copy in its place.

The exit code is 3 if the copy has faults, which then the store has too.`,
		Args: exactly(1, "the file to write"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.backup(cmd.Context(), args[0]) },
	}
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON")
	return cmd
}

func (a *app) backup(ctx context.Context, to string) error {
	if err := a.administrable(); err != nil {
		return err
	}
	_, place, err := a.place()
	if err != nil {
		return err
	}
	if err := sqlitedb.Backup(ctx, place, to); err != nil {
		return err
	}
	audit, err := auditFile(ctx, to)
	if err != nil {
		return fmt.Errorf("the copy %s: %w", to, err)
	}
	return a.showAudit(audit)
}

// auditFile audits a store that nobody has open.
func auditFile(ctx context.Context, path string) (audit metering.Audit, err error) {
	store, err := sqlite.Open(ctx, path, sqlite.Config{Admin: true})
	if err != nil {
		return audit, err
	}
	audit, err = store.Audit(ctx)
	return audit, errors.Join(err, store.Close())
}
