// Package dnssec validates answers of the DNS with DNSSEC (RFC 4033 to 4035), and shows every link of
// the chain of trust. Call [Check] for a report on a domain, with what to do; ask a [Validator] for records
// to rely on; judge the answers of a zone's servers by keys at hand with a [Checker].
//
// # The protocol in short
//
// A zone that is signed publishes its public keys (DNSKEY), and a signature (RRSIG) over each set of
// records that it has, valid from one moment until another. Whether the keys are the right ones says
// the parent zone: it holds a digest of one of them (DS), signed by its own keys. So a chain leads from
// the root, whose keys everybody knows (the trust anchor), to the answer, two links for each zone: the
// DS record vouches for a key, and that key for all keys of the zone.
//
// That something is not there is signed too. A zone sorts its names, and for each gap between two of them has a record
// that says so (NSEC), or the same for hashes of the names (NSEC3, RFC 5155), which is harder to read out. In this way
// it is proven that a name does not exist, that it has no records of a type, that nothing stands closer to a name than
// the wildcard that was used for it, and, most important, that a delegation has no DS record: only then may the zone
// below go without signatures. What is not signed and not proven to be so is taken for forged.
//
// The outcome is a word: secure, proven from end to end; insecure, proven that a zone on the way is
// not signed, or not in a way that can be checked; bogus, to be signed and not as it should be; and
// indeterminate, if the servers did not say or no trust anchor leads to the name.
//
// # How to use it
//
//	report, err := dnssec.Check(ctx, env, dnssec.Request{Domain: diag.MustName("example.com")})
//
// describes the whole chain. A diagnostic that needs records it can rely on asks a [Validator]:
//
//	v := dnssec.Validator{Env: env}
//	result, err := v.Validate(ctx, "_25._tcp.mx.example.com.", dns.TypeTLSA)
//	if result.Status == diag.Secure { … result.Records … }
//
// The resolver of the environment is asked for everything and trusted with nothing. It need not
// validate; it must only pass on what belongs to DNSSEC.
//
// What does not hold there need not be the fault of the domain, so [Check] asks the authoritative servers
// before it says so: a resolver that strips DNSSEC, fails, or has old records is reported as that.
//
// # How it is built
//
//	dnssec.go       the report: what the resolver says, else the servers (rules*.go, texts.go judge it)
//	validator.go    what is asked of the package by other code; answer.go: aliases, and what an answer means
//	chain.go        the way down from the trust anchor (anchor.go) from delegation to delegation (ds.go)
//	fetch.go        the questions: all that can be foreseen at once
//	checker.go      the core that asks nothing, for others
//	engine.go       the core: its work and its limits
//	signature.go    which signatures count, and which are right (key.go, canonical.go, memo.go, lifetime.go)
//	denial.go       what NSEC (nsec.go) and NSEC3 records (nsec3.go) prove
//	message.go      a reply, taken apart; name.go: names in canonical form
//
// # Limits
//
// An attacker can make a zone that takes hours to validate honestly (KeyTrap, CVE-2023-50387 and CVE-2023-50868). Here
// one answer gets at most 16 checks of signatures, all answers together at most 8 that fail, and a report as many again
// for signatures that decide nothing; 256 digests for the keys of a zone; as many hashes as 8 with 50 iterations,
// beyond which NSEC3 counts for nothing (RFC 9276); 11 aliases and 64 questions for a validation. Times are compared
// with the clock of the environment, to the second.
package dnssec
