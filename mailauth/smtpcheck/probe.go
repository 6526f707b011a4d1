package smtpcheck

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/mailauth/internal/smtp"
)

type server struct {
	host       string
	preference *uint16 // nil without an MX record
	addr       netip.AddrPort
	public     bool // senders all over the Internet reach the address

	started         time.Time
	now             time.Time     // the present, for the remaining lifetime of a certificate
	session         *smtp.Session // nil if its turn never came
	err             *smtp.Error   // why there was no session with a hello; nil if there was one
	plain           smtp.Hello    // before TLS; empty on port 465
	encrypted       smtp.Hello    // over TLS
	tls             *pki.TLS      // nil without TLS
	tlsFault        *smtp.Error   // why there is no TLS
	ehloErr         *smtp.Error   // why the server did not answer EHLO over TLS
	injection       injection
	relay           relay
	ptr             ptr
	bannerAddresses diag.Addresses // of the name in the banner
	bannerLookedUp  bool           // whether that name was looked up

	outcome      outcome     // the outcome; set by digest
	alternative  alternative // the alternative for senders; set by digest
	untested     bool        // no server could be tested, which the rules report once; set by digest
	reportedOnce bool        // all servers share its fault, which one rule reports; set by digest
}

// An injection states whether a server answers inside TLS a command sent in the clear behind STARTTLS.
type injection int

const (
	unasked  injection = iota // not tested: no TLS after STARTTLS, or the session ended before
	unproven                  // the test ran without a result
	immune
	injectable
)

type prober struct {
	env      *diag.Env
	evidence *evidence
	slots    map[string]chan struct{} // by host: the holder of one may connect
}

func (p *prober) makeSlots() {
	for _, s := range p.evidence.servers {
		p.slots[s.host] = make(chan struct{}, maxConnections)
	}
}

// take waits for a slot of the host. Package smtp waits for the address, which several hosts may share.
func (p *prober) take(ctx context.Context, s *server) (release func(), ok bool) {
	select {
	case p.slots[s.host] <- struct{}{}:
		return func() { <-p.slots[s.host] }, true
	case <-ctx.Done():
		return nil, false
	}
}

func (p *prober) config(s *server) smtp.Config {
	return smtp.Config{Addr: s.addr, ServerName: s.host, Name: p.evidence.req.HELO.String()}
}

func (p *prober) probe(ctx context.Context, s *server) {
	release, ok := p.take(ctx, s)
	if !ok {
		return
	}
	p.speak(ctx, s)
	release() // others that wait for the host come first
	if s.err == nil && s.tls != nil && !s.implicitTLS() && s.ehloErr == nil {
		p.inject(ctx, s)
	}
}

func (p *prober) speak(ctx context.Context, s *server) {
	s.started = time.Now()
	session, err := smtp.Dial(ctx, p.env, p.config(s))
	s.session = session
	var g diag.Group
	if name := s.bannerName(); err == nil && fullName(name) {
		s.bannerLookedUp = true
		g.Go(func() { s.bannerAddresses = diag.LookupAddresses(ctx, p.env, name+".") })
	}
	if s.err = asError(err); s.err == nil {
		p.converse(ctx, s)
	} else if s.err.Step == smtp.StepTLS {
		s.tlsFault = s.err
	}
	session.Quit()
	session.State = nil // the description is enough
	if s.tls != nil {
		s.tls.Peers, s.tls.OCSP = nil, nil
	}
	g.Wait()
}

func (p *prober) converse(ctx context.Context, s *server) {
	session := s.session
	s.tls = session.TLS() // of port 465
	if s.err = asError(session.SayHello()); s.err != nil {
		return
	}
	if s.tls != nil {
		s.encrypted = session.Hello
	} else {
		s.plain = session.Hello
		p.startTLS(s)
	}
	switch {
	case p.evidence.req.CheckRelay != nil && !*p.evidence.req.CheckRelay, s.ehloErr != nil:
	case s.tlsFault == nil, s.tlsFault.Kind == smtp.NotOffered,
		s.tlsFault.Step == smtp.StepStartTLS && s.tlsFault.Reply.Code != 0:
		s.relay = p.evidence.testRelay(session, s)
	default:
		p.relayInClear(ctx, s)
	}
}

func (p *prober) startTLS(s *server) {
	if s.tlsFault = asError(s.session.StartTLS()); s.tlsFault != nil {
		return
	}
	s.tls = s.session.TLS()
	s.ehloErr = asError(s.session.SayHello())
	s.encrypted = s.session.Hello
}

// relayInClear tests for a relay over a connection of its own, after a TLS failure on the first: senders do the same.
func (p *prober) relayInClear(ctx context.Context, s *server) {
	s.session.Close() // so there is one connection at a time
	p.reconnect(ctx, s, func(session *smtp.Session) { s.relay = p.evidence.testRelay(session, s) })
}

// reconnect opens another session with a server, up to its hello, and continues with talk.
func (p *prober) reconnect(ctx context.Context, s *server, talk func(*smtp.Session)) {
	later := time.Since(s.started)
	session, err := smtp.Dial(ctx, p.env, p.config(s))
	if err == nil && session.SayHello() == nil {
		talk(session)
	}
	session.Quit()
	for _, line := range session.Transcript {
		line.At += later
		s.session.Transcript = append(s.session.Transcript, line)
	}
}

// inject tests, over a connection of its own, whether commands can be injected into an encrypted session. It waits
// for the end of the first instead of running concurrently: a server that refuses a second connection would stay
// untested.
func (p *prober) inject(ctx context.Context, s *server) {
	s.injection = unproven
	release, ok := p.take(ctx, s)
	if !ok {
		return
	}
	defer release()
	p.reconnect(ctx, s, func(session *smtp.Session) {
		if takes, err := session.AcceptsInjection(); takes {
			s.injection = injectable
		} else if err == nil {
			s.injection = immune
		}
	})
}

func asError(err error) *smtp.Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*smtp.Error](err); ok {
		return e
	}
	return &smtp.Error{Step: smtp.StepCommand, Kind: smtp.Closed, Err: err}
}

// bannerName returns the name with which the server introduces itself in its banner, in lower case (RFC 5321 section
// 4.2); empty if missing.
func (s *server) bannerName() string {
	if s.session == nil || !s.session.Banner.OK() {
		return ""
	}
	fields := strings.Fields(s.session.Banner.Text())
	if len(fields) == 0 {
		return ""
	}
	return strings.TrimSuffix(strings.ToLower(fields[0]), ".")
}

var elsewhere = kit.Regexp(`\.(localdomain|local|lan|internal|invalid|home\.arpa)$`)

// fullName reports whether a name can be that of a host on the Internet: it has a dot, and is neither an address nor
// a name of local meaning (RFC 6761 section 6.3, RFC 6762 section 3).
func fullName(name string) bool {
	host, err := diag.ParseHost(name)
	if err != nil {
		return false
	}
	d, ok := host.Domain()
	if !ok || !strings.Contains(d.String(), ".") {
		return false
	}
	return !strings.HasPrefix(d.String(), "localhost.") && !elsewhere().MatchString(d.String())
}
