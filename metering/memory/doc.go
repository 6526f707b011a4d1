// Package memory is a metering store in memory, for tests, demonstrations and the server's "memory:" store: call
// [New]. It has the features of every store, such as atomic charges, leases and replays, but nothing survives the
// process, and the ledger grows until it ends.
//
// The zero [Config] uses [metering.DefaultPlans] and the wall clock:
//
//	store := memory.New(memory.Config{})
//	defer store.Close()
package memory
