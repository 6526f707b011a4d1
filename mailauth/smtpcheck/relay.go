package smtpcheck

import (
	"regexp"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/mailauth/smtp"
)

// A relay is the outcome of the relay test.
type relay struct {
	tested    bool
	status    RelayStatus
	reply     string // that decided
	sender    string // in the command MAIL
	recipient string // in the command RCPT
	deferred  bool   // the reply was temporary, as with greylisting
}

// checksRelay reports whether the relay test was asked for.
func (e *evidence) checksRelay() bool { return e.req.CheckRelay == nil || *e.req.CheckRelay }

// strangers returns two domains that are not those of the server: reserved for documentation (RFC 2606 section 3), or
// for tests (section 2) where the server is that of a documentation domain.
func (e *evidence) strangers() (sender, recipient string) {
	own := []string{e.req.Domain.String(), e.req.Host.Name()}
	for _, h := range e.mail.List {
		own = append(own, h.Name)
	}
	free := slices.DeleteFunc([]string{"example.org", "example.net", "example.com", "relay.test", "domain.test"},
		func(d string) bool {
			return slices.ContainsFunc(own, func(o string) bool { return o == d || strings.HasSuffix(o, "."+d) })
		})
	return free[0], free[1]
}

// testRelay asks a server to take mail from one stranger for another, and stops before the message. The session must
// have a hello, and is left as it was.
func (e *evidence) testRelay(session *smtp.Session, s *server) relay {
	from, to := e.strangers()
	r := relay{tested: true, status: RelayInconclusive, recipient: "smtp-check@" + to}
	// Some servers refuse the sender, which says nothing about the recipient. The null sender is refused by none
	// that follows RFC 5321 section 6.1.
	for _, sender := range []string{"smtp-check@" + from, ""} {
		r.sender = sender
		if again := r.ask(session, s); !again {
			break
		}
	}
	if r.status == RelayClosed && s.addr.Port() == mailPort {
		e.testPercent(session, s, &r, to)
	}
	return r
}

// ask tries one sender, and reports whether another may get further.
func (r *relay) ask(session *smtp.Session, s *server) (again bool) {
	reply, err := session.Command("MAIL FROM:<" + r.sender + ">")
	switch {
	case err != nil:
		return false
	case !reply.OK():
		r.reply, r.deferred = reply.String(), reply.Temporary()
		if wantsAuth(reply) || !reply.Temporary() && s.addr.Port() != mailPort {
			r.status = RelayClosed // who has not signed in may not send at all (RFC 6409 section 4.3)
			return false
		}
		return !reply.Temporary()
	}
	if reply, err = session.Command("RCPT TO:<" + r.recipient + ">"); err != nil {
		return false
	}
	r.reply, r.deferred = reply.String(), reply.Temporary()
	switch {
	case reply.OK():
		r.status = RelayOpen
	case relayDenied.MatchString(words(reply)), wantsAuth(reply):
		r.status, r.deferred = RelayClosed, false // Postfix has 454 for it
	case reply.Temporary():
	case strings.Contains(words(reply), "sender"):
		again = true
	case !aboutClient(reply):
		r.status = RelayClosed
	}
	_, err = session.Command("RSET")
	return again && err == nil
}

// testPercent asks a server that refuses foreign recipients for one in disguise, user%example.org@its.own.domain, for
// which old servers send mail on. One that takes any name in its own domain gives no answer.
func (e *evidence) testPercent(session *smtp.Session, s *server, r *relay, to string) {
	local := s.host
	if e.byDomain() {
		local = e.req.Domain.String()
	} else if s.byAddress() {
		return
	}
	if reply, err := session.Command("MAIL FROM:<" + r.sender + ">"); err != nil || !reply.OK() {
		return
	}
	disguised := "smtp-check%" + to + "@" + local
	reply, err := session.Command("RCPT TO:<" + disguised + ">")
	if err == nil && reply.OK() {
		control, err := session.Command("RCPT TO:<smtp-check-control@" + local + ">")
		if err == nil && !control.OK() && !control.Temporary() {
			r.status, r.reply, r.recipient = RelayOpen, reply.String(), disguised
		}
	}
	session.Command("RSET") // the session ends next, so that nothing depends on the reply
}

// relayDenied finds refusals to relay, also where the code is a temporary one. A word alone does not do: replies name
// hosts and addresses, which may have it.
var relayDenied = regexp.MustCompile(`\brelay(ing)?( access)? (is )?(denied|not|prohibited|refused|rejected|disabled)|` +
	`\b(to|not|cannot|no) relay(ing)?\b`)

// words are the whole text of a reply in lower case.
func words(r smtp.Reply) string { return strings.ToLower(strings.Join(r.Lines, " ")) }

// wantsAuth reports whether a reply asks the client to sign in (RFC 4954 section 6).
func wantsAuth(r smtp.Reply) bool {
	text := words(r)
	return r.Code >= 500 && (r.Code == 530 || r.Code == 550 || r.Code == 553 || r.Code == 554) &&
		(strings.Contains(text, "authentication required") ||
			strings.Contains(text, "authenticat") && strings.Contains(text, "must"))
}

// clientWords appear in refusals that are about the address of the client, such as those of blocklists.
var clientWords = []string{
	"blocked", "blacklist", "blocklist", "block list", "black list", "denylist", "listed", "rbl", "dnsbl", "spamhaus",
	"reputation", "reverse dns", "rdns", "ptr record", "reverse hostname", "your ip", "your host", "client host",
	"your address", "your network", "policy reasons",
}

// aboutClient reports whether a refusal is about who asks rather than about what is asked.
func aboutClient(r smtp.Reply) bool {
	text := words(r)
	return slices.ContainsFunc(clientWords, func(w string) bool { return strings.Contains(text, w) })
}
