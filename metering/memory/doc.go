// Package memory is a metering store that keeps everything in memory: for tests, demonstrations and
// the server's "memory:" store. It means what every store means, atomic charges, leases, replays and
// all, except that nothing survives the process, and that the ledger grows until it ends.
//
// The zero [Config] sells [metering.DefaultPlans] by the wall clock:
//
//	store := memory.New(memory.Config{})
//	defer store.Close()
package memory
