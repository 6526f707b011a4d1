// Package pki describes X.509 certificates and public keys (RFC 5280) and explains why a chain is not trusted: call
// [Describe] or [DescribeKey] for a description, [Verifier.Describe] for a TLS connection with its verdict.
//
// # How trust is established
//
// A server presents a certificate that holds its names and its public key, signed by a certificate authority,
// usually through an intermediate certificate. The server must send the intermediate, too, because clients hold only
// the roots. A client follows the signatures from the server's own certificate, the leaf, to a root that it trusts,
// and compares the name it wanted to reach with the names in the leaf (RFC 9525). The two checks fail independently
// and need different remedies, so they are reported apart: [TLS].Trusted and [TLS].HostnameMatch.
//
// # How to use it
//
// [Describe] and [DescribeKey] are pure and verify nothing. A [Verifier] judges a chain against roots, a name and a
// time. [Verifier.Describe] does both for a TLS connection whose handshake was made without verification, so that
// there is something to describe when verification fails:
//
//	conn := tls.Client(raw, &tls.Config{ServerName: name, InsecureSkipVerify: true})
//	err := conn.HandshakeContext(ctx)
//	…
//	report := pki.Verifier{Roots: env.Roots, ServerName: name, Now: env.Now()}.Describe(conn.ConnectionState())
//	if err := report.Err(); err != nil { /* send nothing over this connection */ }
package pki
