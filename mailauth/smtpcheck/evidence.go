package smtpcheck

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/mailauth/internal/smtp"
)

// An outcome is the result of the attempt to talk to a server. Each server has one, so one fault is reported once.
type outcome int

const (
	usable        outcome = iota // the server accepted EHLO or HELO
	unknown                      // it is unknown whether the server or the network of the client is at fault
	private                      // the address is not public
	refused                      // the connection was refused
	silent                       // there was no connection or no banner, although others on the port answered
	deferred                     // the banner or the reply to EHLO has a code of 4xx
	serviceClosed                // the banner has a code of 5xx
	rejected                     // a reply of 5xx, because of the address or the name of the client
	notSMTP                      // the response is not SMTP
	tlsFailed                    // the TLS handshake on port 465 failed
	ehloRejected                 // neither EHLO nor HELO was accepted
)

func (e *evidence) digest() {
	for _, s := range e.servers {
		s.outcome = e.outcomeOf(s)
	}
	blind := !e.anyMailServer((*server).usable)
	e.noMailService, e.stranded = e.hasNoMailService(), e.isStranded()
	e.dead = e.isDead()
	for _, s := range e.servers {
		s.untested = blind
		s.alternative = e.alternativeOf(s)
		s.reportedOnce = e.dead && slices.Contains(e.mailServers(), s)
	}
}

// An alternative is another choice that senders have to a server on the same port.
type alternative int

const (
	none      alternative = iota
	address               // the host can be used at another address
	preferred             // a host that senders prefer can be used, so that this one is a backup
)

func (e *evidence) alternativeOf(s *server) alternative {
	kind := none
	for _, o := range e.servers {
		switch {
		case o == s || !o.usable() || o.addr.Port() != s.addr.Port():
		case o.host == s.host:
			return address
		case o.preference != nil && s.preference != nil && *o.preference < *s.preference:
			kind = preferred
		}
	}
	return kind
}

func (e *evidence) outcomeOf(s *server) outcome {
	switch {
	case s.session == nil, s.err != nil && s.err.Kind == smtp.Overrun:
		return unknown
	case s.err == nil:
		return usable
	case s.err.Kind == smtp.Blocked && !s.public:
		return private
	case s.err.Kind == smtp.Deferred:
		return deferred
	}
	switch s.err.Step {
	case smtp.StepConnect:
		return e.connectionOutcome(s)
	case smtp.StepBanner:
		return e.bannerOutcome(s)
	case smtp.StepTLS:
		return tlsFailed
	default:
		if s.err.Kind == smtp.Rejected && aboutClient(s.err.Reply) {
			return rejected
		}
		return ehloRejected
	}
}

func (e *evidence) connectionOutcome(s *server) outcome {
	switch {
	case s.err.Kind == smtp.Refused:
		return refused
	case s.err.Kind != smtp.Blocked && e.anyPeer(s, (*server).responded):
		return silent
	default:
		return unknown
	}
}

func (e *evidence) bannerOutcome(s *server) outcome {
	switch {
	case s.err.Kind == smtp.Rejected && aboutClient(s.err.Reply):
		return rejected
	case s.err.Kind == smtp.Rejected:
		return serviceClosed
	case s.err.Kind != smtp.TimedOut:
		return notSMTP
	case e.anyPeer(s, (*server).answered):
		return silent
	default:
		return unknown
	}
}

// anyPeer reports whether a condition holds for another server on the same port over the same IP version: if it
// does, silence is not the fault of the network in between.
func (e *evidence) anyPeer(s *server, holds func(*server) bool) bool {
	return slices.ContainsFunc(e.servers, func(o *server) bool {
		return o != s && o.addr.Port() == s.addr.Port() && o.addr.Addr().Is4() == s.addr.Addr().Is4() && holds(o)
	})
}

// responded reports whether the machine at an address responded: by accepting or refusing a connection.
func (s *server) responded() bool {
	return s.session != nil && (s.err == nil || s.err.Step != smtp.StepConnect || s.err.Kind == smtp.Refused)
}

func (s *server) answered() bool { return s.session != nil && s.session.Banner.Code != 0 }

func (s *server) usable() bool      { return s.outcome == usable }
func (s *server) implicitTLS() bool { return s.addr.Port() == 465 }
func (s *server) byAddress() bool   { return s.host == s.addr.Addr().String() }

func (s *server) forMail() bool { return s.addr.Port() == mailPort }

func (s *server) hello() smtp.Hello {
	if s.implicitTLS() {
		return s.encrypted
	}
	return s.plain
}

func (s *server) offersTLS() bool { return s.plain.Has("STARTTLS") }

// plainMechanisms lists the AUTH mechanisms that are offered before encryption, and tlsMechanisms those offered
// after it.
func (s *server) plainMechanisms() []string { return s.plain.Mechanisms() }
func (s *server) tlsMechanisms() []string   { return s.encrypted.Mechanisms() }

// plaintextMechanisms lists the mechanisms that send the password as it is (RFC 4954 section 4, RFC 7628 section
// 3.1 for tokens).
func plaintextMechanisms(mechanisms []string) []string {
	return slices.DeleteFunc(slices.Clone(mechanisms), func(m string) bool {
		return !slices.Contains([]string{"PLAIN", "LOGIN", "XOAUTH2", "OAUTHBEARER"}, m)
	})
}

func (s *server) size() (int64, bool) {
	if n, ok := s.encrypted.Size(); ok {
		return n, ok
	}
	return s.plain.Size()
}

func (s *server) trust() (pki.Reason, string) {
	if e, ok := errors.AsType[*pki.TrustError](s.tls.Trust); ok {
		return e.Reason, e.Text
	}
	return "", ""
}

func (s *server) leaf() *pki.Certificate { return s.tls.Leaf() }

// mailServers returns the servers that decide whether mail arrives: those on port 25, or all if port 25 was not
// requested.
func (e *evidence) mailServers() []*server {
	return slices.DeleteFunc(slices.Clone(e.servers), func(s *server) bool {
		return !s.forMail() && slices.Contains(e.req.Ports, mailPort)
	})
}

func (f outcome) isInconclusive() bool { return f == unknown || f == deferred || f == rejected }

func (e *evidence) anyMailServer(is func(*server) bool) bool {
	return slices.ContainsFunc(e.mailServers(), is)
}

func (e *evidence) isUndetermined() bool {
	return e.anyMailServer(func(s *server) bool { return s.outcome.isInconclusive() }) ||
		slices.ContainsFunc(e.mail.List, func(h host) bool { return h.Err() != nil && !missing(h) })
}

func (e *evidence) partial() bool {
	if _, known := e.mail.Receives(); e.byDomain() && !known {
		return true
	}
	return slices.ContainsFunc(e.mail.List, func(h host) bool { return h.Err() != nil }) ||
		slices.ContainsFunc(e.servers, func(s *server) bool {
			return s.outcome.isInconclusive() || s.ptr.err != nil || s.ptr.unsure || s.relayUnknown() ||
				s.cutShort() || s.injectionUnknown()
		})
}

func (s *server) cutShort() bool {
	return s.ehloErr != nil && s.ehloErr.Kind == smtp.Overrun || s.tlsFault != nil && s.tlsFault.Kind == smtp.Overrun
}

func (s *server) relayUnknown() bool { return s.relay.tested && s.relay.status == RelayInconclusive }

func (s *server) injectionUnknown() bool { return s.injection == unproven }

func joined[T any](list []T) string {
	return strings.Join(kit.Map(list, func(v T) string { return fmt.Sprint(v) }), ", ")
}
