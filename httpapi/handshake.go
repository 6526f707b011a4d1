package httpapi

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
)

// handshakeTime bounds a handshake, which takes a client two round trips.
const handshakeTime = 5 * time.Second

// handshakes is the part of a [Listener] that speaks TLS. A connection is accepted once its handshake is over: net/http
// takes HTTP/2 from a *[tls.Conn] alone, and its own replies in HTTP/1.1 can be seen on no such connection, so that it
// must be known before which of the two a client speaks.
type handshakes struct {
	started sync.Once
	ctx     context.Context // until the listener is closed
	cancel  context.CancelFunc
	ready   chan acceptResult
}

// acceptResult is the result of Accept.
type acceptResult struct {
	conn net.Conn
	err  error
}

func (l *Listener) acceptTLS() (net.Conn, error) {
	l.startHandshakes()
	select {
	case a := <-l.ready:
		return a.conn, a.err
	case <-l.ctx.Done():
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener]. Handshakes that are not over are given up.
func (l *Listener) Close() error {
	if l.TLS != nil {
		l.startHandshakes()
		l.cancel()
	}
	return l.Listener.Close()
}

func (l *Listener) startHandshakes() {
	l.started.Do(func() {
		l.ctx, l.cancel = context.WithCancel(context.Background())
		l.ready = make(chan acceptResult)
		config := l.TLS.Clone()
		for _, protocol := range []string{"h2", "http/1.1"} {
			if !slices.Contains(config.NextProtos, protocol) {
				config.NextProtos = append(config.NextProtos, protocol)
			}
		}
		go l.handshakeAll(config) // which panics no more than the loop of a server
	})
}

// handshakeAll runs the handshake of each connection concurrently, so that a slow one delays no other.
func (l *Listener) handshakeAll(config *tls.Config) {
	for l.ctx.Err() == nil {
		c, err := l.accept()
		if err != nil {
			l.deliver(acceptResult{err: err}) // the server decides whether to continue
			continue
		}
		go func() {
			if p := diag.Catch(func() { l.handshake(c, config) }); p != nil {
				c.Close()
				l.logHandshake(c, p.Error())
			}
		}()
	}
}

// deliver passes a result to Accept, and reports whether a call took it.
func (l *Listener) deliver(a acceptResult) bool {
	select {
	case l.ready <- a:
		return true
	case <-l.ctx.Done():
		return false
	}
}

// handshake does the handshake of a connection, and delivers it or closes it.
func (l *Listener) handshake(c net.Conn, config *tls.Config) {
	ctx, cancel := context.WithTimeout(l.ctx, handshakeTime)
	defer cancel()
	conn := tls.Server(c, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		l.refuseHandshake(c, err)
		return
	}
	var served net.Conn = conn
	if conn.ConnectionState().NegotiatedProtocol != "h2" {
		served = &tlsConn{http1Conn{conn, "Strict-Transport-Security: " + strictTransport + "\r\n"}, conn}
	}
	if !l.deliver(acceptResult{conn: served}) {
		conn.Close()
	}
}

// tlsConn is a connection of HTTP/1.1 over TLS.
type tlsConn struct {
	http1Conn
	tls *tls.Conn
}

// ConnectionState is what net/http sets [http.Request.TLS] by.
func (c *tlsConn) ConnectionState() tls.ConnectionState { return c.tls.ConnectionState() }

// refuseHandshake closes a connection whose handshake failed. A client that speaks plain HTTP gets a reply that says
// so.
func (l *Listener) refuseHandshake(c net.Conn, err error) {
	defer c.Close()
	if l.ctx.Err() != nil {
		return
	}
	header, _ := errors.AsType[tls.RecordHeaderError](err)
	if header.Conn == nil || !isPlainHTTP(header.RecordHeader) {
		l.logHandshake(c, err.Error())
		return
	}
	l.logHandshake(c, "client sent an HTTP request to an HTTPS server")
	problem := invalidRequestProblem(0, reasonInvalid, "This port speaks HTTPS: write the URL with https://.").problem
	c.SetDeadline(time.Now().Add(shedTime))
	c.Write(ownReply("400 Bad Request", problem, ""))
	closeWrite(c)
	// Until the deadline: a connection that is closed with bytes unread is reset, and the reply lost.
	io.Copy(io.Discard, c)
}

// isPlainHTTP reports whether a connection begins with a method of HTTP. The first byte of TLS is no letter.
func isPlainHTTP(begin [5]byte) bool {
	other := func(r rune) bool { return (r < 'A' || r > 'Z') && !strings.ContainsRune(" /*", r) }
	return !strings.ContainsFunc(string(begin[:]), other)
}

func (l *Listener) logHandshake(c net.Conn, reason string) {
	if l.ErrorLog != nil {
		l.ErrorLog.Printf("http: TLS handshake error from %s: %s", c.RemoteAddr(), reason)
	}
}
