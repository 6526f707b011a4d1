package letterbox

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// The bounds of connections.
const (
	maxConnections = 64
	maxPerClient   = 4
	// connectionTime is how long a client may stay, whatever it says.
	connectionTime = 5 * time.Minute
	// maxSent is how much a client may send: a message, and the commands and the TLS around it.
	maxSent = 8 << 20
	// maxReplies is how often a client is answered: some 30 lines are enough for a message.
	maxReplies = 500
	// refusalTime is how long a client is told that there are too many.
	refusalTime = time.Second
)

// A listener bounds connections, all and those of a client.
type listener struct {
	net.Listener

	mu      sync.Mutex
	all     int
	clients map[netip.Prefix]int
}

func newListener(l net.Listener) *listener {
	return &listener{Listener: l, clients: map[netip.Prefix]int{}}
}

// Accept implements [net.Listener].
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		var from netip.Prefix
		if peer, err := netip.ParseAddrPort(c.RemoteAddr().String()); err == nil {
			from = client(peer.Addr())
		}
		if l.admit(from) {
			leave := sync.OnceFunc(func() { l.leave(from) })
			return &conn{Conn: c, leave: leave, end: time.Now().Add(connectionTime), left: maxSent}, nil
		}
		_ = c.SetDeadline(time.Now().Add(refusalTime))
		_, _ = io.WriteString(c, "421 4.7.0 Too many connections, try again later\r\n")
		c.Close()
	}
}

func (l *listener) admit(from netip.Prefix) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all >= maxConnections || l.clients[from] >= maxPerClient {
		return false
	}
	l.all++
	l.clients[from]++
	return true
}

func (l *listener) leave(from netip.Prefix) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.clients[from]--; l.clients[from] == 0 {
		delete(l.clients, from)
	}
}

// A conn has an end, and a bound of what it reads.
type conn struct {
	net.Conn
	leave func()
	end   time.Time
	left  int         // bytes to be read
	said  int         // lines, or records of TLS
	last  atomic.Bool // the reply under way is the last
}

// last ends a connection once the reply under way is written.
func last(c net.Conn) {
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn()
	}
	if c, ok := c.(*conn); ok {
		c.last.Store(true)
	}
}

// Read implements [net.Conn].
func (c *conn) Read(b []byte) (int, error) {
	if c.last.Load() || c.left <= 0 {
		return 0, io.EOF
	}
	n, err := c.Conn.Read(b)
	c.left -= n
	return n, err
}

// Write implements [net.Conn].
func (c *conn) Write(b []byte) (int, error) {
	if c.said++; c.said > maxReplies {
		c.last.Store(true)
	}
	return c.Conn.Write(b)
}

// SetReadDeadline implements [net.Conn].
func (c *conn) SetReadDeadline(t time.Time) error { return c.Conn.SetReadDeadline(c.within(t)) }

// SetWriteDeadline implements [net.Conn].
func (c *conn) SetWriteDeadline(t time.Time) error { return c.Conn.SetWriteDeadline(c.within(t)) }

func (c *conn) within(t time.Time) time.Time {
	if t.After(c.end) {
		return c.end
	}
	return t
}

// Close implements [net.Conn].
func (c *conn) Close() error {
	c.leave()
	return c.Conn.Close()
}

// selfSigned makes a certificate that nobody vouches for. Senders take it, for otherwise they would send in the clear
// (RFC 7435).
func selfSigned(name string, now time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("making a key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("making a certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
