// Package domaincheck examines everything that mail of a domain depends on: call [Check] with a domain.
//
// # What is examined
//
// Nine protocols, in three pillars. Sending: which hosts may send for the domain (SPF, RFC 7208), with which keys mail is
// signed (DKIM, RFC 6376), what receivers do with mail that passes neither (DMARC, RFC 9989), and which logo they show
// (BIMI). Receiving: where mail goes (MX, RFC 5321), whether its way there is encrypted against an active attacker
// (MTA-STS, RFC 8461, and DANE, RFC 7672), and whether the domain learns of failures (TLS-RPT, RFC 8460); on request each
// mail server is connected to. Integrity: whether the records can be forged on their way (DNSSEC, RFC 4035).
//
// Each part is the report of its own package. All run at once and share a cache, so that the whole lasts about as long as
// its longest part, and no question is asked twice. How they become one verdict says package compose.
//
// # Requirements of large receivers
//
// Google, Yahoo and Microsoft publish what they ask of domains that send 5,000 messages a day or more. What of that can
// be seen in the DNS is compared; what cannot, such as the rate of complaints, is listed and not claimed.
package domaincheck
