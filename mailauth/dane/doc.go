// Package dane examines DANE for SMTP, by which a domain binds the certificates of its mail servers to the signed DNS
// (RFC 6698, RFC 7671, RFC 7672): call [Lookup] with a domain, or [Verify] with TLSA records and a chain of
// certificates.
//
// # How DANE works
//
// SMTP encrypts when both sides can, and certificates are not checked, for there is no name that a sender could rely
// on. DANE puts the certificate, or a digest of it, into the DNS, where DNSSEC vouches for it:
//
//	_25._tcp.mx1.example.com. TLSA 3 1 1 60317c58126f414056dce981…
//
// The three numbers say how to compare. The usage: 3 (DANE-EE) means the certificate of the server itself, whatever
// names and dates are in it; 2 (DANE-TA) a certificate authority that issued it, and then names and dates count; 0 and
// 1 demand a public authority as well, and have no effect for SMTP. The selector: the whole certificate (0) or its
// public key (1), which a renewal may keep. The matching type: all data (0), SHA-256 (1) or SHA-512 (2).
//
// A sender asks for the MX records, for the addresses of the mail server and for its TLSA records. Only if DNSSEC
// proves all three does DANE apply. Then the sender delivers over TLS only, and to a server that one of the records
// matches; else it keeps the message and tries again, as it does if the TLSA lookup fails. So a record that was
// forgotten at the renewal of a certificate costs mail, and a missing signature costs protection only.
//
// # How to use the package
//
// [Lookup] finds the mail servers, asks for all of their records, connects to them and compares. [ParseRecord] reads
// one record, and [Verify] compares records with certificates; both touch nothing. Verify knows all usages, selectors
// and matching types, digest agility, and trust anchors that the server does not send.
package dane
