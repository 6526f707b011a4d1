// Package tlscert examines a TLS server's certificates, protocol versions and cipher suites: call [Check] with a
// host.
//
// # How a server proves who it is
//
// In the handshake the server sends its certificate, the leaf, with its names and public key, and the intermediate
// certificates between leaf and root. A client follows the signatures to a root that it trusts, checks that all are
// valid today, and compares the name it wanted to reach with those in the leaf (RFC 5280 section 6, RFC 9525). The
// most frequent faults are an expired leaf, a missing name, and missing intermediates: browsers that have cached or
// fetch them do not notice, and all other clients fail.
//
// Three more parties have a say. Certificate Transparency logs sign a timestamp for each certificate, and browsers
// require two or three of them (RFC 6962). The authority confirms, in an OCSP response that the server may staple to
// the handshake, that the certificate is not revoked (RFC 6960, RFC 6066 section 8); its OCSP responders and revocation
// lists (RFC 5280 section 5) are asked too. The owner of a name lists in
// CAA records which authorities may issue for it, which matters at the next renewal (RFC 8659).
//
// The protection of a connection depends on the version and the cipher suite, of which the server picks one that
// both sides support. Since attackers may offer anything the server still accepts, all of it is enumerated (package
// probe): SSLv2 and SSLv3 are broken (RFC 6176, RFC 7568), TLS 1.0 and 1.1 obsolete (RFC 8996); RFC 9325 says what
// to enable.
//
// Whether clients connect follows from all that together. Families of them are evaluated (package clients), which also
// shows what a server, or a box in front of it, cannot take in a ClientHello.
//
// # How to use it
//
//	report, err := tlscert.Check(ctx, env, tlscert.Request{Host: tlscert.MustHost("example.com")})
//
// A host may have several addresses, and a server at one of them another certificate than the rest. Each address is
// examined, at most eight; the rules judge each certificate that is presented, and the worst decides. Versions and
// cipher suites are enumerated at the address that answered first, and where another one differs. All connections go
// through the guard of the environment. Handshakes that crypto/tls cannot make are parsed from their bytes. Nothing is
// sent but handshakes, DNS queries, and requests for missing issuer certificates, OCSP responses and revocation lists.
package tlscert
