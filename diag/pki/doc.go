// Package pki describes X.509 certificates and public keys (RFC 5280) and explains why a chain is not
// trusted: call [Describe] or [DescribeKey] for a description, or [Verifier.Describe] to describe and verify
// a TLS connection.
//
// # How trust is established
//
// A server presents a certificate with its names and its public key, signed by a certificate authority,
// usually through an intermediate certificate. The server must send the intermediate too, because clients
// have only the roots. A client follows the signatures from the server's own certificate, the leaf, to a root
// that it trusts, and compares the name it wanted to reach with the names in the leaf (RFC 9525). The two
// checks fail independently and need different fixes, so they are reported separately: Trusted and
// HostnameMatch of [TLS].
//
// # How to use it
//
// [Describe] and [DescribeKey] are pure and verify nothing. A [Verifier] verifies a chain against roots, a name
// and a time. [Verifier.Describe] does both for a TLS connection. Make its handshake without verification, so
// that it completes with any certificate:
//
//	conn := tls.Client(raw, &tls.Config{ServerName: name, InsecureSkipVerify: true})
//	err := conn.HandshakeContext(ctx)
//	…
//	report := pki.Verifier{Roots: env.Roots, ServerName: name, Now: env.Now()}.Describe(conn.ConnectionState())
//	if err := report.Err(); err != nil { /* send nothing over this connection */ }
package pki
