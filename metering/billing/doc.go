// Package billing closes months and collects payment: call [Billing.Run] in a server, or [Billing.Close] and
// [Billing.Pay]. It makes one invoice per account and month from the ledger, exactly once, and has a [Biller] charge
// what is owed:
//
//	b := billing.Billing{Store: store, Plans: plans, Biller: biller}
//	closed, err := b.Close(ctx, metering.Period{Year: 2026, Month: time.October})
//	paid, err := b.Pay(ctx)
//
// [Billing.Run] does both for as long as a server runs, on any number of nodes at once.
//
// A month is closed [Grace] after its end. By then the lease of every request admitted in it has ended, so the
// balance is final. A request that ran across midnight is on the invoice of the month in which it was admitted.
//
// Every account that existed in the month and has a plan that is for sale or has a price gets an invoice, and so
// does every other account that was charged credits. It states the price of the plan and the overage, priced exactly
// per credit and rounded once, half up, to the minor unit of the currency; a plan priced on request has overage
// only. An invoice of 0 is paid from the start.
//
// An account that changed plans within the month pays for the largest one, by allowance and then by price: who
// upgrades has the new allowance for the whole month, and who downgrades pays no overage for what the old plan
// included. Overage is billed only to accounts that had opted in at some time of the month.
package billing
