// Package tlscert examines the certificates of a TLS server and what it is willing to speak: call [Check] with a host.
//
// # How a server proves who it is
//
// In the handshake the server sends its certificate, the leaf, which holds its names and its public key, and with it
// the certificates of the authorities between the leaf and a root. A client follows the signatures to a root that it
// trusts, looks whether all of them are valid today, and compares the name that it wanted to reach with those in the
// leaf (RFC 5280 section 6, RFC 9525). The most frequent faults are a leaf that has expired, a name that is not in it,
// and intermediate certificates that are not sent: browsers that have seen them elsewhere, or fetch them, do not
// notice, and all others fail.
//
// Three more parties have a say. The logs of Certificate Transparency sign a timestamp for each certificate, and
// browsers want to see two or three of them (RFC 6962). The authority says, in an OCSP response that the server may
// staple to the handshake, that the certificate was not revoked (RFC 6960, RFC 6066 section 8). The owner of a name
// says with CAA records which authorities may issue certificates for it, which matters at the next renewal (RFC 8659).
//
// How well a connection is protected depends on the version and the cipher suite, of which the server picks one that
// both sides know. As attackers may offer whatever the server still accepts, all of it is found out (package probe):
// SSLv2 and SSLv3 are broken (RFC 6176, RFC 7568), TLS 1.0 and 1.1 obsolete (RFC 8996); RFC 9325 says what to enable.
//
// # How to use it
//
//	report, err := tlscert.Check(ctx, env, tlscert.Request{Host: tlscert.MustHost("example.com")})
//
// All connections go to the one address that answered first, through the guard of the environment. Those that
// crypto/tls cannot make are understood from the bytes of the handshake. Nothing is sent but handshakes, queries to
// the DNS, and requests for the certificates of issuers that the server should have sent.
package tlscert
