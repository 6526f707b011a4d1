// Package domaincheck examines everything that mail of a domain depends on: call [Check] with a domain.
//
// # What is examined
//
// Nine protocols, in three pillars. Sending: which hosts may send for the domain (SPF, RFC 7208), with which keys
// mail is signed (DKIM, RFC 6376), what receivers do with mail that passes neither (DMARC, RFC 9989), and which logo
// they show (BIMI). Receiving: where mail goes (MX, RFC 5321), whether it is protected against active attackers on
// the way (MTA-STS, RFC 8461, and DANE, RFC 7672), and whether the domain learns of failures (TLS-RPT, RFC 8460); on
// request each mail server is connected to. Integrity: whether the records can be forged in transit (DNSSEC, RFC
// 4035).
//
// Each part is the report of its own package. All run concurrently and share a cache, so the whole takes about as
// long as its longest part and no query is sent twice. Package compose joins them into one verdict.
//
// # Requirements of large receivers
//
// Google, Yahoo and Microsoft publish requirements for domains that send 5,000 messages a day or more. Those visible
// in the DNS are checked; others, such as the complaint rate, are listed and not claimed.
package domaincheck
