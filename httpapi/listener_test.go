package httpapi

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A pipeListener is a listener without a network.
type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
}

func newPipeListener() *pipeListener {
	return &pipeListener{make(chan net.Conn), make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { close(l.done); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

func (l *pipeListener) dial() net.Conn {
	client, server := net.Pipe()
	l.conns <- server
	return client
}

// serving runs a server on a Listener.
func serving(a *api, change func(*Listener)) (*Listener, *pipeListener) {
	pipes := newPipeListener()
	l := &Listener{Listener: pipes}
	if change != nil {
		change(l)
	}
	s := &http.Server{Handler: a.handler, MaxHeaderBytes: 4 << 10, DisableGeneralOptionsHandler: true}
	go s.Serve(l)
	a.t.Cleanup(func() { s.Close() })
	return l, pipes
}

// raw sends bytes and reads the reply.
func raw(t *testing.T, c net.Conn, text string) (*http.Response, []byte) {
	t.Helper()
	go io.WriteString(c, text) // the server may answer before it has read all
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, nil)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, body
}

// unreadable are requests that net/http answers by itself.
var unreadable = []struct {
	name, request string
	status        int
	message       string
}{
	{"no HTTP", "nonsense\r\n\r\n", 400, "Bad Request"},
	{"no host", "GET / HTTP/1.1\r\n\r\n", 400, "missing required Host header"},
	{"bad header", "GET / HTTP/1.1\r\nHost: a\r\nbad header\r\n\r\n", 400, "Bad Request"},
	{"two lengths", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, "Bad Request"},
	{"large header", "GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("a", 16<<10) + "\r\n\r\n", 431, "Request Header Fields Too Large"},
	{"coding", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501, "Not Implemented"},
	{"version", "GET / HTTP/3.1\r\nHost: a\r\n\r\n", 505, "unsupported protocol version"},
	{"expectation", "POST / HTTP/1.1\r\nHost: a\r\nExpect: tea\r\nContent-Length: 2\r\n\r\n", 417, "Expectation Failed"},
}

// Over TLS they have the form of the API as well.
func TestRepliesOfNetHTTP(t *testing.T) {
	for _, secure := range []bool{false, true} {
		for _, tt := range unreadable {
			t.Run(tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					a := newAPI(t, "self", nil)
					_, pipes := serving(a, func(l *Listener) {
						if secure {
							l.TLS = certified(t)
						}
					})
					c := pipes.dial()
					if secure {
						c = tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
					}
					defer c.Close()
					resp, body := raw(t, c, tt.request)
					assert.Equal(t, tt.status, resp.StatusCode)
					assert.Equal(t, "application/json", resp.Header.Get("Content-Type"))
					assert.Equal(t, "no-store", resp.Header.Get("Cache-Control"))
					assert.Equal(t, secure, resp.Header.Get("Strict-Transport-Security") == strictTransport)
					assert.True(t, resp.Close)
					var p Problem
					require.NoError(t, json.Unmarshal(body, &p), "%s", body)
					assert.Equal(t, InvalidRequest, p.Code)
					assert.Equal(t, "The server cannot read this request: "+tt.message+".", p.Message)
					assert.Regexp(t, `^req_[a-z2-7]{26}$`, p.RequestID)
					assert.Equal(t, p.RequestID, resp.Header.Get("X-Request-Id"))
					c.Close()
					time.Sleep(6 * time.Second) // of the bubble: net/http and TLS wait for the client to read
				})
			})
		}
	}
}

// Plain HTTP at a TLS port is reported as such, in the form of the API.
func TestPlainHTTPAtTLS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipes := newPipeListener()
		s := &http.Server{Handler: http.NotFoundHandler()}
		go s.Serve(&Listener{Listener: pipes, TLS: &tls.Config{
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return nil, io.EOF },
		}})
		t.Cleanup(func() { s.Close() })
		c := pipes.dial()
		defer c.Close()
		resp, body := raw(t, c, "GET /public/v1/openapi.json HTTP/1.1\r\nHost: a\r\n\r\n")
		require.Equal(t, 400, resp.StatusCode)
		var p Problem
		require.NoError(t, json.Unmarshal(body, &p), "%s", body)
		require.Equal(t, InvalidRequest, p.Code)
		require.Contains(t, p.Message, "https://")
		require.Equal(t, p.RequestID, resp.Header.Get("X-Request-Id"))
	})
}

// A body that stalls is the client's fault, costs nothing and is reported as such.
func TestStalledBody(t *testing.T) {
	for _, framing := range []string{"Content-Length: 100\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"} {
		synctest.Test(t, func(t *testing.T) {
			a := newAPI(t, "self", nil)
			pipes := newPipeListener()
			s := &http.Server{Handler: a.handler, ReadTimeout: 15 * time.Second}
			go s.Serve(&Listener{Listener: pipes})
			t.Cleanup(func() { s.Close() })
			c := pipes.dial()
			defer c.Close()
			resp, body := raw(t, c, "POST /public/v1/text/lower HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "+a.secret+
				"\r\nContent-Type: application/json\r\n"+framing)
			require.Equal(t, 408, resp.StatusCode)
			require.True(t, resp.Close)
			var p Problem
			require.NoError(t, json.Unmarshal(body, &p), "%s", body)
			require.Equal(t, []any{InvalidRequest, "body_timeout"}, []any{p.Code, p.Details.Reason})
			require.Zero(t, a.used())
			c.Close()
			time.Sleep(time.Second) // of the bubble, as above
		})
	}
}

// OPTIONS * is answered like all else that the API does not support.
func TestOptionsOfServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, pipes := serving(newAPI(t, "self", nil), nil)
		c := pipes.dial()
		defer c.Close()
		resp, body := raw(t, c, "OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
		assert.Equal(t, 501, resp.StatusCode)
		var p Problem
		require.NoError(t, json.Unmarshal(body, &p), "%s", body)
		assert.Equal(t, InvalidRequest, p.Code)
		assert.Equal(t, "method_not_allowed", p.Details.Reason)
		assert.Equal(t, p.RequestID, resp.Header.Get("X-Request-Id"))
		assert.Regexp(t, `^req_[a-z2-7]{26}$`, p.RequestID)
	})
}

// Over HTTP/1.1 names are spelled as the contract spells them.
func TestSpellingOfHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t, "self", nil)
		_, pipes := serving(a, nil)
		for _, key := range []string{a.secret, "x"} {
			c := pipes.dial()
			go io.WriteString(c, "POST /public/v1/text/lower HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer "+key+
				"\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{\"text\":\"A\"}")
			text, err := io.ReadAll(c)
			require.NoError(t, err)
			names := append([]string{"X-Request-Id", "Cache-Control"}, rateHeaderNames...)
			if key == "x" {
				names = append(names, "WWW-Authenticate")
			} else {
				names = append(names, "X-Credits-Limit", "X-Credits-Remaining", "X-Credits-Consumed")
			}
			for _, name := range names {
				assert.Contains(t, string(text), "\r\n"+name+": ")
			}
			c.Close()
		}
	})
}

// The handler's replies pass unchanged, whatever they contain.
func TestRepliesOfHandlerPass(t *testing.T) {
	for _, body := range []string{`{"text":"HTTP/1.1 417 "}`, `{"text":"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain"}`} {
		synctest.Test(t, func(t *testing.T) {
			a := newAPI(t, "self", nil)
			_, pipes := serving(a, nil)
			c := pipes.dial()
			defer c.Close()
			resp, got := raw(t, c, "POST /public/v1/text/lower HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer "+a.secret+
				"\r\nContent-Type: application/json\r\nContent-Length: "+decimal(int64(len(body)))+"\r\n\r\n"+body)
			assert.Equal(t, 200, resp.StatusCode)
			assert.Contains(t, string(got), "http/1.1 4")
		})
	}
	const looksLikeIt = "HTTP/1.1 400 Bad Request" + netHTTPHeaders + "400 Bad Request"
	_, ok := netHTTPStatus([]byte(looksLikeIt))
	require.True(t, ok)
	for _, text := range []string{"", "HTTP/1.1 ", "HTTP/1.1 404", "HTTP/1.1 417 x", "HTTP/1.1 400 Bad Request\r\n",
		looksLikeIt + "</pre>", // a part of a page that quotes it
		"HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n</pre>"} {
		_, ok := netHTTPStatus([]byte(text))
		assert.False(t, ok, text)
	}
}

// After a body with a transfer coding the connection is closed: with a Content-Length as well, others may have seen
// another end of the request.
func TestLengthBesideTransferEncoding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t, "self", nil)
		_, pipes := serving(a, nil)
		c := pipes.dial()
		defer c.Close()
		resp, _ := raw(t, c, "POST /public/v1/text/lower HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "+a.secret+
			"\r\nContent-Type: application/json\r\nContent-Length: 12\r\nTransfer-Encoding: chunked\r\n\r\n"+
			"c\r\n{\"text\":\"A\"}\r\n0\r\n\r\n"+"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n")
		assert.Equal(t, 200, resp.StatusCode)
		assert.True(t, resp.Close)
	})
}

// An excess connection immediately gets a reply that says so, and the place of one that ends is free again.
func TestMaxConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t, "self", nil)
		_, pipes := serving(a, func(l *Listener) { l.MaxConnections = 2; l.Log = a.handler.(*server).log })
		first, second := pipes.dial(), pipes.dial()
		defer second.Close()
		for range 3 {
			c := pipes.dial()
			resp, body := raw(t, c, "")
			assert.Equal(t, 503, resp.StatusCode)
			assert.Equal(t, "1", resp.Header.Get("Retry-After"))
			assert.Contains(t, string(body), reasonOverloaded)
			c.Close()
		}
		assert.Equal(t, 1, strings.Count(a.log.String(), "too many connections"))
		first.Close()
		synctest.Wait()
		c := pipes.dial()
		defer c.Close()
		resp, _ := raw(t, c, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
		assert.Equal(t, 404, resp.StatusCode)

		time.Sleep(time.Minute) // of the bubble
		synctest.Wait()
		third := pipes.dial()
		defer third.Close()
		last := pipes.dial()
		raw(t, last, "")
		last.Close()
		assert.Equal(t, 2, strings.Count(a.log.String(), "too many connections"))

		_, pipes = serving(a, func(l *Listener) { l.MaxConnections = 1; l.TLS = &tls.Config{} })
		defer pipes.dial().Close()
		last = pipes.dial()
		_, err := last.Read(make([]byte, 1))
		assert.ErrorIs(t, err, io.EOF, "TLS is not interrupted by text")
	})
}

// A peer is a connection from an address.
type peer struct {
	net.Conn
	from string
}

func (p peer) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(p.from), 1234))
}

// A network at its limit of connections gets a reply that says so, others are not affected, and a proxy may have any
// number.
func TestConnectionsOfOneNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipes, log := newPipeListener(), &syncBuffer{}
		l := &Listener{
			Listener: pipes, MaxConnections: 100, Networks: &metering.NetworkCount{All: 100, Each: 2},
			Exempt: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}, Log: slog.New(slog.NewTextHandler(log, nil)),
		}
		accepted := make(chan net.Conn, 100)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				accepted <- c
			}
		}()
		defer l.Close()
		dial := func(from string) net.Conn {
			client, server := net.Pipe()
			pipes.conns <- peer{server, from}
			synctest.Wait()
			return client
		}
		for _, from := range []string{"198.51.100.1", "198.51.100.1", "::ffff:198.51.100.2", "2001:db8::1", "2001:db8::2"} {
			dial(from)
		}
		require.Equal(t, 5, l.Connections())
		for _, from := range []string{"198.51.100.1", "::ffff:198.51.100.1", "2001:db8::3"} {
			resp, body := raw(t, dial(from), "")
			require.Equal(t, 503, resp.StatusCode, from)
			require.Contains(t, string(body), reasonOverloaded)
		}
		require.Equal(t, 5, l.Connections())
		require.Equal(t, 1, strings.Count(log.String(), "too many connections of one network"))
		for range 10 {
			dial("192.0.2.1")
		}
		require.Equal(t, 15, l.Connections())
		(<-accepted).Close()
		dial("198.51.100.1")
		require.Equal(t, 15, l.Connections())
		for range 15 {
			c := <-accepted
			c.Close()
			c.Close()
		}
		require.Zero(t, l.Connections())
		require.Zero(t, l.Networks.Held())
	})
}
