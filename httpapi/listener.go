package httpapi

import (
	"bytes"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// A Listener bounds the connections of a server, and gives the replies that net/http makes by itself
// (to a request that it cannot read, with header fields too large, an unknown Expect or
// Transfer-Encoding) the form of the API's own: a problem with a request id. It wraps the listener of
// an [http.Server]. Under TLS it sees nothing of the replies, and only bounds the connections.
type Listener struct {
	net.Listener
	// MaxConnections is how many connections may be open at once; those beyond are closed at once, which
	// clients notice earlier than that nobody accepts them. 0 means any number.
	MaxConnections int
	// Secure says that TLS is spoken. Without it, a connection too many gets a reply that says so.
	Secure bool
	// Log hears once a minute that there are too many connections. Nil means silence.
	Log *slog.Logger

	open   atomic.Int64
	mu     sync.Mutex
	logged time.Time
	shed   int // connections closed since then
}

// Connections is how many connections are open.
func (l *Listener) Connections() int { return int(l.open.Load()) }

// shedTime bounds the writing of a reply to a connection too many.
const shedTime = time.Second

// Accept implements [net.Listener].
func (l *Listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if n := l.open.Add(1); l.MaxConnections == 0 || n <= int64(l.MaxConnections) {
			return &conn{Conn: c, listener: l}, nil
		}
		l.open.Add(-1)
		l.refuse(c)
	}
}

// refuse closes a connection too many.
func (l *Listener) refuse(c net.Conn) {
	l.mu.Lock()
	l.shed++
	if l.Log != nil && time.Since(l.logged) >= time.Minute {
		l.Log.Warn("too many connections; new ones are closed", "connections_max", l.MaxConnections, "closed", l.shed)
		l.logged, l.shed = time.Now(), 0
	}
	l.mu.Unlock()
	if !l.Secure { // a few hundred bytes, which the kernel takes without waiting
		c.SetWriteDeadline(time.Now().Add(shedTime))
		f := problemFor(errOverloaded)
		c.Write(ownReply("503 Service Unavailable", f.problem, "Retry-After: "+decimal(f.retryAfter)+"\r\n"))
	}
	c.Close()
}

// conn is a connection that is counted.
type conn struct {
	net.Conn
	listener *Listener
	closed   sync.Once
}

// Close implements [net.Conn].
func (c *conn) Close() error {
	c.closed.Do(func() { c.listener.open.Add(-1) })
	return c.Conn.Close()
}

// CloseWrite ends what is sent, so that a client reads the reply before the connection is gone: net/http
// does so where it closes with a request half read.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Write implements [net.Conn].
func (c *conn) Write(p []byte) (int, error) {
	status, ok := byNetHTTP(p)
	if !ok {
		return c.Conn.Write(p)
	}
	reason := status[len("400 "):]
	if _, text, more := strings.Cut(reason, ": "); more {
		reason = text
	}
	message := "The server cannot read this request: " + reason + "."
	problem := invalidRequest(0, reasonInvalid, message).problem
	if _, err := c.Conn.Write(ownReply(status, problem, "")); err != nil {
		return 0, err
	}
	return len(p), nil
}

const (
	protocol = "HTTP/1.1 "
	// theirHeaders stand in every reply that net/http writes past its handler, and in no other.
	theirHeaders = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
)

// byNetHTTP returns the status line of a reply that is not from the handler.
func byNetHTTP(p []byte) (status string, ok bool) {
	if len(p) < len(protocol)+len("400") || string(p[:len(protocol)]) != protocol || p[len(protocol)] == '2' {
		return "", false
	}
	line, _, _ := bytes.Cut(p, []byte("\r\n"))
	status = string(line[len(protocol):])
	theirs := bytes.HasPrefix(p[len(line):], []byte(theirHeaders)) ||
		strings.HasPrefix(status, "417 ") && bytes.Contains(p, []byte("\r\nContent-Length: 0\r\n"))
	return status, theirs
}

// ownReply writes a problem as a whole reply, after which the connection is closed.
func ownReply(status string, p Problem, headers string) []byte {
	p.RequestID = metering.NewRequestID()
	body, err := encode(p)
	if err != nil { // a Problem holds nothing that cannot be encoded
		panic(err)
	}
	code, _ := strconv.Atoi(status[:len("400")])
	return append([]byte(protocol+status[:len("400 ")]+http.StatusText(code)+"\r\n"+
		"X-Request-Id: "+p.RequestID+"\r\nCache-Control: no-store\r\nContent-Type: "+jsonMedia+"\r\n"+headers+
		"Content-Length: "+strconv.Itoa(len(body))+"\r\nConnection: close\r\n\r\n"), body...)
}
