// Package watch checks domains periodically, and notifies their accounts of what has changed (CONTRACT 9). Call [New]
// with a store and the Ask of an API, create watches, and let a server run what is due:
//
//	watches := watch.New(watch.Config{Store: store, Ask: api.Ask})
//	go watches.Run(ctx)
//
// # Runs
//
// A watch is a record whose Due is its next run. Any number of nodes poll for watches that are due: the one that
// moves Due to the end of a lease owns the run, calls the API's operations as the account's key for watches, and
// writes the result, its digest, the history, the events and the next Due in one transaction. A run of a node that
// died is due again at the end of the lease. While it runs, the watch holds what the run may cost of its budget.
//
// # Changes
//
// A run is compared with the known state (compare.go). Only answers count, and the first complete answer of a part
// sets its known state. A difference is a suspicion, and reported when enough answers confirm it. For other values of
// a record these are two, of which the authoritative servers give the second immediately. A new fault, and the
// disappearance of a record, a fault or the domain itself, take three, at least five minutes apart, and for what can
// be asked of a resolver one of them of the authoritative servers. While anything is suspected, the watch runs again
// after five minutes, for that alone. A state that keeps changing is reported once a day, with the number of changes.
package watch
