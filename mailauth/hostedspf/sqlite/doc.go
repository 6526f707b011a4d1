// Package sqlite keeps hosted SPF in a SQLite file, which may be that of the ledger: it has tables of its
// own, and a version of their layout of its own.
//
// What a call has changed is durable when it returns: the database runs in WAL mode with synchronous=FULL,
// so that a commit waits for the disk. SQLite lets one transaction write at a time, whichever process it
// belongs to. Transactions are short here, and wait for their turn with the patience of their context,
// so that a busy ledger in the same file neither fails nor waits noticeably.
//
// Any number of processes may have the file open at once. Claims are rows with a fence and a deadline: who dies while
// it resolves a profile blocks it no longer than that, and what it might still say afterwards is refused.
//
//	store, err := sqlite.Open(ctx, "diag.db", sqlite.Config{})
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//
// No secret reaches the file, which is readable by its owner only. [Open] brings older layouts up to date
// and refuses newer ones.
package sqlite
