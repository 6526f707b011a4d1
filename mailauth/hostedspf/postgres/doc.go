// Package postgres keeps hosted SPF in a PostgreSQL database, which may be that of the ledger: call [Open]. It has
// tables of its own, and a version of their layout of its own.
//
// Any number of servers may share a database. A claim of a profile is a fence and a deadline in its row, taken by
// one statement, so that one server resolves a profile at a time; who dies meanwhile blocks it no longer than
// that, and what it might still say afterwards is refused. Deadlines go by the clock of PostgreSQL, which all
// servers share. Each change raises one number in its own transaction: a name server that asks for it every
// second serves what another server has resolved.
package postgres
