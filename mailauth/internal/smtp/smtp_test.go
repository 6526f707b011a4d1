package smtp_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/internal/smtp"
	"github.com/stretchr/testify/require"
)

const (
	host = "mx.example.com"
	addr = "192.0.2.25"
)

func config(port uint16) smtp.Config {
	return smtp.Config{
		Addr: netip.AddrPortFrom(netip.MustParseAddr(addr), port), ServerName: host, Name: "client.example.net",
	}
}

func ExampleSecure() {
	world, err := diagtest.New(diagtest.Config{Zone: "mx.example.com. A 192.0.2.25"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	world.SMTP(diagtest.SMTP{Host: "mx.example.com", Cert: diagtest.CertSelfSigned})

	s, err := smtp.Secure(context.Background(), world.Env(), smtp.Config{
		Addr: netip.MustParseAddrPort("192.0.2.25:25"), ServerName: "mx.example.com", Name: "client.example.net",
	})
	defer s.Quit()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Banner)
	fmt.Println(len(s.State.PeerCertificates), s.TLS().TrustError)
	// Output:
	// 220 mx.example.com ESMTP
	// 1 the certificate is signed with its own key, not by a certificate authority
}

// A good server, step by step.
func TestSession(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Host(host, addr)
	server := w.SMTP(diagtest.SMTP{
		Host: host, Extensions: []string{"size 1000", "AUTH=LOGIN", "auth PLAIN login"}, Encrypted: []string{"PIPELINING"},
	})
	s, err := smtp.Secure(t.Context(), w.Env(), config(25))
	require.NoError(t, err)
	require.Empty(t, s.Hello.Extensions, "what was said in clear text counts no more")
	require.True(t, s.TLS().Trusted)
	require.True(t, s.TLS().HostnameMatch)
	require.False(t, s.Injected)
	require.NoError(t, s.SayHello())
	require.True(t, s.Hello.Extended)
	require.Equal(t, "mx.example.com", s.Hello.Domain)
	require.Equal(t, []smtp.Extension{{Name: "PIPELINING", Params: []string{}}}, s.Hello.Extensions)
	r, err := s.Command("MAIL FROM:<>")
	require.NoError(t, err)
	require.True(t, r.OK())
	_, err = s.Command("RSET\r\nDATA")
	require.Error(t, err)
	s.Quit()
	require.Equal(t, []string{
		"EHLO client.example.net", "STARTTLS", "EHLO client.example.net", "MAIL FROM:<>", "QUIT"}, server.Commands())
	var said []string
	for _, line := range s.Transcript {
		said = append(said, string(line.From)+" "+line.Text)
	}
	require.Equal(t, []string{
		"server 220 mx.example.com ESMTP", "client EHLO client.example.net", "server 250-mx.example.com",
		"server 250-size 1000", "server 250-AUTH=LOGIN", "server 250-auth PLAIN login", "server 250 STARTTLS",
		"client STARTTLS", "server 220 go ahead", "tls TLS 1.3, TLS_AES_128_GCM_SHA256",
		"client EHLO client.example.net", "server 250-mx.example.com", "server 250 PIPELINING",
		"client MAIL FROM:<>", "server 250 ok", "client QUIT", "server 221 bye"}, said)
}

func TestImplicitTLS(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Host(host, addr)
	w.SMTP(diagtest.SMTP{Host: host, Implicit: true})
	s, err := smtp.Secure(t.Context(), w.Env(), config(465))
	require.NoError(t, err)
	require.True(t, s.TLS().Trusted)
	require.Equal(t, 220, s.Banner.Code)
	s.Close()
}

// The name in EHLO is an address literal if no name is given (RFC 5321 section 4.1.3).
func TestName(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Host(host, addr, "2001:db8::25")
	server := w.SMTP(diagtest.SMTP{Host: host})
	for _, to := range []string{"192.0.2.25:25", "[2001:db8::25]:25"} {
		s, err := smtp.Secure(t.Context(), w.Env(), smtp.Config{Addr: netip.MustParseAddrPort(to)})
		require.NoError(t, err)
		s.Quit()
	}
	require.Contains(t, server.Commands(), "EHLO [203.0.113.254]")
	require.Contains(t, server.Commands(), "EHLO [IPv6:2001:db8:ffff::254]")
	env := w.NewEnv()
	env.HelloName = "checks.example.net"
	s, err := smtp.Secure(t.Context(), env, smtp.Config{Addr: netip.MustParseAddrPort("192.0.2.25:25")})
	require.NoError(t, err)
	s.Quit()
	require.Contains(t, server.Commands(), "EHLO checks.example.net")
}

// raw is a server that sends the texts in turn.
func raw(texts ...string) func(*diagtest.World) {
	return func(w *diagtest.World) {
		w.Serve(host+":25", func(c net.Conn) {
			r := bufio.NewReader(c)
			for _, text := range texts {
				io.WriteString(c, text)
				if _, err := r.ReadString('\n'); err != nil {
					return
				}
			}
			io.Copy(io.Discard, r)
		})
	}
}

func fake(s diagtest.SMTP) func(*diagtest.World) {
	s.Host = host
	return func(w *diagtest.World) { w.SMTP(s) }
}

func replies(command, reply string) func(*diagtest.World) {
	return fake(diagtest.SMTP{Replies: map[string]string{command: reply}})
}

func behaves(b diagtest.Behaviour) func(*diagtest.World) {
	return func(w *diagtest.World) { w.Behave(host+":25", b) }
}

// endless sends the same text repeatedly.
func endless(text string, every time.Duration) func(*diagtest.World) {
	return func(w *diagtest.World) {
		w.Serve(host+":25", func(c net.Conn) {
			for {
				if _, err := io.WriteString(c, text); err != nil {
					return
				}
				time.Sleep(every)
			}
		})
	}
}

// old speaks TLS 1.1 at most.
func old(w *diagtest.World) {
	w.SMTP(diagtest.SMTP{Host: host, TLS: &tls.Config{
		Certificates: []tls.Certificate{w.Certificate(diagtest.CertSpec{Names: []string{host}})},
		MinVersion:   tls.VersionTLS10, MaxVersion: tls.VersionTLS11, Time: w.Now,
	}})
}

func TestErrors(t *testing.T) {
	ok := "250-mx.example.com\r\n250 STARTTLS\r\n"
	tests := []struct {
		name  string
		setup func(*diagtest.World)
		step  smtp.Step
		kind  smtp.Kind
		text  string
	}{
		{"refused", behaves(diagtest.Refuses), smtp.StepConnect, smtp.Refused, "the connection was refused"},
		{"unreachable", behaves(diagtest.Unreachable), smtp.StepConnect, smtp.TimedOut,
			"there was no response to the connection attempt"},
		{"silent", behaves(diagtest.Hangs), smtp.StepBanner, smtp.TimedOut, "no complete banner came"},
		{"closes", behaves(diagtest.Closes), smtp.StepBanner, smtp.Closed,
			"the server closed the connection without a banner"},
		{"banner 421", replies("CONNECT", "421 4.3.2 busy"), smtp.StepBanner, smtp.Deferred,
			"the banner was 421 4.3.2 busy"},
		{"banner 554", replies("CONNECT", "554-no\n554 mail here"), smtp.StepBanner, smtp.Rejected,
			"the banner was 554 no mail here"},
		{"ssh", raw("SSH-2.0-OpenSSH_10.0\r\n"), smtp.StepBanner, smtp.NotSMTP,
			"the first line is not one of SMTP"},
		{"binary without line end", raw("\x16\x03\x01\x00\xff"), smtp.StepBanner, smtp.NotSMTP,
			"the first line is not one of SMTP"},
		{"codes that differ", raw("220-a\r\n250 b\r\n"), smtp.StepBanner, smtp.NotSMTP,
			"the first line is not one of SMTP"},
		{"begun line", raw("220 mx"), smtp.StepBanner, smtp.TimedOut, "no complete banner came"},
		{"long line", endless("2", 0), smtp.StepBanner, smtp.TooLong,
			"the banner is longer than any mail server needs"},
		{"many lines", endless("220-"+strings.Repeat("x", 400)+"\r\n", 0), smtp.StepBanner, smtp.TooLong,
			"the banner is longer than any mail server needs"},
		{"slow line", endless("2", 2*time.Second), smtp.StepBanner, smtp.TimedOut,
			"no complete banner came"},
		{"slow lines", endless("220-wait\r\n", 2*time.Second), smtp.StepBanner, smtp.TimedOut,
			"no complete banner came"},
		{"EHLO silent", replies("EHLO", diagtest.NoReply), smtp.StepHello, smtp.TimedOut,
			"there was no response to EHLO"},
		{"EHLO hung up", replies("EHLO", diagtest.HangUp), smtp.StepHello, smtp.Closed,
			"the server closed the connection without a response to EHLO"},
		{"EHLO deferred", replies("EHLO", "421 no"), smtp.StepHello, smtp.Deferred, "the response to EHLO was 421 no"},
		{"HELO only", replies("EHLO", "502 no"), smtp.StepStartTLS, smtp.NotOffered, "STARTTLS is not offered"},
		{"no hello at all", fake(diagtest.SMTP{Replies: map[string]string{"EHLO": "502 no", "HELO": "550 never"}}),
			smtp.StepHello, smtp.Rejected, "the response to EHLO was 550 never"},
		{"not offered", fake(diagtest.SMTP{NoStartTLS: true}), smtp.StepStartTLS, smtp.NotOffered,
			"STARTTLS is not offered"},
		{"454", replies("STARTTLS", "454 4.7.0 not now"), smtp.StepStartTLS, smtp.Deferred,
			"the response to STARTTLS was 454 4.7.0 not now"},
		{"503", replies("STARTTLS", "503 never"), smtp.StepStartTLS, smtp.Rejected,
			"the response to STARTTLS was 503 never"},
		{"no TLS", raw("220 mx\r\n", ok, "220 go\r\n", "not TLS at all\r\n"), smtp.StepTLS, smtp.NoHandshake,
			"the TLS handshake failed: the server does not speak TLS"},
		{"TLS stalls", raw("220 mx\r\n", ok, "220 go\r\n"), smtp.StepTLS, smtp.TimedOut,
			"there was no response to the TLS handshake"},
		{"tarpit", fake(diagtest.SMTP{Delays: map[string]time.Duration{
			"CONNECT": 9 * time.Second, "EHLO": 9 * time.Second, "STARTTLS": 9 * time.Second}}),
			smtp.StepStartTLS, smtp.Overrun,
			"the time for the session ended while waiting for a response to STARTTLS"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := diagtest.NewWorld(t)
				w.Host(host, addr)
				tt.setup(w)
				begin := time.Now()
				s, err := smtp.Secure(t.Context(), w.Env(), config(25))
				e, ok := errors.AsType[*smtp.Error](err)
				require.True(t, ok, "%v", err)
				require.Equal(t, []any{tt.step, tt.kind, tt.text}, []any{e.Step, e.Kind, e.Error()})
				require.Nil(t, s.TLS())
				s.Quit()
				require.LessOrEqual(t, time.Since(begin), 27*time.Second)
				require.Less(t, len(s.Transcript), 120)
				w.Close()
			})
		})
	}
}

func TestOldTLS(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Host(host, addr)
	old(w)
	s, err := smtp.Secure(t.Context(), w.Env(), config(25))
	require.NoError(t, err)
	require.Equal(t, uint16(tls.VersionTLS11), s.State.Version)
	s.Close()
}

// Plain bytes behind the reply to STARTTLS are discarded and reported.
func TestInjected(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Host(host, addr)
	w.SMTP(diagtest.SMTP{Host: host, Replies: map[string]string{"STARTTLS": "220 go\n250 forged"}})
	s, err := smtp.Secure(t.Context(), w.Env(), config(25))
	require.NoError(t, err)
	require.True(t, s.Injected)
	require.NoError(t, s.SayHello())
	require.Equal(t, "mx.example.com", s.Hello.Domain)
	s.Close()
}

func TestBlocked(t *testing.T) {
	for _, to := range []string{"127.0.0.1:25", "192.168.1.1:25", "192.0.2.25:22"} {
		s, err := smtp.Secure(t.Context(), &diag.Env{}, smtp.Config{Addr: netip.MustParseAddrPort(to)})
		e, _ := errors.AsType[*smtp.Error](err)
		require.Equal(t, smtp.Blocked, e.Kind)
		require.Nil(t, s.TLS())
		s.Quit()
	}
}

// The end of the context ends pending operations.
func TestContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := diagtest.NewWorld(t)
		w.Host(host, addr)
		w.Behave(host+":25", diagtest.Hangs)
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s, err := smtp.Dial(ctx, w.Env(), config(25))
		e, _ := errors.AsType[*smtp.Error](err)
		require.Equal(t, smtp.Overrun, e.Kind)
		require.Equal(t, time.Second, time.Since(begin))
		s.Close()
		w.Close()
	})
}

// An address gets two connections at a time, whichever diagnostic asks, and waiting ends with the context.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := diagtest.NewWorld(t)
		w.Host(host, addr)
		w.SMTP(diagtest.SMTP{Host: host})
		dial := func(env *diag.Env, limit time.Duration) (*smtp.Session, time.Duration, error) {
			begin := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			t.Cleanup(cancel)
			s, err := smtp.Dial(ctx, env, config(25))
			return s, time.Since(begin), err
		}
		first, _, err := dial(w.Env(), time.Minute)
		require.NoError(t, err)
		second, _, err := dial(w.Env().Cached(), time.Minute)
		require.NoError(t, err)
		third, waited, err := dial(w.Env(), 3*time.Second)
		e, _ := errors.AsType[*smtp.Error](err)
		require.Equal(t, []any{smtp.StepConnect, smtp.Overrun, 3 * time.Second}, []any{e.Step, e.Kind, waited})
		require.Equal(t, "the time ended while other connections to the same host were under way", e.Error())
		third.Quit()
		time.AfterFunc(time.Second, first.Close)
		fourth, waited, err := dial(w.Env(), time.Minute)
		require.NoError(t, err)
		require.Equal(t, time.Second, waited)
		for _, s := range []*smtp.Session{first, second, fourth} {
			s.Close()
			s.Close()
		}
		fifth, waited, err := dial(w.Env(), time.Minute)
		require.NoError(t, err)
		require.Zero(t, waited)
		fifth.Close()
		w.Close()
	})
}

// The addresses of a host share its connections.
func TestTurnsOfHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := diagtest.NewWorld(t)
		w.Host(host, addr, "2001:db8::25")
		w.SMTP(diagtest.SMTP{Host: host})
		dial := func(ip string) (*smtp.Session, error) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			t.Cleanup(cancel)
			return smtp.Dial(ctx, w.Env(), smtp.Config{Addr: netip.AddrPortFrom(netip.MustParseAddr(ip), 25), ServerName: host})
		}
		first, err := dial(addr)
		require.NoError(t, err)
		second, err := dial("2001:db8::25")
		require.NoError(t, err)
		_, err = dial("2001:db8::25")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		first.Close()
		third, err := dial("2001:db8::25")
		require.NoError(t, err)
		second.Close()
		third.Close()
		w.Close()
	})
}

// Commands that an attacker injects behind STARTTLS.
func TestTakesInjected(t *testing.T) {
	for _, tt := range []struct {
		name   string
		server diagtest.SMTP
		takes  bool
		kind   smtp.Kind // empty: the result is known
	}{
		{"discarded", diagtest.SMTP{}, false, ""},
		{"answered", diagtest.SMTP{Injectable: true}, true, ""},
		{"answered with an error", diagtest.SMTP{Injectable: true, Replies: map[string]string{"NOOP": "503 EHLO first"}}, true, ""},
		{"refused", diagtest.SMTP{Replies: map[string]string{"STARTTLS": "554 5.5.0 synchronization error"}}, false, ""},
		{"dropped", diagtest.SMTP{Replies: map[string]string{"STARTTLS": diagtest.HangUp}}, false, ""},
		{"deferred", diagtest.SMTP{Replies: map[string]string{"STARTTLS": "454 later"}}, false, smtp.Deferred},
		{"not offered", diagtest.SMTP{NoStartTLS: true}, false, smtp.NotOffered},
		{"one line in answer to EHLO", diagtest.SMTP{Encrypted: []string{}}, false, ""},
		{"another banner", diagtest.SMTP{Injectable: true, Replies: map[string]string{"NOOP": "220 mx"}}, false, smtp.Desynchronized},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			w.Host(host, addr)
			tt.server.Host = host
			w.SMTP(tt.server)
			s, err := smtp.Dial(t.Context(), w.Env(), config(25))
			require.NoError(t, err)
			defer s.Close()
			require.NoError(t, s.SayHello())
			takes, err := s.AcceptsInjection()
			require.Equal(t, tt.takes, takes)
			if e, _ := errors.AsType[*smtp.Error](err); e != nil || tt.kind != "" {
				require.Equal(t, tt.kind, e.Kind)
			}
		})
	}
}

// Callers with the same configuration share one connection; a different configuration gets another.
func TestSharing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := diagtest.NewWorld(t)
		w.Host(host, addr)
		w.SMTP(diagtest.SMTP{Host: host, Delays: map[string]time.Duration{"CONNECT": time.Second}})
		ctx := smtp.Sharing(t.Context())
		hurried, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		other := config(25)
		other.ServerName = "other.example.com"
		var g diag.Group
		for range 3 {
			g.Go(func() {
				s, err := smtp.Secure(ctx, w.Env(), config(25))
				require.NoError(t, err)
				require.True(t, s.TLS().Trusted)
				s.Close()
			})
		}
		g.Go(func() {
			s, err := smtp.Secure(ctx, w.Env(), other)
			require.NoError(t, err)
			require.False(t, s.TLS().HostnameMatch)
			s.Close()
		})
		g.Go(func() {
			synctest.Wait() // others hold the sessions
			s, err := smtp.Secure(hurried, w.Env(), config(25))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Nil(t, s.TLS())
			s.Close()
		})
		g.Wait()
		require.Len(t, w.Connections(), 2)
		w.Close()
	})
}
