package postgres

import (
	"context"

	"github.com/diagkit/diagkit/metering/postgresdb"
)

// SchemaVersion is the layout that this package reads and writes.
const SchemaVersion = 1

// tables are what the package keeps in a database. Instants are microseconds since 1970, and text that is
// compared sorts by its bytes.
var tables = postgresdb.Layout{Name: "hosted SPF", Table: "spf_layout", Steps: []string{
	`CREATE TABLE spf_state (
		one     boolean PRIMARY KEY CHECK (one),
		version bigint NOT NULL -- rises with every change of a profile
	);
	INSERT INTO spf_state VALUES (true, 0);

	CREATE TABLE spf_profiles (
		id           text COLLATE "C" PRIMARY KEY,
		owner        text COLLATE "C" NOT NULL,
		domain       text COLLATE "C" NOT NULL,
		include_host text COLLATE "C" NOT NULL UNIQUE,
		created      bigint  NOT NULL,
		next         bigint, -- NULL while it is paused
		paused       boolean NOT NULL,
		body         json    NOT NULL,
		fence        bigint  NOT NULL DEFAULT 0, -- of the last claim
		claimed      bigint  -- until when; NULL when it was finished or released
	);
	CREATE INDEX spf_profiles_created ON spf_profiles (created, id);
	CREATE INDEX spf_profiles_owner ON spf_profiles (owner, created, id);
	CREATE INDEX spf_profiles_next ON spf_profiles (next, id) WHERE next IS NOT NULL;

	CREATE TABLE spf_resolutions (
		profile     text COLLATE "C" NOT NULL REFERENCES spf_profiles ON DELETE CASCADE,
		at          bigint  NOT NULL,
		id          text COLLATE "C" NOT NULL,
		"trigger"   text    NOT NULL,
		status      text    NOT NULL,
		duration_ms bigint  NOT NULL,
		lookups     integer NOT NULL,
		added       text[]  NOT NULL,
		removed     text[]  NOT NULL,
		ip4         integer NOT NULL,
		ip6         integer NOT NULL,
		hash        text    NOT NULL,
		error       text    NOT NULL,
		PRIMARY KEY (profile, at, id)
	);`,
}}

// Migrate brings the tables of hosted SPF in a database up to [SchemaVersion], creating them where there are none,
// and tells from which version to which; from is 0 where there were none. [Open] does it by itself.
func Migrate(ctx context.Context, url string) (from, to int, err error) {
	return tables.Migrate(ctx, url)
}
