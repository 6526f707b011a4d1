// Package watch looks at domains again and again, and tells their accounts what has changed (CONTRACT 9). Call [New]
// with a store and the Ask of an API, create watches, and let a server run what is due:
//
//	watches := watch.New(watch.Config{Store: store, Ask: api.Ask})
//	go watches.Run(ctx)
//
// # Runs
//
// A watch is a record whose Due is its next run. Any number of nodes look for watches that are due: who moves Due to
// the end of a lease has the run, asks the API's operations as the account's key for watches, and writes what came of
// it, the history, the events and the next Due in one transaction. What a node that died had claimed is due again at
// the end of the lease. While it runs, the watch holds what the run may cost of its budget.
//
// # Changes
//
// A run is compared with what is known (compare.go). Only what answered counts, and what has never answered in full is
// first knowledge. A difference is a suspicion, and told when enough answers say so. For other values of a record these
// are two, of which the authoritative servers give the second at once. That a record, a fault or the domain itself has
// gone, or that a fault is there, takes three, at least five minutes apart, and for what can be asked of a resolver one
// of them of the authoritative servers. While anything is suspected, the watch runs again after five minutes, and asks
// about that alone. What flaps is told once a day, with how often it did.
package watch
