// Package billing closes months and collects payment: call [Billing.Run] in a server, or [Billing.Close] and
// [Billing.Pay]. It makes one invoice per account and month from the ledger, exactly once, and has a [Biller] charge
// what is owed:
//
//	b := billing.Billing{Store: store, Plans: prices, Biller: biller}
//	closed, err := b.Close(ctx, metering.Period{Year: 2026, Month: time.October})
//	paid, err := b.Pay(ctx)
//
// [Billing.Run] does both for as long as a server runs, on any number of nodes at once.
//
// A month is closed [Grace] after its end. By then the lease of every request admitted in it has ended, so the
// balance is final. A request that ran across midnight is on the invoice of the month in which it was admitted.
//
// Every account that existed in the month and held a plan that is for sale or has a price gets an invoice, and so does
// every other account that was charged credits. The bill matches what was shown: the overage of each charge, at the
// rate of its admission, exact and rounded once, half up. A day costs the most expensive plan held from the month's
// beginning to the end of that day, divided by the days of the month; a plan without a price costs what was agreed,
// and until something is, the invoice stays a [Draft].
//
// An invoice is a draft for an hour and then final: it is [Open], [Pending] while a payment takes its time, and in the
// end [Paid] or [Failed]. An error in it is corrected by a credit note, or by an invoice that replaces a [Void] one.
// Each change is a [Note] with who, when and why, written in one transaction with the invoice; the notes of an account
// are a hash chain, so that [Billing.Audit] detects any change from outside.
package billing
