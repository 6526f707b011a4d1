package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/url"
	"strings"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// A MailServer takes mail for delivery (RFC 6409): the operator's own, which all channels of mail share. It is always
// spoken to over TLS. Make one with [ParseMailServer].
type MailServer struct {
	// From is the address that messages come from.
	From string
	// Dial connects to the server. It is to ask the guard.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// TLS is the configuration for its certificate. Nil means the authorities of the system.
	TLS *tls.Config

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
	a, err := mail.ParseAddress(from)
	if err != nil || a.Address != from || !ascii(from) {
		return nil, errors.New("the address that mail comes from must be a mail address, without a name")
	}
	return s, nil
}

// send delivers one message.
func (s *MailServer) send(ctx context.Context, m *message) result {
	if s == nil {
		return result{verdict: retry, err: "the server has no --mail-server"}
	}
	text, err := m.mail(s.From)
	if err != nil {
		return result{verdict: refused, err: err.Error()}
	}
	client, err := s.connect(ctx)
	if err != nil { // whatever the server says here, it says of us and not of the message
		r := result{verdict: retry, err: plain(ctx, err)}
		if answer, ok := errors.AsType[*smtp.SMTPError](err); ok {
			r.status = answer.Code
		}
		return r
	}
	defer client.Close()
	defer context.AfterFunc(ctx, func() { client.Close() })()
	err = client.SendMail(s.From, []string{m.channel.Target}, bytes.NewReader(text))
	answer, ok := errors.AsType[*smtp.SMTPError](err)
	switch {
	case err == nil:
		_ = client.Quit() // the message is taken already
		return result{verdict: accepted, status: 250}
	case !ok:
		return result{verdict: retry, err: plain(ctx, err)}
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
			err = fmt.Errorf("the mail server did not take user and password: %w", err)
		}
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return client, nil
}

// greet makes the connection one over TLS.
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
			return nil, err
		}
	}
	client.CommandTimeout, client.SubmissionTimeout = attemptTime, attemptTime
	_, domain, _ := strings.Cut(s.From, "@")
	return client, client.Hello(domain)
}

// mail is the message of an event (RFC 5322). Its id is that of the delivery, so that attempts of one are the same
// message.
func (m *message) mail(from string) ([]byte, error) {
	s, err := describe(m.event)
	if err != nil {
		return nil, err
	}
	_, domain, _ := strings.Cut(from, "@")
	var b bytes.Buffer
	header := func(name, value string) { b.WriteString(name + ": " + value + "\r\n") }
	header("Date", m.delivery.CreatedAt.UTC().Format(time.RFC1123Z))
	header("From", "<"+from+">")
	header("To", "<"+m.channel.Target+">")
	header("Subject", subject(s.Title))
	header("Message-ID", "<"+m.delivery.ID+"@"+domain+">")
	header("Auto-Submitted", "auto-generated") // RFC 3834 section 5
	header("X-Service-Event-ID", m.event.ID)
	header("X-Service-Event-Type", string(m.event.Type))
	header("MIME-Version", "1.0")
	header("Content-Type", "text/plain; charset=utf-8")
	header("Content-Transfer-Encoding", "quoted-printable")
	b.WriteString("\r\n")
	w := quotedprintable.NewWriter(&b)
	if _, err := w.Write([]byte(strings.ReplaceAll(m.plain(s), "\n", "\r\n"))); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// maxSubject keeps subjects on one line in most programs.
const maxSubject = 120

// subject encodes what a header cannot hold (RFC 2047), also what would be taken for encoded already.
func subject(title string) string {
	title = cut(title, maxSubject)
	if strings.Contains(title, "=?") {
		title = strings.ReplaceAll(title, "=?", "= ?")
	}
	return strings.ReplaceAll(mime.QEncoding.Encode("utf-8", title), "?= =?", "?=\r\n =?")
}

// plain is the event as a text of lines.
func (m *message) plain(s summary) string {
	var b strings.Builder
	b.WriteString(s.Text + "\n")
	if len(s.Facts) > 0 {
		b.WriteString("\n")
	}
	for _, f := range s.Facts {
		b.WriteString(f.Name + ": " + f.Value + "\n")
	}
	if s.Action != "" {
		b.WriteString("\n" + s.Action + "\n")
	}
	b.WriteString("\n-- \n" + m.footer() + "\n")
	return b.String()
}
