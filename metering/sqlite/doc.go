// Package sqlite is the default metering store: one SQLite file, one server, no service beside it.
//
// A charge is durable when Settle returns. The database runs in WAL mode with synchronous=FULL, so that a commit waits
// for the disk; what makes it fast is that one goroutine writes for all: it takes what is waiting, writes it in one
// transaction, answers everybody, and takes what has come meanwhile. It never lingers for more. One request alone pays
// for one flush of the disk, sixty-four at once share one.
//
// Holds and claims on idempotency keys are promises and live in memory (package hold); a crash
// releases them, and nothing had been charged or answered. Therefore exactly one server may have the
// file open: [Open] takes a lock on the file, whatever name it is opened by, that dies with the process,
// and refuses a second. Administration from another process is welcome at any time: with [Config.Admin]
// a store reads and writes accounts and keys beside a running server, which notices within a second.
//
//	store, err := sqlite.Open(ctx, "diag.db", sqlite.Config{})
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//
// The files are readable by their owner only. No secret reaches them: of an API key they hold the SHA-256, of an
// idempotency key likewise. The layout is versioned; [Open] brings older files up to date, and refuses newer ones.
package sqlite
