// Package postgres keeps hosted SPF in a PostgreSQL database, which may be that of the ledger: call [Open]. Its
// tables are its own, and are versioned separately.
//
// Any number of servers may share a database. A claim of a profile is a fence and a deadline in its row, taken by
// one statement: one server resolves a profile at a time, a server that dies blocks it only until the deadline, and
// its late writes are refused. Deadlines go by PostgreSQL's clock, which all servers share. Each change raises a
// counter in its own transaction, which name servers poll every second to serve what another server has resolved.
package postgres
