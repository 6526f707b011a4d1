// Package hold keeps the promises of a metering store that has one server: what each account has
// used, which credits are held for requests under way, and which idempotency keys are claimed.
//
// A promise is worth nothing until it is settled, so it needs no disk: it lives in memory, is a
// lease that ends by itself, and a crash releases all of them, rightly, because nothing had been
// charged and nothing answered. What is settled belongs to the store that uses this package; it
// hands the [Book] a [Source] from which settled balances and kept replies are read.
//
// The store calls [Book.Begin] and [Book.Cancel] as they are. Its Settle is in three steps: take the
// promise out of reach of the lease with [Book.Settle], make the charge durable, and then say so
// with [Settling.Done], or [Settling.Undo] when it failed. Between the two the credits stay held, so
// that used and held together never pass the ceiling of the plan at any instant.
//
// Locks are one per account, held for some hundred nanoseconds. A store whose promises are shared by
// several servers keeps them itself, and uses only the words of this package.
package hold
