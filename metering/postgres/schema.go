package postgres

import (
	"context"

	"github.com/diagkit/diagkit/metering/postgresdb"
)

// schemaVersion is the layout that this package reads and writes.
const schemaVersion = 4

// migrations are the steps from each version to the next. A released step never changes.
//
// Instants are microseconds since 1970, periods are months since the year 0. Every table that grows with the
// customers leads with the account, so that it can be spread by it. Text sorts by its bytes.
var migrations = [schemaVersion]string{
	`CREATE TABLE accounts (
		account text COLLATE "C" PRIMARY KEY,
		version bigint  NOT NULL,
		name    text    NOT NULL,
		plan    text    NOT NULL,
		overage boolean NOT NULL,
		budget  bigint, -- cents; NULL is no cap
		created bigint  NOT NULL
	);

	CREATE TABLE keys (
		account        text COLLATE "C" NOT NULL REFERENCES accounts (account),
		id             text COLLATE "C" NOT NULL,
		version        bigint NOT NULL,
		name           text   NOT NULL,
		environment    text   NOT NULL,
		scopes         text[] NOT NULL,
		hash           bytea  NOT NULL,
		display_prefix text   NOT NULL,
		ip_allowlist   text[] NOT NULL,
		created        bigint NOT NULL,
		expires        bigint,
		revoked        bigint,
		revoked_reason text   NOT NULL,
		rotated_from   text   NOT NULL,
		rotated_to     text   NOT NULL,
		grace_until    bigint,
		PRIMARY KEY (account, id)
	);

	-- Whose key has a hash or an id. It is the one table that is asked before the account is known, and apart
	-- from keys because a distributed database can keep something unique only where the account is part of it:
	-- there this table is copied to every node, being small and written by administration only.
	CREATE TABLE key_directory (
		id      text COLLATE "C" PRIMARY KEY,
		hash    bytea NOT NULL CONSTRAINT key_directory_hash UNIQUE,
		account text COLLATE "C" NOT NULL
	);

	CREATE TABLE key_uses (
		account text COLLATE "C" NOT NULL,
		key     text COLLATE "C" NOT NULL,
		at      bigint NOT NULL, -- exact when written, and written again when a second has passed
		PRIMARY KEY (account, key)
	) WITH (fillfactor = 50);

	CREATE TABLE changes (
		seq     bigint PRIMARY KEY, -- in the order of commit and without gaps
		key     text NOT NULL,
		account text NOT NULL
	);

	-- Promises need not survive a crash of PostgreSQL, as nothing was charged or answered; therefore the next
	-- three tables are not logged, and are empty afterwards. This is the lock under which promises of an account
	-- are made, on whatever server.
	CREATE UNLOGGED TABLE admissions (
		account text COLLATE "C" PRIMARY KEY
	);

	-- What is used and held, so that a grant need not count the holds. Never less than that; more only until the
	-- next refusal, before which they are counted.
	CREATE UNLOGGED TABLE taken (
		account text COLLATE "C" NOT NULL,
		period  integer NOT NULL,
		credits bigint  NOT NULL,
		PRIMARY KEY (account, period)
	) WITH (fillfactor = 50);

	CREATE UNLOGGED TABLE holds (
		account     text COLLATE "C" NOT NULL,
		token       bigint NOT NULL,
		period      integer NOT NULL,
		credits     bigint NOT NULL,
		ceiling     bigint NOT NULL, -- under which it was granted
		lease       bigint NOT NULL,
		line        text COLLATE "C", -- these three: the claim, if any
		hash        bytea,
		fingerprint bytea,
		PRIMARY KEY (account, token)
	) WITH (autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 0);
	CREATE INDEX holds_claim ON holds (account, line, hash) WHERE hash IS NOT NULL;

	CREATE SEQUENCE ledger_seq;
	CREATE TABLE ledger (
		account  text COLLATE "C" NOT NULL,
		seq      bigint  NOT NULL DEFAULT nextval('ledger_seq'),
		key      text COLLATE "C" NOT NULL,
		endpoint text    NOT NULL,
		credits  bigint  NOT NULL,
		period   integer NOT NULL,
		at       bigint  NOT NULL,
		request  text    NOT NULL,
		PRIMARY KEY (account, seq)
	);
	CREATE INDEX ledger_in_order ON ledger (seq);

	CREATE TABLE balances (
		account text COLLATE "C" NOT NULL,
		period  integer NOT NULL,
		used    bigint  NOT NULL,
		charges bigint  NOT NULL,
		peak    bigint  NOT NULL, -- the highest ceiling under which a charge was granted
		PRIMARY KEY (account, period)
	) WITH (fillfactor = 50);

	-- Replies are appended. A later reply to the same claim has a higher id.
	CREATE SEQUENCE replies_id;
	CREATE TABLE replies (
		account     text COLLATE "C" NOT NULL,
		line        text COLLATE "C" NOT NULL,
		hash        bytea   NOT NULL,
		id          bigint  NOT NULL DEFAULT nextval('replies_id'),
		expires     bigint  NOT NULL,
		status      integer NOT NULL,
		form        integer NOT NULL,
		fingerprint bytea   NOT NULL,
		request     text    NOT NULL,
		header      bytea   NOT NULL,
		body        bytea   NOT NULL,
		bytes       bigint  NOT NULL, -- of the body; 0 where it was dropped
		PRIMARY KEY (account, line, hash, id)
	);
	CREATE INDEX replies_bodies ON replies (account, line, id) WHERE bytes > 0;
	CREATE INDEX replies_expires ON replies (expires);

	-- How many bytes of bodies are kept for each line of keys.
	CREATE TABLE lines (
		account text COLLATE "C" NOT NULL,
		line    text COLLATE "C" NOT NULL,
		bytes   bigint NOT NULL,
		PRIMARY KEY (account, line)
	) WITH (fillfactor = 50);

	-- Documents beside the ledger. The indexes have the orders in which they are listed.
	CREATE TABLE records (
		account text COLLATE "C" NOT NULL REFERENCES accounts (account),
		kind    text COLLATE "C" NOT NULL,
		id      text COLLATE "C" NOT NULL,
		version bigint NOT NULL,
		due     bigint,
		at      bigint NOT NULL,
		body    bytea  NOT NULL,
		PRIMARY KEY (account, kind, id)
	);
	CREATE INDEX records_at ON records (kind, at, id, account);
	CREATE INDEX records_account_at ON records (account, kind, at, id);
	CREATE INDEX records_due ON records (kind, due, id, account) WHERE due IS NOT NULL;`,

	// The parts of a charge, and hash chains over charges and plans. Older rows have no chain, and their share of
	// overage is unknown. A server of an earlier layout can charge nothing more.
	`ALTER TABLE accounts ADD COLUMN agreement text NOT NULL DEFAULT '{}'; -- JSON
	ALTER TABLE taken ADD COLUMN overage bigint NOT NULL DEFAULT 0, ADD COLUMN micros bigint NOT NULL DEFAULT 0,
		ADD COLUMN lapse bigint NOT NULL DEFAULT 0; -- before which no lease ends of what is held
	ALTER TABLE holds ADD COLUMN overage bigint NOT NULL DEFAULT 0,
		ADD COLUMN rate bigint NOT NULL DEFAULT 0, -- of a credit of it, in millionths of a cent
		ADD COLUMN parts text NOT NULL DEFAULT ''; -- these numbers in the canonical form of an entry
	ALTER TABLE ledger ADD COLUMN overage bigint NOT NULL DEFAULT 0, ADD COLUMN rate bigint NOT NULL DEFAULT 0,
		ADD COLUMN ceiling bigint NOT NULL DEFAULT 0, ADD COLUMN chain bytea;
	ALTER TABLE ledger ADD CONSTRAINT ledger_chained CHECK (chain IS NOT NULL) NOT VALID;
	ALTER TABLE balances ADD COLUMN overage bigint NOT NULL DEFAULT 0, ADD COLUMN micros bigint NOT NULL DEFAULT 0,
		ADD COLUMN chain bytea; -- NULL: without one, or a part of the month was pruned

	CREATE TABLE plans (
		seq      bigint PRIMARY KEY, -- without gaps
		plan     text COLLATE "C" NOT NULL,
		period   integer NOT NULL, -- from which on it holds
		imported bigint NOT NULL,
		body     text NOT NULL, -- JSON
		chain    bytea NOT NULL,
		UNIQUE (plan, period)
	);

	-- The newest link of the plans and how many there are; and up to which row the ledger has no chain.
	CREATE TABLE heads (
		name  text PRIMARY KEY,
		count bigint NOT NULL,
		chain bytea NOT NULL
	);
	INSERT INTO heads SELECT 'unchained', coalesce(max(seq), 0), '' FROM ledger;`,

	// The index finds a document whose account is unknown. Only the last row of a group has its link: in the others,
	// and in rows from before, chain is NULL. Servers that do not know ceilings charge nothing more.
	`CREATE INDEX records_id ON records (kind, id, account);
	ALTER TABLE holds ADD COLUMN IF NOT EXISTS parts text NOT NULL DEFAULT ''; -- which the first of version 2 had not
	ALTER TABLE ledger DROP CONSTRAINT ledger_chained, ALTER COLUMN ceiling DROP DEFAULT;
	UPDATE heads SET count = (SELECT coalesce(max(seq), 0) FROM ledger) WHERE name = 'unchained';
	UPDATE ledger SET chain = NULL WHERE chain IS NOT NULL;
	UPDATE balances SET chain = NULL;`,

	// The keys of an account in the order in which they are listed.
	"CREATE INDEX keys_created ON keys (account, created, id)",
}

// tables is the package's layout of a database.
var tables = postgresdb.Layout{Name: "metering", Table: "metering_layout", Steps: migrations[:]}

// Migrate upgrades a database to the newest layout, creating the tables in the first schema of its search path if they
// are missing, and returns the old and the new version; from is 0 for a new database. [Open] calls it.
func Migrate(ctx context.Context, url string) (from, to int, err error) {
	from, to, err = tables.Migrate(ctx, url)
	return from, to, unavailable(err)
}
