// Package billing closes months and has them paid. A [Billing] makes one invoice for each account and month
// from the ledger, exactly once, and lets a [Biller] charge what is owed:
//
//	b := billing.Billing{Store: store, Plans: plans, Biller: biller}
//	closed, err := b.Close(ctx, metering.Period{Year: 2026, Month: time.October})
//	paid, err := b.Pay(ctx)
//
// [Billing.Run] does both by itself for as long as a server runs. Any number of nodes may do so at once.
//
// A month is closed when it has been over for [Grace]. By then the lease of every request that was admitted in
// it has ended, so that none can be charged to it any more: the balance is final. A request that ran across
// midnight belongs to the month in which it was admitted, and is on that month's invoice.
//
// An invoice is made for every account that existed in the month and has a plan that is for sale or has a price,
// and for every other that was charged credits. It has the price of the plan, and the overage. The overage is
// priced per credit, exactly, and rounded once, half up, to the minor unit of the currency; a plan whose price
// is on request has overage only. Where nothing is to pay, the invoice is paid from the start.
//
// An account whose plan changed within the month pays for the largest plan that it had in it: that is the one
// with the largest allowance, and among equals with the highest price. So who moves up has the new allowance
// for the whole month, and who moves down pays no overage for what the old plan included. Overage is billed only
// to who had opted in at some time of the month.
package billing
