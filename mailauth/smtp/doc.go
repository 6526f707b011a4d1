// Package smtp speaks with mail servers as a sending server does, up to the point where a message would
// follow (RFC 5321, RFC 3207): call [Secure] with the address of a server to get an encrypted session,
// or [Dial] to go step by step.
//
// # The protocol
//
// The server speaks first: a banner "220 mx.example.com ESMTP". The client introduces itself with EHLO, and the server
// lists its extensions, one a line, such as "SIZE 52428800" or "STARTTLS". With the command STARTTLS both begin TLS
// over the same connection. What was said before does not count any more, since an attacker may have said it: the
// client begins again with EHLO (RFC 3207 section 4.2). Port 465 has TLS from the first byte (RFC 8314 section 3.3).
//
// Each reply is a code of three digits with a text. 2 and 3 at its beginning stand for success, 4 for a failure that
// may pass, such as greylisting, 5 for one that stays. All lines of a reply but the last have a "-" behind the code.
//
// # How to use it
//
// The package knows no findings. It says what happened, by facts in [Session] and by a typed [Error].
// Certificates are taken as they come, so that they can be described; [Session.TLS] judges them, and
// [Session.State] has them for a judgement of one's own, such as that of DANE:
//
//	s, err := smtp.Secure(ctx, env, smtp.Config{Addr: addr, ServerName: "mx.example.com"})
//	defer s.Close()
//	if err != nil {
//		e, _ := errors.AsType[*smtp.Error](err) // e.Step, e.Kind, e.Reply
//		…
//	}
//	chain := s.State.PeerCertificates
//
// A session is never nil, also with an error: it holds what was learned until then, and [Session.Transcript] what
// both sides said. All that a server may send is bounded, in size and in time.
package smtp
