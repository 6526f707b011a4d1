package sqlite

import (
	"context"
	"encoding/json"

	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/metering/sqlitedb"
	"zombiezen.com/go/sqlite"
)

// SchemaVersion is the layout that this package reads and writes.
const SchemaVersion = 2

// migrations are the steps from each version to the next. A released step never changes.
var migrations = [SchemaVersion]string{
	// Instants are microseconds since 1970.
	`CREATE TABLE spf_state (
		one     INTEGER PRIMARY KEY CHECK (one = 1),
		layout  INTEGER NOT NULL,
		version INTEGER NOT NULL -- rises with every change of a profile
	) STRICT;
	INSERT INTO spf_state VALUES (1, 1, 0);

	CREATE TABLE spf_profiles (
		id               TEXT PRIMARY KEY,
		owner            TEXT NOT NULL,
		domain           TEXT NOT NULL,
		name             TEXT NOT NULL,
		status           TEXT NOT NULL,
		source           TEXT NOT NULL,
		flattened        TEXT NOT NULL,
		include_host     TEXT NOT NULL UNIQUE,
		records          TEXT, -- JSON; NULL before the first success
		lookups_before   INTEGER NOT NULL,
		lookups_after    INTEGER NOT NULL,
		ip4              INTEGER NOT NULL,
		ip6              INTEGER NOT NULL,
		hash             TEXT NOT NULL,
		interval_seconds INTEGER NOT NULL,
		resolved         INTEGER,
		changed          INTEGER,
		next             INTEGER, -- NULL while it is paused
		last_error       TEXT NOT NULL,
		created          INTEGER NOT NULL,
		updated          INTEGER NOT NULL,
		failures         INTEGER NOT NULL,
		paused           INTEGER NOT NULL
	) STRICT;
	CREATE INDEX spf_profiles_created ON spf_profiles (created, id);
	CREATE INDEX spf_profiles_owner ON spf_profiles (owner, created, id);
	CREATE INDEX spf_profiles_next ON spf_profiles (next, id) WHERE next IS NOT NULL;

	-- The row outlives the claim, for its fence.
	CREATE TABLE spf_claims (
		profile TEXT PRIMARY KEY,
		fence   INTEGER NOT NULL,
		until   INTEGER -- NULL when it was finished or released
	) STRICT, WITHOUT ROWID;

	CREATE TABLE spf_resolutions (
		seq           INTEGER PRIMARY KEY,
		profile       TEXT NOT NULL,
		at            INTEGER NOT NULL,
		id            TEXT NOT NULL,
		"trigger"     TEXT NOT NULL,
		status        TEXT NOT NULL,
		duration_ms   INTEGER NOT NULL,
		lookups       INTEGER NOT NULL,
		added         TEXT, -- JSON
		removed       TEXT, -- JSON
		added_count   INTEGER NOT NULL,
		removed_count INTEGER NOT NULL,
		ip4           INTEGER NOT NULL,
		ip6           INTEGER NOT NULL,
		hash          TEXT NOT NULL,
		error         TEXT NOT NULL
	) STRICT;
	CREATE UNIQUE INDEX spf_resolutions_at ON spf_resolutions (profile, at, id);

	-- Profiles that are gone, but not all of their history.
	CREATE TABLE spf_removed (
		profile TEXT PRIMARY KEY
	) STRICT, WITHOUT ROWID;`,

	// What is served beside the records, as JSON; NULL without any.
	`ALTER TABLE spf_profiles ADD COLUMN parts TEXT`,
}

var tables = sqlitedb.Layout{
	Name: "hosted SPF", Steps: migrations[:], Version: layout, Set: "UPDATE spf_state SET layout = %d",
}

// Migrate brings the tables of hosted SPF in a file up to [SchemaVersion], creating missing ones, and returns the old
// and new version; from is 0 if there were no tables. [Open] does it by itself.
func Migrate(ctx context.Context, path string) (from, to int, err error) {
	return tables.MigrateFile(ctx, path)
}

func layout(conn *sqlite.Conn) (version int, err error) {
	exists, err := sqlitedb.Get(conn, "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'spf_state'", nil)
	if err == nil && exists {
		_, err = sqlitedb.Get(conn, "SELECT layout FROM spf_state", nil, &version)
	}
	return version, err
}

// list is a list as JSON, NULL if it is nil.
func list[E string | hostedspf.Record | hostedspf.Part](list []E) *string {
	if list == nil {
		return nil
	}
	text, _ := json.Marshal(list) // strings and numbers can always be written
	return new(string(text))
}

// unlist decodes the output of list.
func unlist[E any](text *string, into *[]E) error {
	if text == nil {
		return nil
	}
	return json.Unmarshal([]byte(*text), into)
}

func exec(conn *sqlite.Conn, sql string, args ...any) error {
	return sqlitedb.Exec(conn, sql, sqlitedb.Args(args...))
}
