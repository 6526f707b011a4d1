// Package probe finds out what a TLS server supports, from SSLv2 to TLS 1.3: call [Scan] with a way to connect, or
// [Ask] with one connection and one [Hello].
//
// # How a server is enumerated
//
// A TLS client opens with a ClientHello that lists what it supports: a version, cipher suites by preference, key
// exchange groups, extensions. The server picks one of each in its ServerHello, or refuses with an alert (RFC 8446
// section 4.1, RFC 5246 section 7.4.1). It never says what else it supports. To learn that, a client offers
// everything, removes what was picked, and asks again on a new connection, until it is refused. What is picked first
// is the server's preference, if it has one.
//
// None of this needs cryptography on our side, because the answers are in the clear: in TLS 1.2 and earlier also the
// certificates and the key exchange parameters, with the group or the size of the Diffie-Hellman modulus. In TLS 1.3
// the rest is encrypted, but a ClientHello without key shares makes the server answer with a HelloRetryRequest,
// which names cipher suite and group (RFC 8446 section 4.1.4). Servers whose suites, groups or versions crypto/tls
// lacks can therefore be examined, too.
//
// Certificates are the exception: in TLS 1.3 they are encrypted. [Present], which asks for that of one type of key,
// therefore agrees on a secret, and decrypts the server's messages as far as its certificates. [Alike] compares a
// server with another one of the same host by few connections.
//
// Some servers, or boxes in front of them, fail on a ClientHello that has more than they expect, which none may
// (RFC 8446 section 9.3): one that is large, as post-quantum key shares make it, one that offers TLS 1.3, or one with
// values and extensions that they do not know. A scan sends one that has all that those of browsers have. If that alone
// fails, each property is tried by itself.
//
// # How to use it
//
//	dial := func(ctx context.Context) (net.Conn, error) { … }
//	report := probe.Scan(ctx, dial, probe.Config{ServerName: "example.com"})
//
// A scan makes at most 240 connections, a few at a time, each bounded in bytes and time. [SuiteOf] names
// and rates suites.
package probe
