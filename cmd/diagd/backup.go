package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	hostedsqlite "github.com/diagkit/diagkit/mailauth/hostedspf/sqlite"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/sqlite"
	"github.com/diagkit/diagkit/metering/sqlitedb"
	"github.com/spf13/cobra"
)

func (a *app) backupCommand() *cobra.Command {
	cmd := newCommand("backup FILE", "Copy the store to a new file, while the server runs, and audit the copy",
		"the file to write", func(ctx context.Context, args []string) error { return a.backup(ctx, args[0]) })
	appendLong(
		cmd,
		`The copy is a consistent snapshot: it has every charge that was acknowledged before the command began. To restore
it, stop the server and run diagd restore.

The exit code is 3 if the copy has faults; the store then has them, too.`,
	)
	a.addJSON(cmd)
	return cmd
}

func (a *app) backup(ctx context.Context, to string) error {
	if err := a.checkAdministrable(); err != nil {
		return err
	}
	place, err := a.sqliteFile()
	if err != nil {
		return err
	}
	if err := sqlitedb.Backup(ctx, place, to); err != nil {
		return err
	}
	audit, err := verifyFile(ctx, to)
	if err != nil && !errors.Is(err, errFaults) {
		return fmt.Errorf("the copy is not usable: %w", errors.Join(err, os.Remove(to)))
	}
	a.recordRun(backupTask, len(audit.Faults))
	return a.showAudit(audit)
}

// sqliteFile is the file of the store, which other kinds of stores have not.
func (a *app) sqliteFile() (string, error) {
	kind, place, err := a.parseStore()
	if err == nil && kind != "sqlite" {
		err = usagef("--store: only a SQLite file can be copied; " +
			"back up a database server with its own tools, such as pg_dump")
	}
	return place, err
}

func (a *app) restoreCommand() *cobra.Command {
	cmd := newCommand("restore FILE", "Replace the store of a stopped server by a backup",
		"the file to restore", func(ctx context.Context, args []string) error { return a.restore(ctx, args[0]) })
	appendLong(
		cmd,
		`The backup is copied, checked, migrated to this program's layout and audited before anything changes; the copy then
replaces the store. The old store is kept under another name in the same folder: charges made since the backup are
only there. A store that a server has open is refused. The exit code is 3 if the backup has faults.`,
	)
	a.addJSON(cmd)
	return cmd
}

type restoreView struct {
	auditView
	OldStore string `json:"old_store,omitempty"` // where the store is that was replaced
}

func (a *app) restore(ctx context.Context, from string) error {
	place, err := a.sqliteFile()
	if err != nil {
		return err
	}
	var audit metering.Audit
	oldPath := place + ".replaced-" + time.Now().UTC().Format("20060102T150405.000Z")
	moved, err := sqlitedb.Restore(ctx, from, place, oldPath, func(ctx context.Context, path string) error {
		audit, err = verifyFile(ctx, path)
		return err
	})
	if errors.Is(err, sqlitedb.ErrServing) {
		return fmt.Errorf("the store %s is in use by a server; stop the server first", a.redactedStore())
	}
	if errors.Is(err, errFaults) {
		return errors.Join(a.showAudit(audit), errors.New("the store was not changed"))
	}
	if err != nil {
		return err
	}
	v := restoreView{auditView: newAuditView(audit)}
	if moved {
		v.OldStore = oldPath
	}
	return a.print(v, func(t *table) {
		v.rows(t)
		if moved {
			t.row("The old store is now " + oldPath + ".")
		}
	})
}

// verifyFile migrates a store that no process has open to this program's layout, and audits it.
func verifyFile(ctx context.Context, path string) (audit metering.Audit, err error) {
	from, _, err := sqlite.Migrate(ctx, path)
	if err == nil && from == 0 {
		err = errors.New("the file is not a store of diagd")
	}
	if err == nil {
		_, _, err = hostedsqlite.Migrate(ctx, path)
	}
	if err != nil {
		return audit, err
	}
	store, err := sqlite.Open(ctx, path, sqlite.Config{Admin: true})
	if err != nil {
		return audit, err
	}
	audit, err = store.Audit(ctx)
	if err = errors.Join(err, store.Close()); err == nil && len(audit.Faults) > 0 {
		err = errFaults
	}
	return audit, err
}
