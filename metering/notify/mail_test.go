package notify

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A postOffice is a submission server.
type postOffice struct {
	mu       sync.Mutex
	messages []string
	from, to string
	hello    string
	secured  bool
	answer   error // to the recipient
}

func (p *postOffice) NewSession(c *smtp.Conn) (smtp.Session, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, p.secured = c.TLSConnectionState()
	p.hello = c.Hostname()
	return &postSession{p: p}, nil
}

type postSession struct {
	p    *postOffice
	user string
}

func (s *postSession) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *postSession) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != "user" || password != "p@ss" {
			return smtp.ErrAuthFailed
		}
		s.user = user
		return nil
	}), nil
}

func (s *postSession) Mail(from string, _ *smtp.MailOptions) error {
	if s.user == "" {
		return smtp.ErrAuthRequired
	}
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.p.from = from
	return nil
}

func (s *postSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.p.to = to
	return s.p.answer
}

func (s *postSession) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.p.messages = append(s.p.messages, string(text))
	return err
}

func (*postSession) Reset()        {}
func (*postSession) Logout() error { return nil }

// open starts the server, with TLS from the first byte or STARTTLS, and returns what reaches it.
func (p *postOffice) open(t *testing.T, implicit bool, login string) *MailServer {
	t.Helper()
	web := httptest.NewTLSServer(nil) // for its certificate
	t.Cleanup(web.Close)
	config := &tls.Config{Certificates: web.TLS.Certificates}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := smtp.NewServer(p)
	server.Domain, server.TLSConfig = "mail.example.net", config
	scheme := "submission"
	if implicit {
		scheme, listener = "submissions", tls.NewListener(listener, config)
	}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	s, err := ParseMailServer(fmt.Sprintf("%s://%s@%s", scheme, login, listener.Addr()), "diagd@example.net")
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(web.Certificate())
	s.TLS = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	return s
}

// mailed makes one attempt at a channel of mail.
func mailed(t *testing.T, s *MailServer) (*world, Delivery) {
	t.Helper()
	w := newWorld(t)
	w.worker.Mail = s
	c, _, err := w.channels.Create(t.Context(), ChannelRequest{
		Account: w.account.ID, Name: "x", Kind: Email, Target: "ops@example.com",
	})
	require.NoError(t, err)
	c = w.confirm(c)
	d := w.test(c)
	w.pump()
	return w, w.delivery(d.ID)
}

func TestMail(t *testing.T) {
	for _, implicit := range []bool{false, true} {
		p := &postOffice{}
		_, d := mailed(t, p.open(t, implicit, "user:p%40ss"))
		require.Equal(t, Delivered, d.State, "%+v", d)
		assert.True(t, p.secured)
		assert.Equal(t, "example.net", p.hello)
		assert.Equal(t, []string{"diagd@example.net", "ops@example.com"}, []string{p.from, p.to})
		require.Len(t, p.messages, 1)
		m, err := mail.ReadMessage(strings.NewReader(p.messages[0]))
		require.NoError(t, err)
		assert.Equal(t, "<"+d.ID+"@example.net>", m.Header.Get("Message-Id"))
		assert.Equal(t, "Test notification", m.Header.Get("Subject"))
	}
}

func TestMailFailures(t *testing.T) {
	tests := []struct {
		name, login string
		answer      error
		status      int
		want        DeliveryState
		fault       string
	}{
		{"temporary", "user:p%40ss", &smtp.SMTPError{Code: 451, Message: "greylisted"}, 451, RetryScheduled, "answered 451"},
		{"permanent", "user:p%40ss", &smtp.SMTPError{Code: 550, Message: "no such user"}, 550, FailedPermanent,
			"answered 550"},
		{"password", "user:wrong", nil, 535, RetryScheduled, "password"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := &postOffice{answer: tt.answer}
			_, d := mailed(t, p.open(t, true, tt.login))
			assert.Equal(t, tt.want, d.State)
			require.Len(t, d.Attempts, 1)
			assert.Equal(t, tt.status, d.Attempts[0].Status)
			assert.Contains(t, d.Attempts[0].Error, tt.fault)
		})
	}
	t.Run("untrusted", func(t *testing.T) {
		s := (&postOffice{}).open(t, false, "user:p%40ss")
		s.TLS = nil
		_, d := mailed(t, s)
		assert.Equal(t, RetryScheduled, d.State)
		assert.Contains(t, d.Attempts[0].Error, "certificate")
	})
	t.Run("guard", func(t *testing.T) {
		s := (&postOffice{}).open(t, false, "user:p%40ss")
		s.Dial = func(context.Context, string, string) (net.Conn, error) {
			return nil, &ReasonError{Reason: "the address is not public"}
		}
		_, d := mailed(t, s)
		assert.Equal(t, RetryScheduled, d.State)
		assert.Equal(t, "the address is not public", d.Attempts[0].Error)
	})
	t.Run("no server", func(t *testing.T) {
		_, d := mailed(t, nil)
		assert.Equal(t, RetryScheduled, d.State)
		assert.Equal(t, "the server has no --mail-server", d.Attempts[0].Error)
	})
	t.Run("no TLS", func(t *testing.T) {
		p := &postOffice{}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		server := smtp.NewServer(p)
		go server.Serve(listener)
		t.Cleanup(func() { server.Close() })
		s, err := ParseMailServer("submission://user:p%40ss@"+listener.Addr().String(), "diagd@example.net")
		require.NoError(t, err)
		_, d := mailed(t, s)
		assert.Equal(t, RetryScheduled, d.State)
		assert.Contains(t, d.Attempts[0].Error, "STARTTLS")
		assert.Empty(t, p.messages)
	})
}

// A silent server is abandoned after the timeout.
func TestMailTimeout(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	s, err := ParseMailServer("submission://mail.example.net", "diagd@example.net")
	require.NoError(t, err)
	s.Dial = func(context.Context, string, string) (net.Conn, error) { return near, nil }
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	r := s.send(ctx, sample(t, "channel.test", Email, facts{}))
	assert.Equal(t, retry, r.verdict)
	assert.Equal(t, "no answer within 10 s", r.err)
}

func TestParseMailServer(t *testing.T) {
	s, err := ParseMailServer("submissions://user:p%40ss@mail.example.net", "diagd@example.net")
	require.NoError(t, err)
	assert.Equal(t, "465", s.port)
	assert.NotContains(t, fmt.Sprintf("%v %+v %#v", *s, *s, *s), "p@ss")
	for _, bad := range [][2]string{
		{"smtp://mail.example.net", "a@example.net"}, {"submission://", "a@example.net"},
		{"mail.example.net", "a@example.net"},
		{"submission://geheim@mail.example.net", "a@example.net"}, {"submission://:geheim@mail.example.net", "a@example.net"},
		{"submission://u:geheim@mail.example.net/x", "a@example.net"}, {"submission://u:geheim%@x", "a@example.net"},
		{"submission://mail.example.net", ""}, {"submission://mail.example.net", "A <a@example.net>"},
		{"submission://mail.example.net", "a@example.net\r\nBcc: b@example.net"},
	} {
		_, err := ParseMailServer(bad[0], bad[1])
		require.Error(t, err, bad)
		assert.NotContains(t, err.Error(), "geheim")
	}
}
