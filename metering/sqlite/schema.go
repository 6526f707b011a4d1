package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/diagkit/diagkit/metering/sqlitedb"
)

// SchemaVersion is the layout that this package reads and writes.
const SchemaVersion = 6

// migrations are the steps from each version to the next. A released step never changes.
var migrations = [SchemaVersion]string{
	// Instants are microseconds since 1970, periods are months since the year 0. Names of accounts,
	// keys and endpoints are interned where a row is written for each charge, and such rows are appended,
	// so that a busy server writes few pages.
	`CREATE TABLE names (
		id   INTEGER PRIMARY KEY,
		name TEXT NOT NULL UNIQUE
	) STRICT;

	CREATE TABLE accounts (
		id      TEXT PRIMARY KEY,
		version INTEGER NOT NULL,
		name    TEXT NOT NULL,
		plan    TEXT NOT NULL,
		overage INTEGER NOT NULL,
		budget  INTEGER, -- cents; NULL is no cap
		created INTEGER NOT NULL
	) STRICT;

	CREATE TABLE keys (
		id             TEXT PRIMARY KEY,
		version        INTEGER NOT NULL,
		account        TEXT NOT NULL REFERENCES accounts (id),
		name           TEXT NOT NULL,
		environment    TEXT NOT NULL,
		scopes         TEXT NOT NULL, -- JSON
		hash           BLOB NOT NULL UNIQUE,
		display_prefix TEXT NOT NULL,
		ip_allowlist   TEXT NOT NULL, -- JSON
		created        INTEGER NOT NULL,
		expires        INTEGER,
		revoked        INTEGER,
		revoked_reason TEXT NOT NULL,
		rotated_from   TEXT NOT NULL,
		rotated_to     TEXT NOT NULL,
		grace_until    INTEGER
	) STRICT;
	CREATE INDEX keys_account ON keys (account);

	CREATE TABLE key_uses (
		key INTEGER PRIMARY KEY, -- names.id
		at  INTEGER NOT NULL     -- exact when written, and written again when a second has passed
	) STRICT;

	CREATE TABLE changes (
		seq     INTEGER PRIMARY KEY,
		key     TEXT NOT NULL,
		account TEXT NOT NULL
	) STRICT;

	CREATE TABLE ledger (
		seq      INTEGER PRIMARY KEY,
		account  INTEGER NOT NULL, -- names.id
		key      INTEGER NOT NULL, -- names.id
		endpoint INTEGER NOT NULL, -- names.id
		credits  INTEGER NOT NULL,
		period   INTEGER NOT NULL,
		at       INTEGER NOT NULL,
		request  TEXT NOT NULL
	) STRICT;

	-- In which blocks of 4096 rows of the ledger an account has charges: an index of the single rows
	-- would cost each charge a page.
	CREATE TABLE ledger_blocks (
		account INTEGER NOT NULL, -- names.id
		block   INTEGER NOT NULL, -- seq / 4096
		PRIMARY KEY (account, block)
	) STRICT, WITHOUT ROWID;

	CREATE TABLE balances (
		account INTEGER NOT NULL, -- names.id
		period  INTEGER NOT NULL,
		used    INTEGER NOT NULL,
		charges INTEGER NOT NULL,
		peak    INTEGER NOT NULL, -- the highest ceiling under which a charge was granted
		PRIMARY KEY (account, period)
	) STRICT, WITHOUT ROWID;

	-- Replies are appended. A later reply to the same claim has a higher id.
	CREATE TABLE replies (
		id          INTEGER PRIMARY KEY,
		tag         INTEGER NOT NULL, -- 64 bits of key and hash
		expires     INTEGER NOT NULL,
		key         INTEGER NOT NULL, -- names.id
		status      INTEGER NOT NULL,
		form        INTEGER NOT NULL,
		hash        BLOB NOT NULL,
		fingerprint BLOB NOT NULL,
		request     TEXT NOT NULL,
		header      BLOB NOT NULL,
		body        BLOB NOT NULL
	) STRICT;

	-- Where each tag is, by the hours in which it expires. Tags are random: written one by one, each
	-- would cost a page. Therefore they come in sorted heaps, some time after their reply; those whose
	-- id is above reply_indexed are not here yet.
	CREATE TABLE reply_index (
		bucket INTEGER NOT NULL,
		tag    INTEGER NOT NULL,
		id     INTEGER NOT NULL,
		PRIMARY KEY (bucket, tag, id)
	) STRICT, WITHOUT ROWID;

	CREATE TABLE reply_indexed (
		one INTEGER PRIMARY KEY CHECK (one = 1),
		id  INTEGER NOT NULL
	) STRICT;
	INSERT INTO reply_indexed VALUES (1, 0);`,

	// Plain indexes of the replies; the second one covers the queries of many rows. A tag is the upper 31 bits of its
	// former value. A dropped body has 0 bytes. The first files of version 1 had indexes where those of later had
	// reply_index and ledger_blocks.
	`CREATE TABLE IF NOT EXISTS ledger_blocks (
		account INTEGER NOT NULL,
		block   INTEGER NOT NULL,
		PRIMARY KEY (account, block)
	) STRICT, WITHOUT ROWID;
	INSERT OR IGNORE INTO ledger_blocks SELECT DISTINCT account, seq / 4096 FROM ledger;
	DROP INDEX IF EXISTS ledger_account;
	DROP INDEX IF EXISTS replies_tag;
	DROP TABLE IF EXISTS reply_index;
	DROP TABLE IF EXISTS reply_indexed;
	ALTER TABLE replies ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
	UPDATE replies SET bytes = length(body), tag = (tag >> 33) & 0x7fffffff;
	CREATE INDEX replies_tag ON replies (tag);
	CREATE INDEX replies_expires ON replies (expires, key, tag, bytes);`,

	// Documents beside the ledger. The indexes have the orders in which they are listed.
	`CREATE TABLE records (
		account TEXT NOT NULL REFERENCES accounts (id),
		kind    TEXT NOT NULL,
		id      TEXT NOT NULL,
		version INTEGER NOT NULL,
		due     INTEGER,
		at      INTEGER NOT NULL,
		body    BLOB NOT NULL,
		UNIQUE (account, kind, id)
	) STRICT;
	CREATE INDEX records_at ON records (kind, at, id, account);
	CREATE INDEX records_account_at ON records (account, kind, at, id);
	CREATE INDEX records_due ON records (kind, due, id, account) WHERE due IS NOT NULL;`,

	// The parts of a charge, and hash chains over charges and plans. Older rows have no chain, and their share of
	// overage is unknown.
	`ALTER TABLE accounts ADD COLUMN agreement TEXT NOT NULL DEFAULT '{}'; -- JSON
	ALTER TABLE ledger ADD COLUMN overage INTEGER NOT NULL DEFAULT 0;
	ALTER TABLE ledger ADD COLUMN rate INTEGER NOT NULL DEFAULT 0; -- of a credit of it, in millionths of a cent
	ALTER TABLE ledger ADD COLUMN ceiling INTEGER NOT NULL DEFAULT 0;
	ALTER TABLE ledger ADD COLUMN chain BLOB;
	ALTER TABLE balances ADD COLUMN overage INTEGER NOT NULL DEFAULT 0;
	ALTER TABLE balances ADD COLUMN micros INTEGER NOT NULL DEFAULT 0; -- millionths of a cent
	ALTER TABLE balances ADD COLUMN chain BLOB; -- NULL: without one, or a part of the month was pruned

	CREATE TABLE plans (
		seq      INTEGER PRIMARY KEY,
		plan     TEXT NOT NULL,
		period   INTEGER NOT NULL, -- from which on it holds
		imported INTEGER NOT NULL,
		body     TEXT NOT NULL, -- JSON
		chain    BLOB NOT NULL,
		UNIQUE (plan, period)
	) STRICT;

	-- The newest link of the plans and how many there are; and up to which row the ledger has no chain.
	CREATE TABLE heads (
		name  TEXT PRIMARY KEY,
		count INTEGER NOT NULL,
		chain BLOB NOT NULL
	) STRICT;
	INSERT INTO heads SELECT 'unchained', coalesce(max(seq), 0), x'' FROM ledger;`,

	// The index finds a document whose account is unknown. Only the last row of a group has its link: in the others,
	// and in rows from before, chain is NULL.
	`CREATE INDEX records_id ON records (kind, id, account);
	UPDATE heads SET count = (SELECT coalesce(max(seq), 0) FROM ledger) WHERE name = 'unchained';
	UPDATE ledger SET chain = NULL WHERE chain IS NOT NULL;
	UPDATE balances SET chain = NULL;`,

	// The keys of an account in the order in which they are listed.
	`CREATE INDEX keys_created ON keys (account, created, id);
	DROP INDEX keys_account;`,
}

// layout is the package's layout of a file.
var layout = sqlitedb.Layout{Name: "the store", Steps: migrations[:], Version: version, Set: "PRAGMA user_version = %d"}

// Migrate upgrades the file to [SchemaVersion], creating it if it is missing, and returns the old and the new version;
// from is 0 for a new file. [Open] calls it.
func Migrate(ctx context.Context, path string) (from, to int, err error) {
	return layout.MigrateFile(ctx, path)
}

func version(conn *sqlite.Conn) (v int, err error) {
	_, err = sqlitedb.Get(conn, "PRAGMA user_version", nil, &v)
	return v, err
}
