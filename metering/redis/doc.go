// Package redis is a [metering.Limiter] that several servers share: call [Open] and hand the [Limiter] to
// metering.GateConfig.
//
// Each API key has one token bucket, a string of some 30 bytes under diag:rate:{key id}. A script takes a token in
// one round trip, in the same integer arithmetic as [metering.LocalLimiter], so both decide alike. A bucket expires
// when it has been full for [metering.MaxSkew]. The braces keep a bucket on one node of a cluster.
//
// The time of a request is that of the server that received it. While server clocks differ by no more than MaxSkew, a
// key never gets more than its limit by the fastest clock, and a slow server refuses for longer by the difference.
// Servers whose clocks differ by more treat each other's buckets as those of a clock that was set back, and cut them:
// keep clocks synchronized.
//
// # When Redis is unavailable
//
// A limiter that refused or delayed every request would turn a failure of Redis into an outage. A server that gets no
// answer within 100 ms therefore uses local buckets, which start full, until Redis answers again; it retries once a
// second, and no request waits meanwhile. However often that happens, a key never gets more in a window than its limit
// once from Redis and once from each server. Log records when Redis fails and recovers, [Limiter.Away] counts
// decisions made without it, and [Limiter.Health] returns the reason.
package redis
