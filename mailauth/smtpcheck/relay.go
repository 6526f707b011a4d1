package smtpcheck

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/mailauth/internal/smtp"
)

type relay struct {
	tested    bool
	status    RelayStatus
	reply     string // that decided
	sender    string // in the command MAIL
	recipient string // in the command RCPT
	deferred  bool   // the reply was temporary, as with greylisting
	timedOut  bool   // a reply did not come in time
}

// strangers returns two domains unrelated to the server: reserved for documentation (RFC 2606 section 3), or for
// tests (section 2) where the server is that of a documentation domain.
func (e *evidence) strangers() (sender, recipient string) {
	own := kit.Map(e.mail.List, func(h host) string { return h.Name })
	own = append(own, e.req.Domain.String(), e.req.Host.Name())
	free := slices.DeleteFunc([]string{"example.org", "example.net", "example.com", "relay.test", "domain.test"},
		func(d string) bool {
			return slices.ContainsFunc(own, func(o string) bool { return o == d || strings.HasSuffix(o, "."+d) })
		})
	return free[0], free[1]
}

// testRelay asks a server to accept mail from one foreign address for another, and stops before the message. The
// session must have a hello, and is reset afterwards.
func (e *evidence) testRelay(session *smtp.Session, s *server) relay {
	from, to := e.strangers()
	r := relay{tested: true, status: RelayInconclusive, recipient: "smtp-check@" + to}
	// Some servers refuse the sender, which says nothing about the recipient. Servers that follow RFC 5321 section
	// 6.1 accept the null sender.
	for _, sender := range []string{"smtp-check@" + from, ""} {
		r.sender = sender
		if again := r.ask(session, s); !again {
			break
		}
	}
	if r.status == RelayClosed && s.addr.Port() == mailPort {
		e.testDisguised(session, s, &r, to)
	}
	return r
}

// ask tries one sender, and reports whether another may succeed.
func (r *relay) ask(session *smtp.Session, s *server) (again bool) {
	reply, err := session.Command("MAIL FROM:<" + r.sender + ">")
	switch {
	case err != nil:
		return r.broken(err)
	case !reply.OK():
		r.reply, r.deferred = reply.String(), reply.Temporary()
		if wantsAuth(reply) || !reply.Temporary() && s.addr.Port() != mailPort {
			r.status = RelayClosed // unauthenticated clients may not send at all (RFC 6409 section 4.3)
			return false
		}
		return !reply.Temporary() || aboutSender(reply)
	}
	if reply, err = session.Command("RCPT TO:<" + r.recipient + ">"); err != nil {
		return r.broken(err)
	}
	r.reply, r.deferred = reply.String(), reply.Temporary()
	switch {
	case accepts(reply):
		r.status = confirmed(session)
		return false
	case reply.OK(): // 252 and similar codes are no acceptance (RFC 5321 section 3.5.3)
	case relayDenied().MatchString(words(reply)), wantsAuth(reply):
		r.status, r.deferred = RelayClosed, false // Postfix replies 454
	case aboutSender(reply):
		again = true
	case reply.Temporary():
	case !aboutClient(reply) && !aboutDomain(reply):
		r.status = RelayClosed
	}
	_, err = session.Command("RSET")
	return again && err == nil
}

// accepts reports whether a recipient was accepted (RFC 5321 section 4.2.3).
func accepts(r smtp.Reply) bool { return r.Code == 250 || r.Code == 251 }

// confirmed verifies that a server relays: a recipient without a sender must be refused (RFC 5321 section 3.3). A
// server that accepts it accepts everything, or its replies belong to other commands.
func confirmed(session *smtp.Session) RelayStatus {
	if _, err := session.Command("RSET"); err != nil {
		return RelayInconclusive
	}
	if reply, err := session.Command("RCPT TO:<smtp-check-control@example.org>"); err != nil || reply.OK() {
		return RelayInconclusive
	}
	return RelayOpen
}

// broken records why a reply is missing. No further command can be sent.
func (r *relay) broken(err error) (again bool) {
	kind := asError(err).Kind
	r.timedOut = kind == smtp.TimedOut || kind == smtp.Overrun
	return false
}

// testDisguised asks a server that refuses foreign recipients for one in disguise, for which old servers relay mail:
// user%example.org@its.own.domain, and the source route @its.own.domain:user@example.org (RFC 5321 appendix C). The
// result is inconclusive for a server that accepts any name in its own domain.
func (e *evidence) testDisguised(session *smtp.Session, s *server, r *relay, to string) {
	local := s.host
	if e.byDomain() {
		local = e.req.Domain.String()
	} else if s.byAddress() {
		return
	}
	if reply, err := session.Command("MAIL FROM:<" + r.sender + ">"); err != nil || !reply.OK() {
		return
	}
	for _, disguised := range []string{"smtp-check%" + to + "@" + local, "@" + local + ":smtp-check@" + to} {
		reply, err := session.Command("RCPT TO:<" + disguised + ">")
		if err != nil || !accepts(reply) {
			continue
		}
		control, err := session.Command("RCPT TO:<smtp-check-control@" + local + ">")
		if err == nil && !control.OK() && !control.Temporary() {
			r.status, r.reply, r.recipient = RelayOpen, reply.String(), disguised
			break
		}
	}
	session.Command("RSET") // the session ends next, so the reply does not matter
}

// relayDenied finds refusals to relay, also where the code is a temporary one. A word alone is not enough: replies
// name hosts and addresses, which may contain it.
var relayDenied = kit.Regexp(`\brelay(ing)?( access)? (is )?(denied|not|prohibited|refused|rejected|` +
	`disabled)|\b(to|not|cannot|no) relay(ing)?\b`)

func words(r smtp.Reply) string { return strings.ToLower(strings.Join(r.Lines, " ")) }

// wantsAuth reports whether a reply asks the client to sign in (RFC 4954 section 6). Replies about SPF, DKIM and
// DMARC use the same words about the sender.
func wantsAuth(r smtp.Reply) bool {
	return slices.Contains([]int{530, 550, 553, 554}, r.Code) && !aboutSender(r) && authWanted().MatchString(words(r))
}

var authWanted = kit.Regexp(`authentication required|authenticat.*must|must.*authenticat|not authenticated`)

// aboutSender reports whether a refusal is about the sender of the message (RFC 3463 section 3.2, RFC 7372 section 3,
// RFC 7505 section 4.2), so another sender may be accepted.
func aboutSender(r smtp.Reply) bool {
	return senderStatus().MatchString(r.Status()) || senderWords().MatchString(words(r))
}

var senderStatus = kit.Regexp(`^[45]\.(1\.[78]|7\.2[0-467])$`)

var senderWords = kit.Regexp(`\b(sender|spf|dmarc|return[- ]path|callback|callout)\b`)

// aboutDomain reports whether a refusal says that the recipient's domain receives no mail: domains reserved for
// documentation have a null MX (RFC 7505 section 4.1), which an open relay may look up.
func aboutDomain(r smtp.Reply) bool {
	return slices.Contains([]string{"5.1.2", "5.1.10"}, r.Status()) || domainWords().MatchString(words(r))
}

var domainWords = kit.Regexp(`null ?mx|unroute?able|(domain|host)( name)? (not found|does not exist)`)

// aboutClient reports whether a refusal is about the client rather than the command: about its address, as with
// blocklists, or about its name in EHLO.
func aboutClient(r smtp.Reply) bool {
	return r.Status() == "5.7.25" || clientWords().MatchString(words(r)) || helloWords().MatchString(words(r))
}

var clientWords = kit.Regexp(`blocked|bl[ao]c?k ?list|denylist|listed|rbl|dnsbl|spamhaus|reputation|banned|` +
	`reverse dns|rdns|ptr record|reverse hostname|your (ip|host|address|network)|client host|sending ip|the ip you|` +
	`ip address|policy reasons`)

// The words EHLO and HELO also appear in replies to unknown commands, so they are not enough alone.
var helloWords = kit.Regexp(`\b(helo|ehlo)\b( \S+)? (command rejected|argument|name|hostname|domain|does not|` +
	`is )|\b(bad|invalid|bogus|forged|fake|impossible) (helo|ehlo)\b|valid hostname`)
