// Package redis is a [metering.Limiter] that several servers share: call [Open] and hand the [Limiter] to
// metering.GateConfig.
//
// Each key of the API has one token bucket, a string of some 30 bytes under diag:rate:{key id}. A script takes a
// token in one round trip, in the same integer arithmetic as [metering.LocalLimiter], so that both decide alike.
// Redis forgets a bucket when it has been full for [metering.MaxSkew]. The part of the name in braces keeps a
// bucket on one node of a cluster.
//
// The instant of a request is that of the server which received it. While the clocks of servers differ by no more
// than MaxSkew, a key never gets more than its limit by the foremost of these clocks, and a server whose clock is
// behind refuses for longer by the difference. Servers whose clocks differ by more take one another's buckets for
// those of a clock that was set back, and cut them: keep the clocks in step.
//
// # When Redis is away
//
// A limiter that refused everybody, or made everybody wait, would turn the failure of a helper into one of the
// service. So a server that gets no answer within 100 ms uses buckets of its own, which begin full, until Redis
// answers again; it asks once a second, and no request waits meanwhile. However often that happens, a key never
// gets more in a window than its limit once from Redis and once from each server. Log hears when Redis goes away
// and when it is back, [Limiter.Away] counts the decisions made without it, and [Limiter.Health] says why.
package redis
