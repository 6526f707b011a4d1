// Package tlscert examines a TLS server's certificates, protocol versions and cipher suites: call [Check]
// with a host.
//
// # How a server proves its identity
//
// In the handshake the server sends its certificate, the leaf, with its names and public key, and the
// intermediate certificates between leaf and root. A client follows the signatures to a root that it trusts,
// checks that all certificates are currently valid, and compares the name it wanted to reach with those in
// the leaf (RFC 5280 section 6, RFC 9525). The most frequent faults are an expired leaf, a missing name, and
// missing intermediates, which browsers may have cached or fetch, while other clients fail.
//
// Three other parties are involved. Certificate Transparency logs sign a timestamp for each certificate, and
// browsers require two or three of them (RFC 6962). The authority confirms that the certificate is not
// revoked, in an OCSP response that the server may staple to the handshake (RFC 6960, RFC 6066 section 8),
// and in its OCSP responders and revocation lists (RFC 5280 section 5), which are queried too. The owner of a
// name lists in CAA records which authorities may issue certificates for it, which matters at the next
// renewal (RFC 8659).
//
// The protection of a connection depends on the protocol version and the cipher suite, which the server picks
// from those that the client offers. Attackers may exploit whatever the server still accepts, so all versions
// and cipher suites are enumerated. SSLv2 and SSLv3 are broken (RFC 6176, RFC 7568), TLS 1.0 and 1.1 obsolete
// (RFC 8996); RFC 9325 recommends what to enable.
//
// The report also lists for common families of clients whether they can connect.
//
// # How to use it
//
//	report, err := tlscert.Check(ctx, env, tlscert.Request{Host: tlscert.MustHost("example.com")})
//
// A host may have several addresses, and the server at one of them a different certificate. Each address is
// examined, at most eight; the rules judge each certificate that is presented, and the worst decides.
// Versions and cipher suites are enumerated at the address that answers first, and at others that differ. All
// connections go through the guard of the environment. Check sends only handshakes, DNS queries, and requests
// for missing issuer certificates, OCSP responses and revocation lists.
package tlscert
