// Package hold keeps the promises of a metering store with one server: call [New], then [Book.Begin] and
// [Book.Settle]. A [Book] knows what each account has used, which credits are held for requests in progress, and
// which idempotency keys are claimed.
//
// A promise needs no disk until it is settled: it is a lease in memory, and a crash releases all of them, rightly,
// because nothing had been charged or answered. Settled charges belong to the store that uses this package; it gives
// the [Book] a [Source] of settled balances and kept replies.
//
// The store calls [Book.Begin] and [Book.Cancel] as they are. Its Settle has three steps: take the promise out of
// its lease with [Book.Settle], make the charge durable, then call [Settling.Done], or [Settling.Undo] on failure.
// In between the credits stay held, so used plus held never exceeds the ceiling of the plan.
//
// Locks are per account and held for some hundred nanoseconds. A store whose servers share promises keeps them
// itself, and uses only the types of this package.
package hold
