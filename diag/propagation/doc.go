// Package propagation finds out how far a change in the DNS (RFC 1034) has got around the world.
//
// # How it works
//
// A zone is published by its authoritative servers. Everybody else asks a resolver, which keeps what it
// heard for the time to live (TTL) of the records, also that a name or a type does not exist (RFC 2308).
// After a change, each resolver goes on with the old answer until its copy has run out; nothing is sent
// around, so "propagation" is the running out of copies. Where the TTL was a day, it takes up to a day.
// Besides, the authoritative servers may disagree among themselves while secondary servers have not yet
// fetched the zone anew (RFC 1996), and then resolvers pick up the old answer again.
//
// So the check asks two groups at once: public resolvers around the world, over UDP, TLS or HTTPS; and,
// found by a walk from the root servers, every authoritative server of the zone. Answers are compared
// as sets of records in a normal form, without their TTLs. What resolvers should say is what the caller
// expects, or else what the authoritative servers say; among several versions the newest, by the serial
// number of the zone (RFC 1982), counts. Resolvers of anycast networks have many copies, and the nearest
// answers; and some zones give different answers to different places on purpose.
//
// # How to use it
//
//	report, err := propagation.Check(ctx, env, propagation.Request{Name: diag.MustName("www.example.com")})
//
// [Check] asks the resolvers of [Vantages]. A [Checker] asks others, as [ParseVantages] reads them from a file.
package propagation
