// Package sqlite keeps hosted SPF in a SQLite file, which may be that of the ledger: call [Open]. Its tables are its
// own, and are versioned separately.
//
// Changes are durable when a call returns: the database runs in WAL mode with synchronous=FULL. SQLite lets one
// transaction write at a time, in whichever process; transactions here are short and wait for their turn as long as
// their context allows, so a busy ledger in the same file causes neither failures nor noticeable delays.
//
// Any number of processes may have the file open. Claims are rows with a fence and a deadline: a process that dies
// while it resolves a profile blocks it only until the deadline, and its late writes are refused.
//
//	store, err := sqlite.Open(ctx, "diag.db", sqlite.Config{})
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//
// No secret is stored, and the file is readable only by its owner. [Open] upgrades older layouts and refuses newer
// ones.
package sqlite
