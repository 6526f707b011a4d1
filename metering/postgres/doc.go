// Package postgres is the metering store that several servers share: one PostgreSQL database.
//
// A charge is durable when Settle returns. Charges of an account that come while one of its transactions is
// under way are written together by the next, so that a busy account is limited neither by the disk nor by the
// lock of its row. Begin works likewise, under a lock of the account in the database: however many servers
// there are, an account is never sold more than it may use, and an idempotency key runs once.
//
// Holds and claims are rows with a lease. When a server dies, theirs end; a crash of PostgreSQL itself releases all at
// once, for nothing had been charged or answered, and a Settle of theirs is refused as lapsed. Servers need clocks that
// agree to some seconds, which decides when a lease ends, but never whether credits are sold twice.
//
//	store, err := postgres.Open(ctx, "postgres://diag@db.example.com/diag", postgres.Config{})
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//
// [Open] creates the tables in the first schema of the search path and brings older ones up to date. A change
// of a key or an account is known to all servers at once, by a notification, or else within a second. A pool
// of connections between a server and PostgreSQL must be one for sessions, not for transactions.
package postgres
