// Package sqlite is the default metering store, one SQLite file for one server: call [Open].
//
// A charge is durable when Settle returns: the database runs in WAL mode with synchronous=FULL. One goroutine writes
// for all: it takes what is waiting, writes it in one transaction, answers everybody, and starts over without
// lingering. A single request pays for one disk flush; sixty-four at once share one.
//
// Holds and idempotency claims are promises and live in memory (package hold); a crash releases them, and nothing
// had been charged or answered. Therefore only one server may have the file open: [Open] locks the file, whatever
// name it is opened by, until the process ends, and refuses a second server. Other processes may administer it at
// any time: with [Config.Admin] a store reads and writes accounts and keys beside a running server, which notices
// within a second.
//
//	store, err := sqlite.Open(ctx, "diag.db", sqlite.Config{})
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//
// Files are readable only by their owner and hold no secret: of API keys and idempotency keys they hold the SHA-256.
// [Open] upgrades older layouts and refuses newer ones.
package sqlite
