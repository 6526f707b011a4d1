// Package smtpcheck tests the mail servers of a domain, or one mail server, by speaking with them (RFC 5321): call
// [Check] with a domain or a host.
//
// # What is tested
//
// A sender looks up the MX records of a domain, connects to port 25 of a host that they name, reads its banner and
// introduces itself with EHLO. If the server offers STARTTLS (RFC 3207), the sender begins TLS and introduces itself
// once more. [Check] does the same with every MX host at once, over IPv4 and over IPv6, and goes on to the question
// that tells an open relay: whether the server takes mail of a stranger for somebody else. No message is sent: the
// session ends with RSET and QUIT after the recipient, and never has the command DATA. On the ports for submission,
// 465 with TLS from the start and 587 (RFC 8314, RFC 6409), the test is the same.
//
// # What can be known from here
//
// A refused connection, a reply or a handshake that fails is what the server does. Silence is not: outgoing
// connections to port 25 are blocked in many networks, and so is IPv6. Silence is held against a server only if
// another one answered on the same port over the same version of the Internet Protocol; otherwise the outcome is
// unknown. The same holds for replies of 4xx, such as greylisting, and for refusals that are about the address or the
// name of the client: they say nothing about how the server treats others. Nor does a refusal tell of relaying that is
// about the sender of the test, or says that no mail can go to the domain of its recipient.
//
// # How it is built
//
// Package smtp speaks with the servers, probe.go decides what to say to them; digest makes one fate of what happened
// to each server; the rules are about servers with a fate. No host is spoken to over more than two connections at
// the same time.
package smtpcheck
