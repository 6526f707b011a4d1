// Package zonecheck audits the DNS of a domain: call [Check]. It examines the delegation (RFC 1034, RFC
// 1035), every name server on every address, the zone apex, and the signatures (RFC 4033 to 4035).
//
// # How a zone is served
//
// The parent zone delegates a domain: its NS records name the domain's name servers, and its glue records
// give the addresses of those with names inside the domain. Each server must answer authoritatively (AA) for
// the whole zone, over UDP and TCP, on IPv4 and IPv6, and all must give the same answers, above all the same
// SOA record, whose serial number is the version of the zone. If the parent has DS records, resolvers accept
// only answers signed by the keys that match them.
//
// A zone can therefore fail in many places: the delegation names other servers than the zone does, a server has lost
// the zone or serves a stale version, a firewall drops what it does not know, a signature expires. Resolvers mask
// most of that until the last server fails. The audit queries each server directly and reports what resolvers hide.
//
// The rules follow the test cases published by Zonemaster (github.com/zonemaster/zonemaster); the reference of a
// rule names its case.
//
// # Every type at every server
//
// Each server is queried for every relevant type at the apex, and the servers of the parent zone for DS. Each
// outcome is in the report and is judged: NXDOMAIN denies the whole name (RFC 8020), whatever the type; an
// error, a timeout or a truncated answer is a fault of that server for that type (RFC 8906), for which other
// servers compensate as long as one does answer. The same answer of the same servers for several types gives
// one finding.
//
// # What is not known
//
// A rule without evidence does not run and does not affect the score. What could not be determined is a
// finding of its own, such as zone.records.unknown, and removes the score. A server that does not answer is
// at fault only if others can be reached over the same IP version. If no server gives a usable answer, the
// domain is unreachable, which is critical. Forged replies, with a wrong ID or question, are counted and
// ignored.
//
// # How to use the package
//
// [Check] runs one audit:
//
//	report, err := zonecheck.Check(ctx, env, zonecheck.Request{Domain: domain})
package zonecheck

// How it is built:
//
// Package survey asks and has no rules. Here answers become evidence, which rules judge; each file uses only those
// above it:
//
//	delegation.go     the delegation as the parent zone has it, whether servers can be reached, and glue
//	dnssec.go         what the signatures are worth
//	matrix.go         what each server answers for each type
//	evidence.go       all evidence, the conditions of rules, and unknowns; trouble.go: texts of findings
//	rules_*.go        the rules, a file for each subject, and rules.go the table of all
//	scope.go          what was examined, and what was not
//	zonecheck.go      the report, and facts that are not findings; describe.go: its parts
