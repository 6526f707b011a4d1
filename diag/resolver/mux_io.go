package resolver

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"os"
	"time"
)

func addrOf(conn net.Conn) netip.AddrPort {
	addr := conn.RemoteAddr()
	if addr == nil {
		return netip.AddrPort{}
	}
	ap, _ := netip.ParseAddrPort(addr.String())
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}

// errTorn says that a message was cut off on its way, so that nothing can follow it on the stream.
var errTorn = errors.New("connection given up in the middle of a message")

// send writes a query. If it could not, it tells whether the connection is as good as before.
func (m *mux) send(ctx context.Context, q *query, deadline time.Time) (whole bool, err error) {
	if m.stream == nil {
		return false, m.post(q.wire)
	}
	select {
	case m.writing <- struct{}{}:
		defer func() { <-m.writing }()
	case <-ctx.Done():
		return true, ctx.Err()
	}
	m.conn.SetWriteDeadline(deadline)
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		m.conn.SetWriteDeadline(longAgo)
	})
	n, err := m.conn.Write(q.frame)
	if !stop() {
		<-interrupted // or it would cut off the next to write
	}
	_, secure := m.conn.(*tls.Conn) // whose writes cannot be taken up again
	return n == 0 && !secure && errors.Is(err, os.ErrDeadlineExceeded), err
}

// tear ends the connection after a write that went wrong. One who ran out of time says so; the others
// must not take that for theirs.
func (m *mux) tear(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		m.fail(errTorn)
		return err
	}
	return m.fail(err)
}

// longAgo is a deadline that ends a read or write at once.
var longAgo = time.Unix(1, 0)

// readable turns the ways in which a wait ends into those that callers know.
func readable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return ErrTimeout
	}
	return err
}

// abort closes the connection without a word. A TLS connection that is closed in good manner first
// writes, and might wait for a peer that does not read.
func (m *mux) abort() {
	if secure, ok := m.conn.(*tls.Conn); ok {
		secure.NetConn().Close()
		return
	}
	m.conn.Close()
}
