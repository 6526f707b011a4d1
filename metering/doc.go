// Package metering keeps accounts, API keys and credits, and decides which requests a service admits and charges: call
// [NewGate], then [Gate.Admit] for each request. It provides API secrets, a token bucket per key and per address (the
// generic cell rate algorithm), monthly quotas that cannot be oversold, and requests that may be repeated without
// being charged twice (the Idempotency-Key field).
//
// # How a request is metered
//
// A client presents a secret, "svc_live_" or "svc_test_" and 36 characters, of which the service knows only the
// SHA-256. [Gate.Admit] looks up the key, refuses it if it is revoked, expired or used from an address that it does
// not allow, and takes a token from its bucket. A bucket holds a minute's worth of requests and refills
// continuously, so its whole state is the instant at which it will be full again. [Caller.Require] then checks the
// scope.
//
// Credits are charged through the [Ledger] in two steps. Begin holds the price; it refuses if credits used, credits
// held by other requests and this price exceed what the account may use, so concurrent requests cannot oversell it.
// The work is then done. Settle charges it: the charge, its ledger row and the reply kept for replays are one
// durable transaction. If the work fails, Cancel leaves no trace. A hold whose owner dies expires. Credits belong to
// the account and to the UTC month of Begin.
//
// A client that lost the reply repeats the request with the same Idempotency-Key, and Begin grants a [Replay] of the
// kept reply, free of charge. [ParseIdempotencyKey] reads the field, and [Fingerprint] detects a different request
// under the same key.
//
// # How to use it
//
// Open a store (metering/sqlite keeps a file, metering/postgres a database that servers share, metering/memory
// nothing), create accounts and keys with [Admin], start one [Gate] on the store, and put an [IPLimiter] before it.
// Money is counted in whole credits and millionths of a cent, never in floating point. Every function that depends
// on time takes the instant or a clock as an argument.
package metering
