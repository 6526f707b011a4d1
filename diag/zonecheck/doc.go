// Package zonecheck audits the DNS of a domain: its delegation (RFC 1034, RFC 1035), every name
// server on every address, the apex of the zone, and its signatures (RFC 4033 to 4035).
//
// # How a zone is served
//
// The zone above a domain, its parent, delegates it: NS records there name the servers of the domain,
// and glue, addresses beside them, lets resolvers reach servers whose names lie in the domain itself.
// The servers hold the zone. Each must answer by itself for all of it, over UDP and TCP, on IPv4 and
// IPv6, with the flag AA, and all must say the same: first the SOA record, whose serial number tells
// which version of the zone a server has. Where the parent has DS records, resolvers accept only what
// the keys that these stand for have signed.
//
// So a zone breaks in many places at once: the parent may name other servers than the zone, a server
// may have lost the zone or an old version of it, a firewall may drop what it does not know, a
// signature may expire. Resolvers cover up for most of it, until the last server fails. The audit asks
// each server directly and tells what resolvers hide.
//
// The rules follow the published test cases of Zonemaster (github.com/zonemaster/zonemaster, document
// "Test cases"); the reference of a rule names its case.
//
// # What is not known
//
// A server that does not answer is unknown and not wrong: its silence is reported, with the state
// unknown, and nothing else is held against it. If IPv6 does not work from here, that is said once, and
// the addresses of IPv6 are left alone. Replies that are forged, by another identifier or for another
// question, are counted and waited through.
//
// # How to use the package
//
// [Check] makes one audit:
//
//	report, err := zonecheck.Check(ctx, env, zonecheck.Request{Domain: domain})
//
// Everything is asked at once, with two queries in flight to each address, at most [MaxQueries] in
// all, and for [Timeout] at most. Queries go to the servers of strangers, so each is dialled through
// [diag.Env.DialAddr], where the guard refuses addresses that are not public.
//
// # How it is built
//
//	exchange.go      one query to one address, and all that may come back
//	message.go       the queries
//	parent.go        the zone above, and what it says of the domain
//	audit.go         who is asked when (address.go, hosts.go, content.go); limits.go has the bounds
//	evidence.go      what was heard, in order
//	dnssec.go        signatures, keys and proofs of absence (signature.go, denial.go)
//	rules_*.go       what to think of it
package zonecheck
