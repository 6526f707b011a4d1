// Package propagation reports how far a DNS change has propagated (RFC 1034): call [Check].
//
// # How it works
//
// A zone is published by its authoritative servers. All other clients query a resolver, which caches answers for the
// time to live (TTL) of the records, negative answers included (RFC 2308). After a change, each resolver serves the
// old answer until its cached copy expires; nothing is pushed. With a TTL of a day, propagation takes up to a day.
// Meanwhile the authoritative servers may disagree, because secondaries have not yet transferred the zone (RFC
// 1996), and resolvers then cache the old answer again.
//
// The check therefore queries two groups concurrently: public resolvers around the world, over UDP, TLS or
// HTTPS, and every authoritative server of the zone, found by iteration from the root. Answers are compared
// as normalized sets of records, without TTLs. The reference is what the caller expects or, by default, the
// authoritative answer; if the servers disagree, that of the newest serial number (RFC 1982). An anycast
// resolver answers from the nearest of many caches, and some zones deliberately give different answers to
// different places.
//
// # How to use it
//
//	report, err := propagation.Check(ctx, env, propagation.Request{Name: diag.MustName("www.example.com")})
//
// [Check] asks the resolvers of [Vantages]; a [Checker] asks others, such as those read by [ParseVantages].
package propagation
