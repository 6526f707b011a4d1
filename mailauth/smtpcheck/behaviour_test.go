package smtpcheck

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	gosmtp "github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"
)

var ofDomain = Request{Domain: diag.MustDomain("example.com"), HELO: diag.MustDomain("client.example.net")}

// MX records, addresses, connection with PTR, then the addresses of the PTR's and the banner's names, and a second
// connection: commands behind STARTTLS would break the first if they are read as TLS.
func TestRoundTrips(t *testing.T) {
	for zone, want := range map[string]int{two: 5, both: 5, "example.com. MX 0 .": 1} {
		trips := diagtest.RoundTrips(t, func(w *diagtest.World) {
			w.Zone(zone)
			good()(w)
			on("mx2.example.com")(w)
		}, func(ctx context.Context, env *diag.Env) {
			_, err := Check(ctx, env, ofDomain)
			require.NoError(t, err)
		})
		require.Equal(t, want, trips, zone)
	}
}

// False signs of an open relay: replies that match no command, that come late, and that are not final.
func TestRelayInDoubt(t *testing.T) {
	for name, replies := range map[string]map[string]string{
		"two replies behind the banner": {"CONNECT": "220 mx1.example.com ESMTP\n250 mx1\n250 ok"},
		"one behind the sender":         {"MAIL": "250 ok\n250 ok", "RCPT": "550 5.7.1 relaying denied"},
		"252 is no acceptance":          {"RCPT": "252 cannot verify"},
	} {
		t.Run(name, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			w.Zone(one)
			w.SMTP(diagtest.SMTP{Host: "mx1.example.com", Replies: replies})
			r, err := Check(t.Context(), w.Env(), ofDomain)
			require.NoError(t, err)
			require.NotEqual(t, RelayOpen, r.Servers[0].Relay.Status)
			require.NotContains(t, diagtest.Codes(r.Verdict), diag.Code("smtp.relay.open"))
		})
	}
}

// No message is ever sent, and the session is ended politely.
func TestCommands(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone(one)
	server := w.SMTP(diagtest.SMTP{Host: "mx1.example.com"})
	r, err := Check(t.Context(), w.Env(), ofDomain)
	require.NoError(t, err)
	require.Equal(t, RelayOpen, r.Servers[0].Relay.Status)
	require.Equal(t, []string{
		"EHLO client.example.net", "STARTTLS", "EHLO client.example.net", "MAIL FROM:<smtp-check@example.org>",
		"RCPT TO:<smtp-check@example.net>", "RSET", "RCPT TO:<smtp-check-control@example.org>", "QUIT",
		"EHLO client.example.net", "STARTTLS", "EHLO client.example.net", "QUIT"}, server.Commands())
	require.Empty(t, server.Mails())
}

// The foreign addresses are never in the domain or host under test.
func TestStrangers(t *testing.T) {
	for _, name := range []string{"example.com", "example.org", "mail.example.net", "example.de", "relay.test"} {
		for _, req := range []string{"domain", "host"} {
			e := &evidence{}
			if req == "domain" {
				e.req.Domain = diag.MustDomain(name)
			} else {
				e.req.Host = Host{diag.MustHost(name)}
			}
			from, to := e.strangers()
			require.NotEqual(t, from, to)
			for _, d := range []string{from, to} {
				require.False(t, name == d || strings.HasSuffix(name, "."+d), "%s: %s", name, d)
			}
		}
	}
}

// A host never gets more than two connections at a time, however it is referred to.
func TestConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := diagtest.NewWorld(t)
		w.Zone(`
			example.com.     MX 10 mx1.example.com.
			example.com.     MX 20 mx2.example.com.
			example.com.     MX 30 mx3.example.com.
			mx1.example.com. A 192.0.2.1
			mx1.example.com. A 192.0.2.2
			mx1.example.com. AAAA 2001:db8::1
			mx2.example.com. A 192.0.2.1
			mx3.example.com. A 192.0.2.1
			mx3.example.com. A 192.0.2.3`)
		var mu sync.Mutex
		open, most := map[string]int{}, 0
		count := func(key string, n int) {
			mu.Lock()
			defer mu.Unlock()
			open[key] += n
			most = max(most, open[key])
		}
		serve := func(host string) func(net.Conn) {
			return func(c net.Conn) {
				keys := []string{c.LocalAddr().(*net.TCPAddr).IP.String(), host}
				for _, key := range keys {
					count(key, 1)
				}
				time.Sleep(time.Second)
				for _, key := range keys {
					count(key, -1)
				}
			}
		}
		for _, port := range []string{"25", "465", "587"} {
			w.Serve("mx1.example.com:"+port, serve("mx1"))
			w.Serve("192.0.2.3:"+port, serve("mx3"))
		}
		req := ofDomain
		req.Ports = []int{25, 465, 587}
		r, err := Check(t.Context(), w.Env(), req)
		require.NoError(t, err)
		require.Len(t, r.Servers, 12, "each address and port once")
		require.Equal(t, 2, most)
		w.Close()
	})
}

// The order of servers does not depend on which answers first.
func TestOrder(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone(both + "example.com. MX 5 mx0.example.com.\nmx0.example.com. A 192.0.2.9\n")
	req := ofDomain
	req.Ports = []int{587, 25}
	r, err := Check(t.Context(), w.Env(), req)
	require.NoError(t, err)
	var order []string
	for _, s := range r.Servers {
		order = append(order, fmt.Sprintf("%s %s %d", s.Host, s.Address, s.Port))
	}
	require.Equal(t, []string{
		"mx0.example.com 192.0.2.9 25", "mx0.example.com 192.0.2.9 587",
		"mx1.example.com 192.0.2.1 25", "mx1.example.com 2001:db8::1 25",
		"mx1.example.com 192.0.2.1 587", "mx1.example.com 2001:db8::1 587"}, order)
}

func TestRequests(t *testing.T) {
	w := diagtest.NewWorld(t)
	domain, host := ofDomain.Domain, Host{diag.MustHost("mx1.example.com")}
	for _, req := range []Request{
		{}, {Domain: domain, Host: host}, {Domain: domain, Ports: []int{26}}, {Domain: domain, Ports: []int{65561}},
		{Host: host, MaxHosts: 3}, {Domain: domain, MaxHosts: 11}, {Domain: domain, MaxHosts: -1},
	} {
		_, err := Check(t.Context(), w.Env(), req)
		_, ok := errors.AsType[*diag.InputError](err)
		require.True(t, ok, "%+v: %v", req, err)
	}
}

func TestUnavailable(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Silence("example.com")
	w.Silence("mx1.example.com")
	for _, req := range []Request{ofDomain, {Host: Host{diag.MustHost("mx1.example.com")}}} {
		_, err := Check(t.Context(), w.Env(), req)
		require.ErrorIs(t, err, diag.ErrUnavailable)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Check(ctx, w.Env(), ofDomain)
	require.ErrorIs(t, err, context.Canceled)
}

// Everything slow at once, on every port of the maximum number of hosts: the report still comes in time.
func TestTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := diagtest.NewWorld(t)
		for i := range 10 {
			host := fmt.Sprintf("mx%d.example.com", i)
			w.Zone(fmt.Sprintf("example.com. MX %d %s.\n%s. A 192.0.2.%d\n%s. AAAA 2001:db8::%d\n", i, host, host, i+1, host, i+1))
			for _, port := range []string{":25", ":465", ":587"} {
				b := []diagtest.Behaviour{diagtest.Unreachable, diagtest.Hangs}[i%2]
				w.Behave(host+port, b)
			}
		}
		req := ofDomain
		req.Ports, req.MaxHosts = []int{25, 465, 587}, 10
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		begin := time.Now()
		r, err := Check(ctx, w.Env(), req)
		require.NoError(t, err)
		require.Less(t, time.Since(begin), 30*time.Second)
		require.Len(t, r.Servers, 60)
		require.True(t, r.Partial)
		w.Close()
	})
}

// backend is the backend of a go-smtp server, an implementation independent of the client.
type backend struct{ relays bool }

type mailSession struct{ backend }

func (b backend) NewSession(*gosmtp.Conn) (gosmtp.Session, error) { return mailSession{b}, nil }

func (mailSession) Reset()                                 {}
func (mailSession) Logout() error                          { return nil }
func (mailSession) Mail(string, *gosmtp.MailOptions) error { return nil }
func (s mailSession) Rcpt(string, *gosmtp.RcptOptions) error {
	if s.relays {
		return nil
	}
	return &gosmtp.SMTPError{Code: 550, EnhancedCode: gosmtp.EnhancedCode{5, 7, 1}, Message: "Relaying denied"}
}
func (mailSession) Data(io.Reader) error { panic("a message was sent") }

// A listener hands out connections of the world.
type listener struct {
	conns chan net.Conn
	done  chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
func (l *listener) Close() error   { close(l.done); return nil }
func (l *listener) Addr() net.Addr { return &net.TCPAddr{} }

// served starts a go-smtp server in the world, on port 25 of the only host, or with TLS from the start on port 465.
func served(t *testing.T, w *diagtest.World, port string, s *gosmtp.Server) {
	t.Helper()
	l := &listener{make(chan net.Conn), make(chan struct{})}
	over := net.Listener(l)
	if port == "465" {
		over = tls.NewListener(l, s.TLSConfig)
	}
	var g sync.WaitGroup
	g.Go(func() { s.Serve(over) })
	t.Cleanup(func() {
		s.Close()
		g.Wait()
	})
	w.Serve("mx1.example.com:"+port, func(c net.Conn) {
		closed := make(chan struct{})
		select {
		case l.conns <- &notifying{Conn: c, closed: closed}:
			<-closed
		case <-l.done:
		}
	})
}

// notifying signals when it is closed.
type notifying struct {
	net.Conn
	once   sync.Once
	closed chan struct{}
}

func (n *notifying) Close() error {
	n.once.Do(func() { close(n.closed) })
	return n.Conn.Close()
}

// Its answer to EHLO begins with "Hello" and not with the name of the server.
func TestAgainstGoSMTP(t *testing.T) {
	for _, tt := range []struct {
		name   string
		relays bool
		tls    bool
		port   int
		want   string
	}{
		{"good", false, true, 25, "valid 99 hello.name"},
		{"open relay", true, true, 25, "invalid 39 relay.open hello.name"},
		{"no TLS", false, false, 25, "warning 88 starttls.missing hello.name"},
		{"submission with TLS from the start", false, true, 465, "valid 99 hello.name submission.auth"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			w.Zone(one)
			s := gosmtp.NewServer(backend{relays: tt.relays})
			s.Domain, s.MaxMessageBytes = "mx1.example.com", 52428800
			if tt.tls {
				cert := w.Certificate(diagtest.CertSpec{Names: []string{"mx1.example.com"}})
				s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{cert}, Time: w.Now}
			}
			served(t, w, fmt.Sprint(tt.port), s)
			req := ofDomain
			req.Ports = []int{tt.port}
			r, err := Check(t.Context(), w.Env(), req)
			require.NoError(t, err)
			require.Equal(t, tt.want, summary(r.Verdict))
			require.Equal(t, int64(52428800), *r.Servers[0].SizeLimit)
			require.Contains(t, r.Servers[0].Banner, "220 mx1.example.com ESMTP")
			last := r.Servers[0].Transcript[len(r.Servers[0].Transcript)-1]
			require.Contains(t, last.Line, "221 ")
		})
	}
}

func TestParseHost(t *testing.T) {
	for text, want := range map[string]string{
		"MX1.example.com.": "mx1.example.com", "192.0.2.25": "192.0.2.25", "2001:db8::25": "[2001:db8::25]",
		"[2001:db8::25]": "[2001:db8::25]", "mx.b\u00fccher.example": "mx.xn--bcher-kva.example",
	} {
		h, err := ParseHost(text)
		require.NoError(t, err, text)
		require.Equal(t, want, h.String())
		var decoded Host
		require.NoError(t, decoded.UnmarshalText([]byte(text)))
		require.Equal(t, h, decoded)
	}
	for _, text := range []string{"", "a b", "localhost", "example.com:25", "example.com\u200B"} {
		h, err := ParseHost(text)
		input, ok := errors.AsType[*diag.InputError](err)
		require.True(t, ok, "%q: %v", text, err)
		require.Equal(t, "host", input.Field)
		require.Zero(t, h)
	}
}
