package smtpcheck

import (
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
)

var helloRules = []serverRule{onServers(func(s *server) bool { return s.usable() || s.outcome == ehloRejected },
	rule.Rule[*evidence]{
		Code: "smtp.hello.refused", Severity: diag.Error, Weight: 5, Category: factorProtocol, Ref: "RFC 5321 section 3.2",
		Title: "Mail server accepts neither EHLO nor HELO", Requirement: "The mail servers accept EHLO",
		Advice: "Check the filters of the mail server that check the name in EHLO, and its log: a sender that cannot " +
			"introduce itself cannot deliver.",
	}, when(ehloRejected, failing("does not get beyond EHLO: "))).mergedIfAll(),
	onServers((*server).usable, rule.Rule[*evidence]{
		Code: "smtp.hello.basic", Severity: diag.Warning, Weight: 3, Category: factorProtocol,
		Ref:   "RFC 5321 section 2.2.1",
		Title: "Mail server knows HELO but not EHLO", Requirement: "The mail servers know EHLO",
		Advice: "Enable EHLO, which every server must support, and check that no firewall with an SMTP fixup rewrites " +
			"the session: without EHLO there is no encryption.",
	}, func(s *server) string {
		return textIf(!s.hello().Extended, "does not accept EHLO and had to be greeted with HELO")
	}), onServers((*server).usable, rule.Rule[*evidence]{
		Code: "smtp.banner.name", Severity: diag.Info, Weight: 1, Category: factorNames, Ref: "RFC 5321 section 4.2",
		Title: "Banner without a full host name", Requirement: "The banners begin with a full host name",
		Advice: "Set the host name of the mail server to its full name in the public DNS.",
	}, func(s *server) string {
		switch name := s.bannerName(); {
		case fullName(name):
			return ""
		case name == "":
			return "has no host name in its banner"
		default:
			return fmt.Sprintf("begins its banner with %q, which is not a host name on the "+
				"Internet", phrase.Quote(name))
		}
	}), onServers((*server).usable, rule.Rule[*evidence]{
		Code: "smtp.hello.name", Severity: diag.Info, Weight: 1, Category: factorNames, Ref: "RFC 5321 section 4.1.1.1",
		Title:       "Response to EHLO without a full host name",
		Requirement: "The responses to EHLO begin with a full host name",
		Advice:      "Set the host name of the mail server to its full name in the public DNS.",
	}, func(s *server) string {
		switch name := strings.TrimSuffix(strings.ToLower(s.hello().Domain), "."); {
		case fullName(name):
			return ""
		case name == "":
			return "does not name itself in its response to EHLO"
		default:
			return fmt.Sprintf("calls itself %q in its response to EHLO, which is not a host name on the Internet",
				phrase.Quote(name))
		}
	}), onServers(func(s *server) bool {
		return s.usable() && s.bannerLookedUp && s.bannerAddresses.V4.Err() == nil && s.bannerAddresses.V6.Err() == nil
	}, rule.Rule[*evidence]{
		Code: "smtp.banner.unresolved", Severity: diag.Info, Weight: 1, Category: factorNames, Ref: "RFC 5321 section 4.2",
		Title: "Host name in the banner has no address", Requirement: "The host names in the banners have addresses",
		Advice: "Set the host name of the mail server to a name with an address record, or add one for this name: " +
			"receivers distrust mail of a server with a name that does not resolve.",
	}, func(s *server) string {
		return textIf(len(s.bannerAddresses.All()) == 0,
			"calls itself "+s.bannerName()+" in its banner, a name without an address")
	}), onServers((*server).usable, rule.Rule[*evidence]{
		Code: "smtp.session.slow", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 5321 section 4.5.3.2",
		Title:       "Mail server too slow to be tested completely",
		Requirement: "The mail servers answer fast enough to be tested completely",
		Advice: "Leave it if the server slows down unknown clients on purpose. Otherwise look for slow DNS lookups " +
			"or a heavy load.",
	}, func(s *server) string {
		return textIf(s.cutShort(), "could not be tested completely: it answered too slowly")
	})}

var ptrRules = []serverRule{onServers(func(s *server) bool { return s.outcome != private }, rule.Rule[*evidence]{
	Code: "smtp.ptr.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 1912 section 2.1",
	Title:       "Reverse DNS of a mail server could not be looked up",
	Requirement: "The reverse DNS of the mail servers could be looked up",
	Advice:      "Check the name servers of the reverse zone, or ask the operator of the network to do so.",
}, func(s *server) string {
	switch {
	case s.ptr.err != nil:
		return "has an address whose PTR lookup failed: " + diag.Reason(s.ptr.err)
	case s.ptr.unsure:
		return "has an address with the host name " + joined(s.ptr.hosts) + ", whose addresses could not be looked up"
	default:
		return ""
	}
}), onServers(func(s *server) bool { return s.usable() && s.ptr.err == nil }, rule.Rule[*evidence]{
	Code: "smtp.ptr.missing", Severity: diag.Info, Weight: 1, Category: factorNames,
	Reads: []rule.Source{fromPTR, fromSessions}, Ref: "RFC 1912 section 2.1",
	Title:       "Mail server without reverse DNS (PTR)",
	Requirement: "The addresses of the mail servers have reverse DNS (PTR)",
	Advice: "Leave it if the server only receives mail. If it also sends, set a PTR record with its host name: " +
		"large receivers, among them Gmail and Outlook.com, refuse mail from addresses without one.",
}, func(s *server) string {
	return textIf(len(s.ptr.hosts) == 0, "has no reverse DNS: "+s.addr.Addr().String()+" has no PTR record")
}), onServers(func(s *server) bool { return s.usable() && len(s.ptr.hosts) > 0 && !s.ptr.unsure }, rule.Rule[*evidence]{
	Code: "smtp.ptr.unconfirmed", Severity: diag.Info, Weight: 1, Category: factorNames,
	Reads: []rule.Source{fromPTR, fromSessions}, Ref: "RFC 1912 section 2.1",
	Title:       "Reverse DNS does not lead back to the address",
	Requirement: "The reverse DNS of the mail servers leads back to their addresses",
	Advice: "Give the host name in the PTR record an address record with this address: receivers distrust mail of a " +
		"server whose reverse DNS is not confirmed.",
}, func(s *server) string {
	return textIf(!s.ptr.confirmed, fmt.Sprintf("has the PTR record %s, which does not lead back to %s",
		phrase.Quote(joined(s.ptr.hosts)), s.addr.Addr()))
})}

var authRules = []serverRule{onServers(func(s *server) bool { return s.usable() && !s.implicitTLS() },
	rule.Rule[*evidence]{
		Code: "smtp.auth.plaintext", Severity: diag.Warning, Weight: 5, Category: factorAbuse, Ref: "RFC 4954 section 4",
		Title: "Plaintext AUTH is offered before TLS", Requirement: "No mail server offers plaintext AUTH before TLS",
		Advice: "Offer AUTH over TLS only, for example with smtpd_tls_auth_only = yes in Postfix, and not at all on port " +
			"25: otherwise programs send passwords unencrypted.",
	}, func(s *server) string {
		list := plaintextMechanisms(s.plainMechanisms())
		return textIf(len(list) > 0, "offers AUTH "+strings.Join(list, " ")+" before the connection is encrypted")
	}), onServers(func(s *server) bool { return s.usable() && !s.forMail() && s.tls != nil && s.ehloErr == nil },
	rule.Rule[*evidence]{
		Code: "smtp.submission.auth", Severity: diag.Info, Ref: "RFC 6409 section 4.3",
		Title: "No authentication on a submission port", Requirement: "The submission ports offer authentication",
		Advice: "Enable AUTH over TLS on this port, which is how mail programs submit mail.",
	}, func(s *server) string {
		return textIf(len(s.tlsMechanisms()) == 0, fmt.Sprintf("offers no AUTH over TLS on port %d", s.addr.Port()))
	})}

var relayRules = []serverRule{onServers(func(s *server) bool {
	return s.relay.tested &&
		s.relay.status != RelayInconclusive
}, rule.Rule[*evidence]{
	Code: "smtp.relay.open", Severity: diag.Critical, Weight: 10, Category: factorAbuse, Ref: "RFC 2505 section 2.1",
	Title:       "Open relay: foreign mail is accepted from strangers",
	Requirement: "No mail server relays mail for strangers",
	Advice: "Accept recipients of your own domains only, unless the client has signed in or is in your network, for " +
		"example with smtpd_relay_restrictions = permit_mynetworks, permit_sasl_authenticated, reject in Postfix. Spammers " +
		"find an open relay within hours, and blocklists list it.",
}, func(s *server) string {
	return textIf(s.relay.status == RelayOpen,
		fmt.Sprintf("is an open relay: for mail from <%s> it accepted the recipient "+
			"<%s> with %s; no message was sent",
			s.relay.sender, s.relay.recipient, s.relay.reply))
}), onServers(func(s *server) bool { return s.relay.tested }, rule.Rule[*evidence]{
	Code: "smtp.relay.deferred", Severity: diag.Info, Ref: "RFC 6647 section 2.4",
	Title:       "Recipient is deferred, as with greylisting",
	Requirement: "No mail server defers the recipient of the relay test",
	Advice: "Leave it if the server uses greylisting: senders try again. Test again in 15 minutes to " +
		"learn whether it relays for strangers.",
}, func(s *server) string {
	if !s.relayUnknown() || !s.relay.deferred {
		return ""
	}
	return "answers an unknown client with a temporary failure, so that it is not known whether it relays: " +
		"the reply was " + s.relay.reply
}), onServers(func(s *server) bool { return s.relay.tested && s.relay.status != RelayOpen }, rule.Rule[*evidence]{
	Code: "smtp.relay.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 5321 section 4.2.1",
	Title: "Relay test without a result", Requirement: "The relay test has a result",
	Advice: "Read the reply in the transcript: it may be about this client, or about the sender or the recipient " +
		"of the test, and not about relaying. Test from another address if it is about the client.",
}, func(s *server) string {
	switch {
	case !s.relayUnknown() || s.relay.deferred:
		return ""
	case s.relay.reply != "":
		return "refused the relay test for another reason: the reply was " + s.relay.reply
	case s.relay.timedOut:
		return "did not answer the relay test in time"
	default:
		return "broke off the relay test without a reply"
	}
})}
