// Package dane examines DANE for SMTP, which binds the certificates of mail servers to the signed DNS (RFC 6698, RFC
// 7671, RFC 7672): call [Lookup] with a domain, or [Verify] with TLSA records and a certificate chain.
//
// # How DANE works
//
// SMTP encrypts opportunistically and does not check certificates, because there is no name that a sender could rely
// on. DANE puts the certificate, or a digest of it, into the DNS, where DNSSEC authenticates it:
//
//	_25._tcp.mx1.example.com. TLSA 3 1 1 60317c58126f414056dce981…
//
// The numbers say what to compare. The usage: 3 (DANE-EE) is the server's own certificate, whatever its names and
// dates; 2 (DANE-TA) is a certificate authority that issued it, and then names and dates count; 0 and 1 also demand
// a public authority, and are unusable for SMTP. The selector: the whole certificate (0) or its public key (1),
// which a renewal may keep. The matching type: the full data (0), SHA-256 (1) or SHA-512 (2).
//
// A sender looks up the MX records, the addresses of the mail server and its TLSA records. DANE applies only if
// DNSSEC validates all three. The sender then delivers only over TLS, and only to a server that matches one of the
// records; otherwise, or if the TLSA lookup fails, it defers the message. A record not updated with a renewed
// certificate therefore costs mail, a missing signature only protection.
//
// # How to use the package
//
// [Lookup] finds the mail servers, looks up their records, connects to them and compares. [ParseRecord] parses one
// record, and [Verify] compares records with certificates; both are pure. Verify supports all usages, selectors and
// matching types, digest agility, and trust anchors that the server does not send.
package dane
