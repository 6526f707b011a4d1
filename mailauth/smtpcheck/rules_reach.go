package smtpcheck

import (
	"fmt"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/mailauth/internal/smtp"
)

var reachRules = rule.Rules[*evidence]{{
	Code: "smtp.servers.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown, Ref: "RFC 5321 section 4.5.4.1",
	Title: "No mail server could be tested", Requirement: "A mail server could be tested",
	Advice: "Connect to the mail server from another network, for instance with \"nc -v HOST 25\". If that works, the " +
		"network of this service blocks the port; if not, check the firewall in front of the mail server.",
	When: func(e *evidence) bool { return len(e.mail.List) > 0 && !e.noMailService },
	Fails: func(e *evidence) rule.Failures {
		silent := e.anyMailServer(func(s *server) bool { return s.outcome == unknown })
		if e.anyMailServer((*server).usable) || !e.isUndetermined() || !silent && len(e.servers) > 0 {
			return nil
		}
		return rule.Failures{e.ignorance()}
	},
}, {
	Code: "smtp.servers.deferred", Severity: diag.Warning, StateIfFailed: diag.Unknown, Ref: "RFC 5321 section 4.2.1",
	Title:       "Mail servers answer with a temporary failure",
	Requirement: "A mail server answers without a temporary failure",
	Advice: "Test again in a few minutes. If the reply stays the same, look for its reason in the log of the mail " +
		"server: too many connections, low disk space, or a limit for unknown clients.",
	When: func(e *evidence) bool { return slices.ContainsFunc(e.servers, (*server).answered) },
	Fails: func(e *evidence) rule.Failures {
		return e.failUntested(deferred, "%s cannot take mail at the moment: %s.")
	},
}, {
	Code: "smtp.servers.unwelcome", Severity: diag.Warning, StateIfFailed: diag.Unknown, Ref: "RFC 5321 section 3.1",
	Title: "Mail servers refuse this client", Requirement: "No mail server refuses this client",
	Advice: "Leave it unless senders see the same reply: it is about the address or the name of the client that " +
		"runs this test. Set helo to a name that leads to that address, allow it in the mail server, or test from " +
		"another one.",
	When:  func(e *evidence) bool { return slices.ContainsFunc(e.servers, (*server).answered) },
	Fails: func(e *evidence) rule.Failures { return e.failUntested(rejected, "%s refuses this client: %s.") },
}, {
	Code: "smtp.servers.unreachable", Severity: diag.Critical, Weight: 10, Category: factorReach,
	Ref:   "RFC 5321 section 4.5.4.1",
	Title: "No mail server accepts mail", Requirement: "A mail server accepts mail",
	Advice: "Fix one of the mail servers first; the detail says what is wrong with each. Until then no " +
		"mail arrives.",
	HoldsWhenUnanswered: true, When: (*evidence).isConclusive,
	Fails: func(e *evidence) rule.Failures {
		if !e.dead {
			return nil
		}
		return e.undeliverable()
	},
}}

func (e *evidence) faultTexts() (list []string) {
	const enough = 4 // more would make the sentence unreadable
	for i, s := range e.mailServers() {
		if i == enough {
			return append(list, "and so on")
		}
		list = append(list, e.label([]*server{s})+": "+s.err.Error())
	}
	return list
}

func (e *evidence) ignorance() rule.Failure {
	if quiet := slices.DeleteFunc(e.mailServers(), func(s *server) bool { return s.outcome != unknown }); len(quiet) > 0 {
		return rule.Failure{Detail: e.silenceText(quiet)}
	}
	return rule.Failure{
		Detail: "The addresses of the mail servers could not be looked up.",
		Advice: "Check the name servers of the mail servers: senders defer mail while their addresses cannot be looked up.",
	}
}

// failUntested fails for servers that answered but could not be tested, if no other server could.
func (e *evidence) failUntested(f outcome, format string) rule.Failures {
	return rule.FailEach(e.mailServers(), func(s *server) rule.Failures {
		if !s.untested || s.outcome != f {
			return nil
		}
		return rule.Fail(format, e.label([]*server{s}), s.err).About(s.host)
	})
}

func (e *evidence) silenceText(quiet []*server) string {
	ports := view.Unique(kit.Map(quiet, func(s *server) string { return fmt.Sprint(s.addr.Port()) }))
	addresses := view.Unique(kit.Map(quiet, func(s *server) string { return s.addr.Addr().String() }))
	what := "There was no response to the connection attempts on port " + joined(ports)
	if slices.ContainsFunc(quiet, func(s *server) bool { return s.err != nil && s.err.Step == smtp.StepBanner }) {
		what = "Connections on port " + joined(ports) + " were accepted, but no complete banner came"
	}
	why := "blocks outgoing mail connections, as many hosting providers do"
	if !slices.ContainsFunc(quiet, func(s *server) bool { return s.addr.Addr().Is4() }) {
		why = "has no IPv6 or blocks outgoing mail connections"
	}
	return what + " (" + joined(addresses) + "). Either no mail server answers there, or the network of this " +
		"service " + why + "."
}

var sessionRules = []serverRule{onServers(func(*server) bool { return true }, rule.Rule[*evidence]{
	Code: "smtp.address.private", Severity: diag.Error, Weight: 5, Category: factorReach, Ref: "RFC 6890 section 2.2",
	Title:       "Mail server with an address that is not public",
	Requirement: "The addresses of the mail servers are public",
	Advice:      "Publish the public address of the mail server, and remove the one that is not public.",
}, when(private, func(s *server) string {
	if s.forMail() && s.alternative == address {
		return "" // smtp.address.unavailable reports it
	}
	return "cannot be reached from the Internet: the address is not public"
})).mergedIfAll(), onServers((*server).isRequired, rule.Rule[*evidence]{
	Code: "smtp.connection.refused", Severity: diag.Error, Weight: 5, Category: factorReach, Fact: reach.Refused,
	Differs: "senders try the other mail servers, and wait if there are no others", Ref: "RFC 5321 section 3.1",
	Title: "Mail server refuses connections", Requirement: "Every mail server that could be tested accepts connections",
	Advice: "Start the mail server and let it listen on this address, or remove the address or the MX record: " +
		"senders lose time on it, and mail waits if no other server answers.",
}, when(refused, (*server).unresponsiveText)).mergedIfAll(), onServers((*server).isRequired, rule.Rule[*evidence]{
	Code: "smtp.connection.silent", Severity: diag.Error, Weight: 5, Category: factorReach,
	Ref:   "RFC 5321 section 4.5.3.2",
	Title: "Mail server does not answer", Requirement: "Every mail server that could be tested answers",
	Advice: "Check that the mail server runs and that no firewall drops connections to it, or remove its address or " +
		"MX record: senders wait for minutes before they try the next one.",
}, when(silent, (*server).unresponsiveText)).mergedIfAll(), onServers(hasAlternative(address), rule.Rule[*evidence]{
	Code: "smtp.address.unavailable", Severity: diag.Warning, Weight: 3, Category: factorReach,
	Ref:         "RFC 5321 section 5.1",
	Title:       "Mail server does not answer at one of its addresses",
	Requirement: "The mail servers answer at all of their addresses",
	Advice: "Let the mail server listen on this address and open port 25 for it in the firewall, or remove the " +
		"address record: senders that try this address first lose time before they turn to the other one.",
}, (*server).unresponsiveText), onServers(hasAlternative(preferred), rule.Rule[*evidence]{
	Code: "smtp.backup.unavailable", Severity: diag.Warning, Weight: 3, Category: factorReach,
	Ref:   "RFC 5321 section 5.1",
	Title: "Backup mail server does not answer", Requirement: "The backup mail servers answer",
	Advice: "Start the backup server and open port 25 for it in the firewall, or remove its MX record: as it is, " +
		"mail waits at the senders when the preferred server fails.",
}, (*server).unresponsiveText), onServers(func(s *server) bool { return !s.untested }, rule.Rule[*evidence]{
	Code: "smtp.connection.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 5321 section 4.5.3.2",
	Title:       "Mail server could not be tested at one of its addresses",
	Requirement: "Every address of the mail servers could be tested",
	Advice: "Test the address from another network: the network of this service may have no IPv6, or may block the " +
		"port.",
}, when(unknown, func(s *server) string {
	if s.session == nil {
		return "was not tested: there was no time left"
	}
	return "could not be tested: " + s.err.Error()
})), onServers(func(s *server) bool { return !s.forMail() && !s.outcome.isInconclusive() }, rule.Rule[*evidence]{
	Code: "smtp.submission.unavailable", Severity: diag.Info, Ref: "RFC 8314 section 3.3",
	Title: "No submission service on a tested port", Requirement: "The tested submission ports accept connections",
	Advice: "Leave it if users submit mail to another host. Otherwise start the submission service here.",
}, func(s *server) string {
	if s.outcome != refused && s.outcome != silent {
		return ""
	}
	return "offers no submission there: " + s.err.Error()
}), onServers((*server).judgedAlone, rule.Rule[*evidence]{
	Code: "smtp.session.deferred", Severity: diag.Warning, Ref: "RFC 5321 section 4.2.1",
	Title:       "Mail server answers with a temporary failure",
	Requirement: "No mail server answers with a temporary failure before the first message",
	Advice: "Look for the reason in the log of the mail server: too many connections, low disk space, or a limit for " +
		"unknown clients. Senders try again later, so that mail is late but not lost.",
}, when(deferred, failing("cannot take mail at the moment: "))), onServers((*server).judgedAlone, rule.Rule[*evidence]{
	Code: "smtp.session.unwelcome", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 5321 section 3.1",
	Title: "Mail server refuses this client", Requirement: "No mail server refuses this client",
	Advice: "Leave it unless senders see the same reply: the refusal is about the address or the name of the client " +
		"that runs this test. Allow it in the mail server to get a full result.",
}, when(rejected, failing("refuses this client: "))), onServers((*server).answered, rule.Rule[*evidence]{
	Code: "smtp.banner.refused", Severity: diag.Error, Weight: 5, Category: factorReach, Ref: "RFC 5321 section 3.1",
	Title:       "Mail server turns clients away in its banner",
	Requirement: "The banners of the mail servers have the code 220",
	Advice: "Allow connections from the Internet in the mail server, or remove its MX record if it is not meant to " +
		"receive mail: a banner of 5xx makes senders return mail immediately.",
}, when(serviceClosed, failing("turns clients away: "))).mergedIfAll(), onServers(func(s *server) bool {
	return s.answered() || s.outcome == notSMTP
}, rule.Rule[*evidence]{
	Code: "smtp.banner.invalid", Severity: diag.Error, Weight: 5, Category: factorProtocol, Ref: "RFC 5321 section 4.2",
	Title: "No SMTP banner", Requirement: "Every server that accepts connections sends an SMTP banner",
	Advice: "Check which program listens on this port, and whether a firewall or a limit closes connections before " +
		"the mail server sees them.",
}, when(notSMTP, failing("accepts connections, but does not begin with an SMTP banner: "))).mergedIfAll()}

// unresponsiveText describes how a server on port 25 fails to answer; empty if it answers.
func (s *server) unresponsiveText() string {
	switch s.outcome {
	case refused:
		return "refuses connections on port 25"
	case silent:
		return "does not answer on port 25: " + s.err.Error()
	case private:
		return "cannot be reached from the Internet: the address is not public"
	default:
		return ""
	}
}

func when(f outcome, say func(*server) string) func(*server) string {
	return func(s *server) string {
		if s.outcome != f {
			return ""
		}
		return say(s)
	}
}

func failing(words string) func(*server) string {
	return func(s *server) string { return words + s.err.Error() }
}

// hasAlternative reports whether senders have an alternative on port 25 to a server about which enough is known.
func hasAlternative(by alternative) func(*server) bool {
	return func(s *server) bool { return s.forMail() && !s.outcome.isInconclusive() && s.alternative == by }
}

func (s *server) isRequired() bool {
	return s.forMail() && !s.outcome.isInconclusive() && (s.usable() || s.alternative == none)
}

// judgedAlone reports whether a server answered and is not covered by the rules about all servers.
func (s *server) judgedAlone() bool { return s.answered() && !s.untested }
