// Package watch looks at domains again and again, and tells their accounts what has changed (CONTRACT 9). Call [New] with
// a store and the Ask of an API, create watches, and let a server run what is due:
//
//	watches := watch.New(watch.Config{Store: store, Ask: api.Ask})
//	go watches.Run(ctx)
//
// # Runs
//
// A watch is a record whose Due is its next run. Any number of nodes look for watches that are due: who moves Due to the
// end of a lease has the run, asks the API's operations as the account's key for watches, and writes what came of it, the
// history, the events and the next Due in one transaction. What a node that died had claimed is due again at the end of
// the lease. While it runs, the watch holds what the run may cost of its budget.
//
// # Changes
//
// A run is compared with what is known (compare.go). Only what answered counts. Other values of a record are put to the
// authoritative servers, and told at once if these have them too. That a record, a fault or the domain itself has gone,
// or that a fault is there, is a doubt until three answers say so, at least five minutes apart, and for what can be asked
// of a resolver one of them of the authoritative servers. While there are doubts, the watch runs again after five
// minutes, and asks about those alone. What flaps is told once a day, with how often it did.
//
// The first run of a part is told nothing about: it is what later ones are compared with.
package watch
