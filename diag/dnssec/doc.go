// Package dnssec validates DNS answers with DNSSEC (RFC 4033 to 4035) and shows every link of the chain of
// trust. Call [Check] for a report on a domain, [Validator.Validate] to look up records that must be
// authentic, or use a [Checker] to validate answers with keys that you already have.
//
// # The protocol in short
//
// A signed zone publishes its public keys (DNSKEY) and, for each of its record sets, a signature (RRSIG) with
// a validity period. The parent zone authenticates the keys: it publishes a digest of one of them (DS),
// signed with its own key. A chain of trust thus leads from the root, the key of which is configured (the
// trust anchor), to the answer, with two links per zone: the DS record authenticates a key, and that key
// signs the DNSKEY set of the zone.
//
// Absence is signed, too. A zone sorts its names and publishes a record for each gap between two of them (NSEC), or
// between hashes of names (NSEC3, RFC 5155), which makes the zone harder to enumerate. These records prove that a
// name does not exist, that it has no records of a type, that there is no closer match than the wildcard used, and,
// most important, that a delegation has no DS record: only then may the child zone be unsigned. Anything neither
// signed nor proven to be unsigned is treated as forged.
//
// The outcome is one of four. Secure: validated from end to end. Insecure: a zone on the way is provably unsigned,
// or signed only in ways that cannot be checked. Bogus: required signatures are missing or invalid. Indeterminate:
// the servers did not answer, or no trust anchor covers the name.
//
// # How to use it
//
//	report, err := dnssec.Check(ctx, env, dnssec.Request{Domain: diag.MustName("example.com")})
//
// reports the whole chain. To look up records that must be authentic, use a [Validator]:
//
//	v := dnssec.Validator{Env: env}
//	result, err := v.Validate(ctx, "_25._tcp.mx.example.com.", dns.TypeTLSA)
//	if result.Status == diag.Secure { … result.Records … }
//
// All queries go to the resolver of the environment, which is not trusted. It need not validate, but must
// return DNSSEC records.
//
// Because a failure may be the fault of that resolver, Check asks the authoritative servers before it reports
// one. A resolver that strips DNSSEC records, fails, or has stale records is reported as such.
//
// # Limits
//
// An attacker can build a zone that takes hours to validate (KeyTrap, CVE-2023-50387 and CVE-2023-50868). Limits: 16
// signature checks per answer; 8 failed checks over all answers, and as many again in a report for signatures that
// decide nothing; 256 DS digests for the keys of a zone; the work of 8 NSEC3 hashes with 50 iterations, above which
// NSEC3 is ignored (RFC 9276); 11 aliases and 64 queries per validation. Times are compared with the clock of the
// environment, to the second.
package dnssec

// How it is built:
//
//	dnssec.go     the report: what the resolver says, else the servers (rules*.go judge it)
//	validator.go  what other code asks of the package, and its limits; answer.go: aliases, and what an answer means
//	chain.go      the way down from the trust anchor (anchor.go) from delegation to delegation
//	fetch.go      the queries: all predictable ones concurrently
//	signature.go  which signatures count, and which are right (key.go, name.go)
//	denial.go     what NSEC (nsec.go) and NSEC3 records (nsec3.go) prove
