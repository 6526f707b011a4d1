// Package smtp talks to mail servers as a sending server does, up to the point where a message would follow (RFC
// 5321, RFC 3207): call [Secure] with the address of a server for an encrypted session, or [Dial] to go step by
// step.
//
// # The protocol
//
// The server sends a banner, "220 mx.example.com ESMTP". The client introduces itself with EHLO, and the server lists
// its extensions, one per line, such as "SIZE 52428800" or "STARTTLS". After the command STARTTLS both start TLS on
// the same connection and discard the earlier dialogue, which an attacker may have injected: the client sends EHLO
// again (RFC 3207 section 4.2). Port 465 uses TLS from the first byte (RFC 8314 section 3.3).
//
// Each reply is a three-digit code with a text. A first digit of 2 or 3 means success, 4 a temporary failure, such
// as greylisting, 5 a permanent one. All lines of a reply but the last have a "-" after the code.
//
// # How to use it
//
// The package has no findings: facts are in [Session] and in a typed [Error]. Certificates are accepted unverified,
// so that they can be described; [Session.TLS] judges them, and [Session.State] has them for other judgements, such
// as DANE:
//
//	s, err := smtp.Secure(ctx, env, smtp.Config{Addr: addr, ServerName: "mx.example.com"})
//	defer s.Close()
//	if err != nil {
//		e, _ := errors.AsType[*smtp.Error](err) // e.Step, e.Kind, e.Reply
//		…
//	}
//	chain := s.State.PeerCertificates
//
// A session is never nil, even with an error: it holds the facts collected so far, and [Session.Transcript] has both
// sides of the dialogue. Everything that a server may send is bounded, in size and in time.
package smtp
