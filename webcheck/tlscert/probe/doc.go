// Package probe finds out what a TLS server is willing to speak, from SSLv2 to TLS 1.3: call [Scan] with a way to
// connect, or [Ask] with one connection and one [Hello].
//
// # How a server is sounded out
//
// A TLS client begins with a ClientHello that lists what it knows: a version, cipher suites in the order of its
// preference, groups for the key exchange, extensions. The server picks one of each and says so in its ServerHello, or
// it refuses with an alert (RFC 8446 section 4.1, RFC 5246 section 7.4.1). It never says what else it knows. To learn
// that, a client offers everything, leaves out what was picked, and asks again on a new connection, until it is
// refused. What is picked first is what the server prefers, if it has preferences at all.
//
// Nothing of this needs cryptography on our side, for the answers come in the clear: in TLS 1.2 and earlier also the
// certificates and the parameters of the key exchange, with the group or the size of the Diffie-Hellman modulus. In
// TLS 1.3 the rest is encrypted, but a ClientHello without key shares makes the server answer with a
// HelloRetryRequest, which names the cipher suite and the group (RFC 8446 section 4.1.4). Therefore servers are
// understood here with which crypto/tls cannot speak: those with suites, groups or versions that it does not have.
//
// # How to use it
//
//	report := probe.Scan(ctx, func(ctx context.Context) (net.Conn, error) { … }, probe.Config{ServerName: "example.com"})
//
// A scan makes at most maxConnections connections, a few at a time. Each is bounded in bytes and in time. Names and
// strengths of suites are those of [SuiteOf].
package probe
