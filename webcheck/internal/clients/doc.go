// Package clients says which clients connect to a TLS server: call [Examine] with the result of a scan of package
// probe.
//
// # Why a client fails
//
// Client and server agree on a protocol version, a cipher suite, a group for the key exchange and a signature algorithm
// that fits the server's key (RFC 8446 section 4.1.1, RFC 5246 section 7.4.1). Where they have nothing in common the
// handshake fails: a change of settings that those who make it do not notice locks out some of their visitors. So the
// clients of today, and some old ones that are still met, are written down as families: what each offers, in its order,
// with the source of the numbers.
//
// # What is proved
//
// That no version, suite or group is common follows from the scan, and costs no connection. All others are tried: a
// ClientHello of the shape of the family is sent, and the answer is what that client would get. Whether the client then
// trusts the certificate is not part of it, but for authorities that a family is known to lack.
//
// # How to use it
//
//	outcomes := clients.Examine(ctx, clients.Server{Scan: report, ServerName: "example.com", Web: true}, ask)
package clients
