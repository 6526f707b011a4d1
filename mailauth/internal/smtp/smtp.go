package smtp

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/pki"
)

const (
	maxLine       = 2048     // bytes of a line; RFC 5321 section 4.5.3.1.5 allows 512
	maxReplyLines = 100      // lines of a reply; the longest lists of extensions have about 25
	maxReplies    = 50       // replies in a session
	maxBytes      = 32 << 10 // in a session, apart from the records of TLS
	// Times are far below the minutes of RFC 5321 section 4.5.3.2, because a person waits. Some servers delay the
	// banner on purpose: postscreen for 6 seconds.
	connectTimeout = 10 * time.Second
	bannerTimeout  = 15 * time.Second
	stepTimeout    = 10 * time.Second // each other reply, and the handshake
	quitTimeout    = 2 * time.Second
	sessionTimeout = 25 * time.Second // all of a session
)

// portTLS is the port on which TLS comes first (RFC 8314 section 3.3).
const portTLS = 465

// A Config defines which server to connect to, and how.
type Config struct {
	// Addr is the address and port of the server. On port 465 TLS comes first, on others STARTTLS may follow.
	Addr netip.AddrPort
	// ServerName is the name sent in the TLS handshake (SNI), and compared with the certificate by [Session.TLS]: a
	// host name without final dot, or an IP address. If empty, no name is sent.
	ServerName string
	// Name is the client's own name in EHLO. If empty, it is that of the environment, or else the client's address
	// (RFC 5321 section 4.1.4).
	Name string
}

// A Session is a conversation with a server. Its methods must be called one after the other.
type Session struct {
	Config    Config
	Connected time.Duration // until the connection was established; 0 if it never was
	Greeted   time.Duration // from then until the banner arrived; 0 if it never did
	Banner    Reply         // the first reply
	Hello     Hello         // the latest answer to EHLO or HELO; empty again after STARTTLS
	// State is the TLS state, nil without TLS. Its certificates are as served and not verified.
	State *tls.ConnectionState
	// Injected reports that data beyond the reply to STARTTLS arrived before TLS began. It was discarded: it is not
	// from the server, or the server is broken.
	Injected bool

	Transcript []Line // the dialogue of both sides

	env       *diag.Env
	begin     time.Time
	cancel    func()
	conn      net.Conn
	text      lineReader
	remaining int64        // bytes that may still arrive
	count     int          // replies so far
	failed    bool         // the conversation has failed
	ended     func() error // of the context, once there is a connection
}

// Dial connects to a server and reads its banner. A host, by its ServerName, and an address get two connections of an
// environment at a time, on whatever port; Dial waits for one. The session ends with the context, and after 25 seconds
// at the latest. It must be closed, and is not nil also with an error, which is an *[Error].
func Dial(ctx context.Context, env *diag.Env, c Config) (*Session, error) {
	s := newSession(env, c)
	t := diag.Shared(env, turnsKey{}, func() *turns { return &turns{queues: map[string]*queue{}} })
	leave, err := t.enter(ctx, c)
	if err != nil {
		return s, &Error{Step: StepConnect, Kind: Overrun, Err: err}
	}
	s.begin = time.Now()
	ctx, end := context.WithTimeout(ctx, sessionTimeout)
	if err := s.connect(ctx); err != nil {
		end()
		leave()
		return s, err
	}
	// Pending operations end with the context.
	s.ended = ctx.Err
	raw := s.conn // the handshake puts TLS in its place
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	s.cancel = func() {
		stop()
		end()
		raw.Close()
		leave()
	}
	if c.Addr.Port() == portTLS {
		if err := s.handshake(); err != nil {
			return s, err
		}
	}
	return s, s.greeting()
}

func newSession(env *diag.Env, c Config) *Session {
	return &Session{
		Config: c, env: env, begin: time.Now(), remaining: maxBytes, cancel: func() {},
		Hello: Hello{Extensions: []Extension{}}, Transcript: []Line{},
	}
}

func (s *Session) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := s.env.DialAddr(ctx, "tcp", s.Config.Addr, diag.SMTPPorts)
	if err != nil {
		return connectError(err)
	}
	s.Connected = time.Since(s.begin)
	s.conn, s.text = conn, newLineReader(conn, &s.remaining)
	return nil
}

func (s *Session) greeting() error {
	begin := time.Now()
	r, err := s.read(StepBanner, bannerTimeout)
	if err != nil {
		return err
	}
	s.Banner, s.Greeted = r, time.Since(begin)
	return r.failure(StepBanner)
}

// Secure connects to a server and performs all steps up to and including TLS: afterwards the State of the session
// holds the certificates. If the server does not offer STARTTLS, the error has the kind NotOffered. See also
// [Sharing].
func Secure(ctx context.Context, env *diag.Env, c Config) (*Session, error) {
	if held, ok := ctx.Value(sharingKey{}).(*sync.Map); ok {
		return shared(ctx, env, c, held)
	}
	return secure(ctx, env, c)
}

func secure(ctx context.Context, env *diag.Env, c Config) (*Session, error) {
	s, err := Dial(ctx, env, c)
	if err != nil || s.State != nil {
		return s, err
	}
	if err := s.SayHello(); err != nil {
		return s, err
	}
	return s, s.StartTLS()
}

// SayHello introduces the client with EHLO, or with HELO to a server that does not support EHLO (RFC 5321 section
// 3.2).
func (s *Session) SayHello() error {
	for _, verb := range []string{"EHLO", "HELO"} {
		r, err := s.exchange(StepHello, verb+" "+s.name())
		if err != nil {
			return err
		}
		s.Hello = parseHello(r, verb == "EHLO")
		if r.OK() || r.Temporary() {
			break
		}
	}
	return s.Hello.Reply.failure(StepHello)
}

func (s *Session) name() string {
	if s.Config.Name != "" {
		return s.Config.Name
	}
	if s.env != nil && s.env.HelloName != "" {
		return s.env.HelloName
	}
	a, ok := s.conn.LocalAddr().(*net.TCPAddr)
	if !ok {
		return "[127.0.0.1]"
	}
	ip := a.AddrPort().Addr().Unmap().WithZone("")
	if ip.Is6() {
		return "[IPv6:" + ip.String() + "]" // RFC 5321 section 4.1.3
	}
	return "[" + ip.String() + "]"
}

// StartTLS begins TLS, if the server offers it in Hello.
func (s *Session) StartTLS() error { return s.startTLS() }

// startTLS begins TLS. The text behind the command is sent in the clear, in the same segment.
func (s *Session) startTLS(behind ...string) error {
	if !s.Hello.Has("STARTTLS") {
		return &Error{Step: StepStartTLS, Kind: NotOffered}
	}
	r, err := s.exchange(StepStartTLS, append([]string{"STARTTLS"}, behind...)...)
	if err != nil {
		return err
	}
	if err := r.failure(StepStartTLS); err != nil {
		return err
	}
	// A TLS server waits for the client to begin. Data that has arrived by now was not sent by it, or was meant to be
	// mistaken for a part of the encrypted session (RFC 3207 section 6, CVE-2011-0411).
	s.Injected = s.text.Buffered() > 0
	s.Hello = Hello{Extensions: []Extension{}} // RFC 3207 section 4.2
	return s.handshake()
}

// AcceptsInjection begins TLS like an attacker on the network path: with a NOOP in the clear behind STARTTLS. It
// reports whether the server answers that command inside TLS, as if the client had sent it there (RFC 3207 section
// 6, CVE-2011-0411). A server that refuses or disconnects does not. With an error the result is unknown.
func (s *Session) AcceptsInjection() (bool, error) {
	name := s.Hello.Domain
	err := s.startTLS("NOOP")
	var r Reply
	if err == nil {
		r, err = s.exchange(StepHello, "EHLO "+s.name())
	}
	if e, failed := errors.AsType[*Error](err); failed {
		if e.Kind == Closed || e.Kind == Rejected || e.Kind == NoHandshake {
			return false, nil
		}
		return false, err
	}
	if r.Code == 220 { // a second banner, which other replies may follow
		return false, s.fail(&Error{Step: StepHello, Kind: Desynchronized})
	}
	if len(r.Lines) > 1 || name != "" && strings.EqualFold(parseHello(r, true).Domain, name) {
		return false, nil // the answer to EHLO, and no other before it
	}
	if _, err := s.read(StepHello, stepTimeout); err != nil {
		return false, err
	}
	return true, nil
}

// handshake performs the TLS handshake. It offers all versions and suites of the library, like senders that would
// otherwise send in clear text (RFC 7435 section 3).
func (s *Session) handshake() error {
	suites := append(tls.CipherSuites(), tls.InsecureCipherSuites()...)
	conn := tls.Client(s.conn, &tls.Config{
		ServerName:         s.Config.ServerName,
		InsecureSkipVerify: true, // verified afterwards, so that a bad certificate can be described
		MinVersion:         tls.VersionTLS10,
		CipherSuites:       kit.Map(suites, func(s *tls.CipherSuite) uint16 { return s.ID }),
		Time:               s.env.Now,
	})
	if err := s.conn.SetDeadline(time.Now().Add(stepTimeout)); err != nil {
		return handshakeError(err)
	}
	if err := conn.Handshake(); err != nil {
		failure := handshakeError(err)
		s.note(fromTLS, failure.Error())
		return s.fail(failure)
	}
	state := conn.ConnectionState()
	s.State = &state
	s.conn, s.text = conn, newLineReader(conn, &s.remaining)
	s.note(fromTLS, fmt.Sprintf("%s, %s", tls.VersionName(state.Version), tls.CipherSuiteName(state.CipherSuite)))
	return nil
}

// TLS describes the encrypted connection and judges its certificates; nil without one.
func (s *Session) TLS() *pki.TLS {
	if s.State == nil {
		return nil
	}
	v := pki.Verifier{ServerName: s.Config.ServerName, Now: s.env.Now()}
	if s.env != nil {
		v.Roots = s.env.Roots
	}
	return v.Describe(*s.State)
}

// Command sends a command and returns the reply, whatever its code. A command has one line, and no line end.
func (s *Session) Command(line string) (Reply, error) { return s.exchange(StepCommand, line) }

// Quit sends QUIT if the server still listens, waits two seconds at most, and closes the session.
func (s *Session) Quit() {
	if s.conn != nil && !s.failed && s.write(quitTimeout, "QUIT") == nil {
		s.read(StepCommand, quitTimeout) // a courtesy: nothing depends on the reply
	}
	s.Close()
}

// Close ends the session immediately.
func (s *Session) Close() { s.cancel() }

// exchange sends a command, followed directly by others, and returns the reply to the first.
func (s *Session) exchange(step Step, lines ...string) (Reply, error) {
	if strings.ContainsAny(strings.Join(lines, ""), "\r\n") {
		return Reply{}, &Error{Step: step, Kind: Rejected, Err: fmt.Errorf("a command of more than one line")}
	}
	if s.text.Buffered() > 0 {
		// The server has sent an unsolicited reply: from here on its replies would be matched to the wrong commands.
		return Reply{}, s.fail(&Error{Step: step, Kind: Desynchronized})
	}
	unsent := s.write(stepTimeout, lines...)
	r, err := s.read(step, stepTimeout) // even if the server has disconnected, because it may have sent a reason
	if err != nil && unsent != nil {
		return Reply{}, readError(step, unsent)
	}
	return r, err
}

// An Error says how a session ended. Its text is a clause that describes the failure, without the name of the server.
type Error struct {
	Step  Step
	Kind  Kind
	Reply Reply // the server's reply, for Deferred and Rejected
	Err   error // the cause; may be nil
}

func (e *Error) Error() string {
	at := map[Step]string{
		StepConnect: "the connection attempt", StepBanner: "the connection", StepHello: "EHLO",
		StepStartTLS: "STARTTLS", StepTLS: "the TLS handshake", StepCommand: "a command",
	}[e.Step]
	text := map[Kind]string{
		Blocked: "the address is not public", Refused: "the connection was refused",
		Unreachable: "no connection could be established", NotOffered: "STARTTLS is not offered",
		Desynchronized: "the server sends replies that no command asked for",
		TimedOut:       "there was no response to " + at, NotSMTP: "the response to " + at + " is not SMTP",
		Closed:   "the server closed the connection without a response to " + at,
		TooLong:  "the response to " + at + " is longer than any mail server needs",
		Deferred: "the response to " + at + " was " + e.Reply.String(),
		Rejected: "the response to " + at + " was " + e.Reply.String(),
		Overrun:  "the time for the session ended while waiting for a response to " + at,
	}[e.Kind]
	switch {
	case e.Step == StepBanner:
		text = cmp.Or(map[Kind]string{
			TimedOut: "no complete banner came", Closed: "the server closed the connection without a banner",
			NotSMTP: "the first line is not one of SMTP", TooLong: "the banner is longer than any mail server needs",
			Deferred: "the banner was " + e.Reply.String(), Rejected: "the banner was " + e.Reply.String(),
		}[e.Kind], text)
	case e.Step == StepConnect && e.Kind == Overrun:
		text = "the time ended while other connections to the same host were under way"
	}
	return cmp.Or(text, "the TLS handshake failed: "+handshakeText(e.Err))
}

// Temporary reports whether trying again later may help.
func (e *Error) Temporary() bool {
	return e.Kind == Deferred || e.Kind == TimedOut || e.Kind == Unreachable || e.Kind == Overrun
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
