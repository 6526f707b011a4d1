// Package zonecheck audits the DNS of a domain: its delegation (RFC 1034, RFC 1035), every name
// server on every address, the apex of the zone, and its signatures (RFC 4033 to 4035).
//
// # How a zone is served
//
// The parent zone delegates a domain: NS records there name the servers of the domain, and glue, addresses beside them,
// lets resolvers reach servers whose names lie in the domain itself. The servers hold the zone. Each must answer by
// itself for all of it, over UDP and TCP, on IPv4 and IPv6, with the flag AA, and all must give the same answers: first
// the SOA record, whose serial number tells which version of the zone a server has. Where the parent zone has DS
// records, resolvers accept only what the keys that match these have signed.
//
// So a zone breaks in many places at once: the delegation may name other servers than the zone, a server
// may have lost the zone or have an old version of it, a firewall may drop what it does not know, a
// signature may expire. Resolvers cover up for most of it, until the last server fails. The audit asks
// each server directly and tells what resolvers hide.
//
// The rules follow the published test cases of Zonemaster (github.com/zonemaster/zonemaster, document
// "Test cases"); the reference of a rule names its case.
//
// # What is not known
//
// A rule without evidence does not run: nothing is praised or scored that no server answered for. What could not be
// learned is a finding of its own, such as zone.records.unknown, and leaves the score out. A server that does not
// answer is at fault where other servers can be reached over the same version of IP; where none can, nothing is held
// against it. If no server gives an answer that resolvers can use, the domain is unreachable, and that is critical.
// Forged replies, with another identifier or for another question, are counted and passed over.
//
// # How to use the package
//
// [Check] makes one audit:
//
//	report, err := zonecheck.Check(ctx, env, zonecheck.Request{Domain: domain})
//
// # How it is built
//
// Package survey asks, and knows no rule. Here the answers become evidence, and rules judge it, each file by those before:
//
//	sources.go, category.go     what rules read, and what they count for
//	cut.go, record.go           the delegation, and records as text
//	answers.go                  what was answered, and what follows from it for all subjects
//	signature.go, dnssec.go     what the signatures are worth
//	evidence.go, unanswered.go  both together, the conditions of rules, and what is not known
//	delegation.go               whether servers can be reached, and glue
//	failure.go, trouble.go      what findings say
//	rules_*.go                  the rules, a file for each subject, and rules.go the table of all; texts.go their sum
//	facts.go                    what is worth knowing and no finding
//	report.go, describe.go      the parts of the report, and how they are written
package zonecheck
