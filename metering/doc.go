// Package metering keeps accounts, API keys and credits, and decides who may use a service and how much of it: API
// secrets, a token bucket per key (the generic cell rate algorithm) and per address, monthly quotas that cannot be
// oversold, and requests that may be repeated without being charged twice (the Idempotency-Key field).
//
// # How a request is metered
//
// A client presents a secret, "svc_live_" or "svc_test_" and 36 characters. The service knows only its SHA-256.
// [Gate.Admit] looks the key up, refuses it if it is revoked, expired or used from an address that it does not allow,
// and takes one token from its bucket: a bucket holds a minute's worth of requests and is refilled continuously, so
// that its whole state is one instant, the one at which it will be full again. [Caller.Require] then asks for a scope.
//
// What costs credits goes through the [Ledger] in two steps. Begin holds the price: it refuses when what is used, what
// other requests hold and this price together exceed what the account may use, so that no number of concurrent requests
// can oversell it. The work is then done. Settle charges it: the charge, its row in the ledger and the reply that is
// kept for repetitions are one durable transaction. If the work fails, Cancel leaves no trace. A hold whose owner fell
// silent lapses by itself. Credits belong to the account and to the UTC month of Begin.
//
// A client that did not hear the answer sends the request again with the same Idempotency-Key. Begin
// then grants a [Replay] of the kept reply, which is free. [ParseIdempotencyKey] reads the field, and
// [Fingerprint] tells a repetition from another request under the same key.
//
// # How to use it
//
// Open a store (metering/sqlite keeps a file, metering/memory nothing beyond the process), create
// accounts and keys with [Admin], start one [Gate] on the store, and put an [IPLimiter] before it.
// Money is counted in whole credits and millionths of a cent, never in floating point. Every
// function that depends on time takes the instant as an argument or a clock.
package metering
