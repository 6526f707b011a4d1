// Package postgres is the metering store that several servers share, in one PostgreSQL database: call [Open].
//
// A charge is durable when Settle returns. Charges of an account that arrive while one of its transactions is
// running are written together by the next, so neither the disk nor a row lock limits a busy account. Begin works
// likewise, under a database lock on the account: across any number of servers, an account is never oversold, and an
// idempotency key runs once.
//
// Holds and claims are rows with a lease. When a server dies, its leases expire; a crash of PostgreSQL itself
// releases all of them, since nothing had been charged or answered, and a later Settle is refused as lapsed. The
// clocks of servers must agree within seconds; they decide when a lease ends, but never whether credits are sold
// twice.
//
//	store, err := postgres.Open(ctx, "postgres://diag@db.example.com/diag", postgres.Config{})
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//
// [Open] creates the tables in the first schema of the search path and upgrades older ones. All servers learn of a
// changed key or account by a notification, or else within a second.
//
// A connection pooler (PgBouncer) in between is supported, also in transaction mode. Then the first schema is that of
// the role, since no parameter of the URL reaches PostgreSQL, and changes are learned within a second. A pooler that
// cannot be detected, by the process ids it reports, is declared by default_query_exec_mode=exec in the URL.
package postgres
