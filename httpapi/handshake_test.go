package httpapi

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// certified has a certificate for a.example.
func certified(t testing.TB) *tls.Config {
	cert := diagtest.NewWorld(t).Certificate(diagtest.CertSpec{Names: []string{"a.example"}})
	return &tls.Config{Certificates: []tls.Certificate{cert}}
}

// A secured server reports the protocol of a request.
type secured struct {
	*Listener
	pipes  *pipeListener
	server *http.Server
	log    syncBuffer
	served chan error
}

func newSecured(t *testing.T, config *tls.Config) *secured {
	s := &secured{pipes: newPipeListener(), served: make(chan error, 1)}
	s.Listener = &Listener{Listener: s.pipes, TLS: config, ErrorLog: log.New(&s.log, "", 0)}
	s.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Proto+" "+r.TLS.NegotiatedProtocol)
	}), ReadHeaderTimeout: 5 * time.Second}
	go func() { s.served <- s.server.Serve(s.Listener) }()
	t.Cleanup(func() { s.server.Close() })
	return s
}

// client is one of a protocol, with a connection of its own.
func (s *secured) client(protocol string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		ForceAttemptHTTP2: protocol == "h2",
		DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			c := tls.Client(s.pipes.dial(), &tls.Config{InsecureSkipVerify: true, NextProtos: strings.Fields(protocol)})
			return c, c.HandshakeContext(ctx)
		},
	}}
}

func (s *secured) ask(t *testing.T, client *http.Client) string {
	resp, err := client.Get("https://a.example/")
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(text)
}

// HTTP/1.1 and HTTP/2 are served side by side, and both know of TLS.
func TestProtocolsOverTLS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSecured(t, certified(t))
		for protocol, want := range map[string]string{"h2": "HTTP/2.0 h2", "http/1.1": "HTTP/1.1 http/1.1", "": "HTTP/1.1 "} {
			client := s.client(protocol)
			assert.Equal(t, want, s.ask(t, client))
			assert.Equal(t, want, s.ask(t, client), "on the same connection")
			client.CloseIdleConnections()
		}
		require.Empty(t, s.log.String())
	})
}

// A silent client delays no other, and its place is free again after a while.
func TestSilentHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSecured(t, certified(t))
		var silent []net.Conn
		for range 3 {
			silent = append(silent, s.pipes.dial())
		}
		client := s.client("h2")
		defer client.CloseIdleConnections()
		require.Equal(t, "HTTP/2.0 h2", s.ask(t, client))
		require.Equal(t, 4, s.Connections())
		began := time.Now()
		for _, c := range silent {
			_, err := io.ReadAll(c)
			require.NoError(t, err, "closed")
		}
		require.Equal(t, handshakeTime, time.Since(began))
		synctest.Wait()
		require.Equal(t, 1, s.Connections())
		require.Equal(t, 3, strings.Count(s.log.String(), "TLS handshake error from pipe: "), &s.log)
	})
}

// Who closes the server does not wait for handshakes, and a call that runs is finished.
func TestShutdownOverTLS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSecured(t, certified(t))
		began, finish := make(chan struct{}), make(chan struct{})
		s.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			began <- struct{}{}
			<-finish
			io.WriteString(w, "whole")
		})
		var calls sync.WaitGroup
		for _, protocol := range []string{"h2", "http/1.1"} {
			calls.Go(func() { assert.Equal(t, "whole", s.ask(t, s.client(protocol))) })
			<-began
		}
		silent := s.pipes.dial()
		synctest.Wait()
		down := make(chan error)
		go func() { down <- s.server.Shutdown(t.Context()) }()
		_, err := io.ReadAll(silent)
		require.NoError(t, err, "closed")
		require.ErrorIs(t, <-s.served, http.ErrServerClosed)
		close(finish)
		calls.Wait()
		require.NoError(t, <-down)
		require.Zero(t, s.Connections())
		require.Empty(t, s.log.String())
		_, err = s.Accept()
		require.ErrorIs(t, err, net.ErrClosed)
	})
}

// A listener without a pending Accept can be closed, and closes what has arrived.
func TestCloseWithoutAccept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipes := newPipeListener()
		l := &Listener{Listener: pipes, TLS: certified(t)}
		l.startHandshakes()
		c := tls.Client(pipes.dial(), &tls.Config{InsecureSkipVerify: true})
		require.NoError(t, c.Handshake())
		require.NoError(t, l.Close())
		_, err := io.ReadAll(c)
		require.NoError(t, err)
		synctest.Wait()
		require.Zero(t, l.Connections())
	})
}

// What fails or panics in one handshake ends that connection alone.
func TestFailedHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := certified(t)
		config.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			switch hello.ServerName {
			case "panic.example":
				panic("a bug in ACME")
			case "b.example":
				return nil, errors.New("no certificate")
			}
			return nil, nil // the one of the configuration
		}
		s := newSecured(t, config)
		for name, want := range map[string]string{"panic.example": "a bug in ACME", "b.example": "no certificate"} {
			c := tls.Client(s.pipes.dial(), &tls.Config{InsecureSkipVerify: true, ServerName: name})
			require.Error(t, c.Handshake())
			synctest.Wait()
			require.Contains(t, s.log.String(), want)
			require.Zero(t, s.Connections())
		}
		c := s.pipes.dial() // SSH sends its banner immediately
		go io.WriteString(c, "SSH-2.0-x\r\n")
		reply, err := io.ReadAll(c)
		require.NoError(t, err)
		require.Empty(t, reply, "no HTTP")
		c.Close()
		client := s.client("h2")
		require.Equal(t, "HTTP/2.0 h2", s.ask(t, client))
		client.CloseIdleConnections()
	})
}

// Protocols that the configuration has are kept, such as that by which ACME verifies (RFC 8737).
func TestProtocolOfACME(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := certified(t)
		config.NextProtos = []string{"acme-tls/1"}
		s := newSecured(t, config)
		c := tls.Client(s.pipes.dial(), &tls.Config{InsecureSkipVerify: true, NextProtos: config.NextProtos})
		require.NoError(t, c.Handshake())
		require.Equal(t, "acme-tls/1", c.ConnectionState().NegotiatedProtocol)
		c.Close()
		client := s.client("h2")
		require.Equal(t, "HTTP/2.0 h2", s.ask(t, client))
		client.CloseIdleConnections()
		require.Equal(t, []string{"acme-tls/1"}, config.NextProtos, "as the caller has it")
	})
}

// failingListener is a listener that fails once, and then is closed.
type failingListener struct {
	net.Listener
	errs []error
}

func (l *failingListener) Accept() (net.Conn, error) {
	if len(l.errs) == 0 {
		return nil, net.ErrClosed
	}
	err := l.errs[0]
	l.errs = l.errs[1:]
	return nil, err
}

// The server gets each error of the listener below, and decides whether to continue.
func TestErrorsOfAccept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := errors.New("too many open files")
		l := &Listener{Listener: &failingListener{newPipeListener(), []error{first}}, TLS: certified(t)}
		for _, want := range []error{first, net.ErrClosed, net.ErrClosed} {
			_, err := l.Accept()
			require.ErrorIs(t, err, want)
		}
		require.NoError(t, l.Close())
	})
}
