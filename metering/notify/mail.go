package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"github.com/diagkit/diagkit/metering"
)

// A MailServer takes mail for delivery (RFC 6409): the operator's own, which all channels of mail share. It is always
// spoken to over TLS. Make one with [ParseMailServer].
type MailServer struct {
	// From is the address that messages come from.
	From string
	// Dial connects to the server. It must apply the guard.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// TLS is the configuration for its certificate. Nil means the authorities of the system.
	TLS *tls.Config
	// DKIM signs messages. Nil disables signing.
	DKIM *MailSigner
	// Unsubscribe is where [Unsubscribe] is served, such as https://diag.example.com/unsubscribe/: mail of channels has
	// links there. Empty means none.
	Unsubscribe string
	// Confirm is where [Confirm] is served, such as https://diag.example.com/confirm/: the question to an address has a
	// link there. Empty means that it has a code instead.
	Confirm string
	// Clock dates the messages of [MailServer.Send]. Nil means time.Now.
	Clock func() time.Time

	host, port string
	implicit   bool // TLS from the first byte (RFC 8314 section 3.3); else STARTTLS
	user       string
	password   *string // a pointer, so that fmt prints an address
}

// ParseMailServer reads where a server is: submissions://USER:PASSWORD@HOST for TLS from the first byte (port 465), or
// submission://… for STARTTLS (port 587). User and password may be absent together. No error repeats the text.
func ParseMailServer(text, from string) (*MailServer, error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("a mail server is submissions:// or submission://, USER:PASSWORD@ and HOST or HOST:PORT")
	}
	s := &MailServer{From: from, host: u.Hostname(), port: u.Port()}
	standard := map[string]string{"submissions": "465", "submission": "587"}[u.Scheme]
	if standard == "" {
		return nil, errors.New("the URL of a mail server begins with submissions:// or submission://")
	}
	s.implicit = u.Scheme == "submissions"
	if s.port == "" {
		s.port = standard
	}
	if u.User != nil {
		password, ok := u.User.Password()
		if s.user = u.User.Username(); s.user == "" || !ok || password == "" {
			return nil, errors.New("the URL of a mail server names a user without a password, or the reverse")
		}
		s.password = &password
	}
	if !isMailAddress(from) {
		return nil, errors.New("the address that mail comes from must be a mail address, without a name")
	}
	return s, nil
}

// Send mails a text of lines to an address, signed if there is a key, and returns when the server has accepted it. The
// error may be shown to an operator. It works on nil, which is a server without --mail-server: that is an error.
func (s *MailServer) Send(ctx context.Context, to, subject, text string) error {
	if s == nil {
		return errors.New(noMailServer)
	}
	if !isMailAddress(to) {
		return errors.New("the recipient must be a mail address, without a name")
	}
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	r := s.submit(ctx, &letter{id: newID("msg_"), at: metering.Now(s.Clock), to: to, subject: subject, text: text})
	if r.verdict != accepted {
		return errors.New(strings.TrimSuffix(r.err+": "+r.response, ": "))
	}
	return nil
}

const noMailServer = "the server has no --mail-server"

// send delivers the message of an event.
func (s *MailServer) send(ctx context.Context, m *message) result {
	if s == nil {
		return result{verdict: retry, err: noMailServer}
	}
	l, err := m.letter(s.Confirm)
	if err != nil {
		return messageFault(err)
	}
	l.more = append(l.more, m.listFields(s.Unsubscribe)...)
	return s.submit(ctx, l)
}

// submit makes one attempt at a letter.
func (s *MailServer) submit(ctx context.Context, l *letter) result {
	text, err := l.write(s.From, s.DKIM)
	if err != nil {
		return messageFault(err)
	}
	client, err := s.connect(ctx)
	if err != nil { // an error here concerns the connection, not the message
		r := result{verdict: retry, err: reasonOf(ctx, err)}
		if answer, ok := errors.AsType[*smtp.SMTPError](err); ok {
			r.status = answer.Code
		}
		return r
	}
	defer client.Close()
	defer context.AfterFunc(ctx, func() { client.Close() })()
	err = client.SendMail(s.From, []string{l.to}, bytes.NewReader(text))
	answer, ok := errors.AsType[*smtp.SMTPError](err)
	switch {
	case err == nil:
		_ = client.Quit() // the message is taken already
		return result{verdict: accepted, status: 250}
	case !ok:
		return result{verdict: retry, err: reasonOf(ctx, err)}
	}
	r := result{verdict: retry, status: answer.Code, response: printable([]byte(answer.Message))}
	r.err = fmt.Sprintf("the mail server answered %d", answer.Code)
	if answer.Code >= 500 { // RFC 5321 section 4.2.1
		r.verdict = refused
	}
	return r
}

// connect opens a session in which messages may be submitted.
func (s *MailServer) connect(ctx context.Context) (*smtp.Client, error) {
	dial := s.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	conn, err := dial(ctx, "tcp", net.JoinHostPort(s.host, s.port))
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	client, err := s.greet(ctx, conn)
	if err == nil && s.password != nil {
		if err = client.Auth(sasl.NewPlainClient("", s.user, *s.password)); err != nil {
			err = &ReasonError{Reason: "the mail server did not take user and password", Err: err}
		}
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return client, nil
}

// greet upgrades the connection to TLS.
func (s *MailServer) greet(ctx context.Context, conn net.Conn) (*smtp.Client, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.TLS != nil {
		config = s.TLS.Clone()
	}
	config.ServerName = s.host
	var client *smtp.Client
	if s.implicit {
		secured := tls.Client(conn, config)
		if err := secured.HandshakeContext(ctx); err != nil {
			return nil, err
		}
		client = smtp.NewClient(secured)
	} else {
		var err error
		if client, err = smtp.NewClientStartTLS(conn, config); err != nil {
			return nil, startTLSFault(err)
		}
	}
	client.CommandTimeout, client.SubmissionTimeout = attemptTime, attemptTime
	_, domain, _ := strings.Cut(s.From, "@")
	return client, client.Hello(domain)
}

// startTLSFault is why a session could not be secured.
func startTLSFault(err error) error {
	_, answered := errors.AsType[*smtp.SMTPError](err)
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	if answered || untrusted {
		return err
	}
	return &ReasonError{Reason: "the mail server does not offer STARTTLS, or broke it off", Err: err}
}
