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

// A fate is the outcome of the attempt to talk to a server. Each server has one, so one fault is reported once.
type fate int

const (
	usable    fate = iota // the server accepted EHLO or HELO
	unknown               // it is unknown whether the server or the network of the client is at fault
	private               // the address is not public
	refused               // the connection was refused
	silent                // there was no connection or no banner, although others on the port answered
	deferred              // the banner or the reply to EHLO has a code of 4xx
	turnedOff             // the banner has a code of 5xx
	unwelcome             // a reply of 5xx, because of the address or the name of the client
	garbled               // the response is not SMTP
	spoiled               // the TLS handshake on port 465 failed
	rude                  // neither EHLO nor HELO was accepted
)

func (e *evidence) digest() {
	for _, s := range e.servers {
		s.fate = e.fateOf(s)
	}
	blind := !e.any((*server).usable)
	e.mute, e.stranded = e.isMute(), e.isStranded()
	e.dead = e.isDead()
	for _, s := range e.servers {
		s.blind = blind
		s.spare = e.spareOf(s)
		s.told = e.dead && slices.Contains(e.main(), s)
	}
}

// A spare is an alternative that senders have to a server on the same port.
type spare int

const (
	none      spare = iota
	address         // the host can be used at another address
	preferred       // a host that senders prefer can be used, so that this one is a backup
)

func (e *evidence) spareOf(s *server) spare {
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

func (e *evidence) fateOf(s *server) fate {
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
		return e.fateOfConnection(s)
	case smtp.StepBanner:
		return e.fateOfBanner(s)
	case smtp.StepTLS:
		return spoiled
	default:
		if s.err.Kind == smtp.Rejected && aboutClient(s.err.Reply) {
			return unwelcome
		}
		return rude
	}
}

func (e *evidence) fateOfConnection(s *server) fate {
	switch {
	case s.err.Kind == smtp.Refused:
		return refused
	case s.err.Kind != smtp.Blocked && e.otherwise(s, (*server).heard):
		return silent
	default:
		return unknown
	}
}

func (e *evidence) fateOfBanner(s *server) fate {
	switch {
	case s.err.Kind == smtp.Rejected && aboutClient(s.err.Reply):
		return unwelcome
	case s.err.Kind == smtp.Rejected:
		return turnedOff
	case s.err.Kind != smtp.TimedOut:
		return garbled
	case e.otherwise(s, (*server).answered):
		return silent
	default:
		return unknown
	}
}

// otherwise reports whether a condition holds for another server on the same port over the same IP version: if it
// does, silence is not the fault of the network in between.
func (e *evidence) otherwise(s *server, holds func(*server) bool) bool {
	return slices.ContainsFunc(e.servers, func(o *server) bool {
		return o != s && o.addr.Port() == s.addr.Port() && o.addr.Addr().Is4() == s.addr.Addr().Is4() && holds(o)
	})
}

// heard reports whether the machine at an address responded: by accepting or refusing a connection.
func (s *server) heard() bool {
	return s.session != nil && (s.err == nil || s.err.Step != smtp.StepConnect || s.err.Kind == smtp.Refused)
}

func (s *server) answered() bool { return s.session != nil && s.session.Banner.Code != 0 }

func (s *server) usable() bool      { return s.fate == usable }
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

// before lists the AUTH mechanisms that are offered before encryption, and after those offered after it.
func (s *server) before() []string { return s.plain.Mechanisms() }
func (s *server) after() []string  { return s.encrypted.Mechanisms() }

// revealing lists the mechanisms that send the password as it is (RFC 4954 section 4, RFC 7628 section 3.1 for tokens).
func revealing(mechanisms []string) []string {
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

// main returns the servers that decide whether mail arrives: those on port 25, or all if port 25 was not requested.
func (e *evidence) main() []*server {
	return slices.DeleteFunc(slices.Clone(e.servers), func(s *server) bool {
		return !s.forMail() && slices.Contains(e.req.Ports, mailPort)
	})
}

func (f fate) ignorance() bool { return f == unknown || f == deferred || f == unwelcome }

func (e *evidence) any(is func(*server) bool) bool { return slices.ContainsFunc(e.main(), is) }

func (e *evidence) unsettled() bool {
	return e.any(func(s *server) bool { return s.fate.ignorance() }) ||
		slices.ContainsFunc(e.mail.List, func(h host) bool { return h.Err() != nil && !missing(h) })
}

func (e *evidence) partial() bool {
	if _, known := e.mail.Receives(); e.byDomain() && !known {
		return true
	}
	return slices.ContainsFunc(e.mail.List, func(h host) bool { return h.Err() != nil }) ||
		slices.ContainsFunc(e.servers, func(s *server) bool {
			return s.fate.ignorance() || s.ptr.err != nil || s.ptr.unsure || s.relayUnknown() ||
				s.cutShort() || s.injectionUnknown()
		})
}

func (s *server) cutShort() bool {
	return s.again != nil && s.again.Kind == smtp.Overrun || s.tlsFault != nil && s.tlsFault.Kind == smtp.Overrun
}

func (s *server) relayUnknown() bool { return s.relay.tested && s.relay.status == RelayInconclusive }

func (s *server) injectionUnknown() bool { return s.injection == unproven }

func joined[T any](list []T) string {
	return strings.Join(kit.Map(list, func(v T) string { return fmt.Sprint(v) }), ", ")
}
