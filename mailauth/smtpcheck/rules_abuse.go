package smtpcheck

import (
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

var authRules = []serverRule{where(func(s *server) bool { return s.usable() && !s.implicitTLS() }, rule{
	Code: "smtp.auth.plaintext", Severity: diag.Warning, Weight: 5, Category: factorAbuse, Ref: "RFC 4954 section 4",
	Title: "Plaintext AUTH is offered before TLS", Requirement: "No mail server offers plaintext AUTH before TLS",
	Advice: "Offer AUTH over TLS only, for example with smtpd_tls_auth_only = yes in Postfix, and not at all on port 25: " +
		"otherwise programs send passwords unencrypted.",
}, func(s *server) string {
	list := revealing(s.before())
	if list == nil {
		return ""
	}
	return fmt.Sprintf("offers AUTH %s before the connection is encrypted", strings.Join(list, " "))
}), where(func(s *server) bool { return s.usable() && !s.forMail() && s.tls != nil && s.again == nil }, rule{
	Code: "smtp.submission.auth", Severity: diag.Info, Ref: "RFC 6409 section 4.3",
	Title: "No authentication on a submission port", Requirement: "The submission ports offer authentication",
	Advice: "Enable AUTH over TLS on this port, which is how mail programs submit mail.",
}, func(s *server) string {
	return said(len(s.after()) == 0, fmt.Sprintf("offers no AUTH over TLS on port %d", s.addr.Port()))
})}

var relayRules = []serverRule{where(func(s *server) bool { return s.relay.tested && s.relay.status != RelayInconclusive }, rule{
	Code: "smtp.relay.open", Severity: diag.Critical, Weight: 10, Category: factorAbuse, Ref: "RFC 2505 section 2.1",
	Title:       "Open relay: foreign mail is accepted from strangers",
	Requirement: "No mail server relays mail for strangers",
	Advice: "Accept recipients of your own domains only, unless the client has signed in or is in your network, for " +
		"example with smtpd_relay_restrictions = permit_mynetworks, permit_sasl_authenticated, reject in Postfix. Spammers find " +
		"an open relay within hours, and blocklists list it.",
}, func(s *server) string {
	return said(s.relay.status == RelayOpen, fmt.Sprintf("is an open relay: for mail from <%s> it accepted the recipient "+
		"<%s> with %s; no message was sent",
		s.relay.sender, s.relay.recipient, s.relay.reply))
}), where(func(s *server) bool { return s.relay.tested }, rule{
	Code: "smtp.relay.deferred", Severity: diag.Info, Ref: "RFC 6647 section 2.4",
	Title:       "Recipient is deferred, as with greylisting",
	Requirement: "No mail server defers the recipient of the relay test",
	Advice: "Nothing to do if the server uses greylisting: senders try again. Test again in a quarter of an hour to " +
		"learn whether it relays for strangers.",
}, func(s *server) string {
	if !s.relayUnknown() || !s.relay.deferred {
		return ""
	}
	return "answers an unknown client with a temporary failure, so that it is not known whether it relays: " +
		"the reply was " + s.relay.reply
}), where(func(s *server) bool { return s.relay.tested && s.relay.status != RelayOpen }, rule{
	Code: "smtp.relay.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 5321 section 4.2.1",
	Title: "Relay test without a result", Requirement: "The relay test has a result",
	Advice: "Look at the reply in the transcript: it may be about this client, or about the sender or the recipient " +
		"of the test, and not about relaying. Test from another address if it is about the client.",
}, func(s *server) string {
	switch {
	case !s.relayUnknown() || s.relay.deferred:
		return ""
	case s.relay.reply != "":
		return "refused the relay test for another reason: the reply was " + s.relay.reply
	case s.relay.late:
		return "did not answer the relay test in time"
	default:
		return "broke off the relay test without a reply"
	}
})}
