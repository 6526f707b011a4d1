// Package smtpcheck tests the mail servers of a domain, or one mail server, over SMTP (RFC 5321): call [Check] with
// a domain or a host.
//
// # What is tested
//
// A sender looks up a domain's MX records, connects to port 25 of a host, reads its banner and introduces itself with
// EHLO. If the server offers STARTTLS (RFC 3207), the sender starts TLS and sends EHLO again. [Check] does the same
// with every MX host at once, over IPv4 and IPv6, and then tests for an open relay: whether the server accepts mail
// from a third party for another. No message is sent: after the recipient the session ends with RSET and QUIT,
// without DATA. Submission ports, 465 with TLS from the start and 587 (RFC 8314, RFC 6409), are tested alike.
//
// # What can be known
//
// A refused connection, an error reply or a failed handshake is the server's doing. Silence need not be: many
// networks block outgoing connections to port 25, and many lack IPv6. Silence is held against a server only if
// another answered on the same port over the same IP version; otherwise the result is unknown. So are 4xx replies,
// such as greylisting, and refusals because of the client's address or name: they say nothing about how the server
// treats others. A refusal of the test's sender, or because the recipient's domain receives no mail, says nothing
// about relaying.
//
// # Load on the servers
//
// At most two connections to a host are open at a time.
package smtpcheck
