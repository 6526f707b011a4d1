// Package mtasts examines MTA-STS, by which a domain asks the senders of mail to deliver over
// authenticated TLS only (RFC 8461): call [Lookup] with a domain, or [ParseRecord] and [ParsePolicy] with texts.
//
// # How MTA-STS works
//
// SMTP encrypts when both sides can, and falls back to plain text when an attacker in between makes
// it look as if they could not. A domain that does not want that publishes two things. A TXT record at
// _mta-sts.<domain> says that there is a policy and, by its id, when it was last changed:
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
// The certificate of that web server is what vouches for all of it, for the DNS can be forged. A sender fetches the
// policy, keeps it for max_age seconds, and in the mode enforce delivers only to mail servers that the policy lists and
// whose certificates are valid for their names. In the mode testing it delivers anyway, and reports what would have
// failed (TLSRPT, RFC 8460); none takes a policy back. So a mistake in the record or on the web server costs
// protection, while a mistake in the list of mail servers costs mail.
//
// # How to use the package
//
// [Lookup] fetches both publications and the mail servers at once and reports what is wrong with
// them. [ParseRecord] and [ParsePolicy] read one text each, and touch nothing.
package mtasts
