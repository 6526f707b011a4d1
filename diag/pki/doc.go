// Package pki describes X.509 certificates and public keys (RFC 5280) in the words of the reports,
// and says in plain words why a chain of certificates is not trusted.
//
// # How trust comes about
//
// A server shows a certificate that names its hosts and its public key. A certificate authority has signed it; often a
// second certificate, the intermediate, stands between the two, and the server must send it along, for clients hold the
// roots only. A client follows the signatures from the server's own certificate, the leaf, up to a root that it trusts,
// and then compares the name that it wanted to reach with the names in the leaf (RFC 6125). Either step can fail alone,
// and the two need different remedies, so they are reported apart: [TLS].Trusted and [TLS].HostnameMatch.
//
// # How to use it
//
// [Describe] and [DescribeKey] describe one thing each; they touch nothing and trust nothing. A [Verifier] judges a
// chain against a set of roots, a name and a time. [Verifier.Describe] does both for a TLS connection, whose handshake
// must have been done with verification switched off, so that there is something to describe when it fails:
//
//	conn := tls.Client(raw, &tls.Config{ServerName: name, InsecureSkipVerify: true})
//	err := conn.HandshakeContext(ctx)
//	…
//	report := pki.Verifier{Roots: env.Roots, ServerName: name, Now: env.Now()}.Describe(conn.ConnectionState())
//	if err := report.Err(); err != nil { /* send nothing over this connection */ }
package pki
