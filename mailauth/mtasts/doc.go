// Package mtasts examines MTA-STS, by which a domain asks senders to deliver over authenticated TLS only (RFC 8461):
// call [Lookup] with a domain, or [ParseRecord] and [ParsePolicy] with texts.
//
// # How MTA-STS works
//
// SMTP encrypts when both sides can, and falls back to plain text when an active attacker suppresses STARTTLS. A
// domain prevents that with two publications. A TXT record at _mta-sts.<domain> announces a policy and identifies its
// version by an id:
//
//	_mta-sts.example.com. TXT "v=STSv1; id=20260101T000000;"
//
// The policy itself is a text file at https://mta-sts.<domain>/.well-known/mta-sts.txt:
//
//	version: STSv1
//	mode: enforce
//	mx: mx1.example.com
//	mx: *.mail.example.com
//	max_age: 1209600
//
// The web server's certificate authenticates the policy, since DNS answers can be forged. A sender fetches the
// policy, caches it for max_age seconds, and in mode enforce delivers only to mail servers that the policy lists and
// whose certificates are valid for their names. In mode testing it delivers anyway and reports failures (TLSRPT, RFC
// 8460); mode none withdraws a policy. A fault in the record or on the web server therefore costs protection, a
// fault in the list of mail servers costs mail.
//
// # How to use the package
//
// [Lookup] fetches both publications, looks up the mail servers at the same time, and reports faults. [ParseRecord]
// and [ParsePolicy] are pure.
package mtasts
