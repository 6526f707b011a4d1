package resolver

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"golang.org/x/net/ipv4"
)

func addrOf(conn net.Conn) netip.AddrPort {
	addr := conn.RemoteAddr()
	if addr == nil {
		return netip.AddrPort{}
	}
	ap, _ := netip.ParseAddrPort(addr.String())
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}

// errTorn means that a message was written in part, and nothing can follow it on the stream.
var errTorn = errors.New("connection given up in the middle of a message")

// send writes a query. On failure it reports whether the connection is intact.
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

// tear ends the connection after a failed write. A caller that ran out of time gets its own error; the others must
// not get that one.
func (m *mux) tear(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		m.fail(errTorn)
		return err
	}
	return m.fail(err)
}

// longAgo is a deadline that ends a read or write immediately.
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

// maxBatch is how many datagrams one system call sends or reads, where the system can (sendmmsg(2), recvmmsg(2)).
const maxBatch = 32

type outbox struct {
	messages []ipv4.Message // without address, which is that of the connected socket; of IPv6 too
	wire     []byte         // copies, because the sender may have left before they go out
}

// An inbox is room for datagrams that come in. It is never made an outbox, for its messages get addresses.
type inbox struct {
	messages []ipv4.Message
	room     [maxBatch]*buffer
}

var (
	outboxes = sync.Pool{New: func() any { return &outbox{messages: newMessages()[:0]} }}
	inboxes  = sync.Pool{New: func() any { return &inbox{messages: newMessages()} }}
)

func newMessages() []ipv4.Message {
	list := make([]ipv4.Message, maxBatch)
	for i := range list {
		list[i].Buffers = make([][]byte, 1)
	}
	return list
}

// post sends a datagram together with those of other senders, or leaves it to one of them.
func (m *mux) post(wire []byte) error {
	m.mu.Lock()
	o, first := m.out, m.out == nil
	if first {
		o = outboxes.Get().(*outbox)
		m.out = o
	}
	o.add(wire)
	if len(o.messages) == maxBatch {
		m.out = nil
	}
	m.mu.Unlock()
	if !first {
		return nil
	}
	if m.gather != nil {
		m.gather()
	}
	m.mu.Lock()
	if m.out == o {
		m.out = nil
	}
	m.mu.Unlock()
	err := m.flush(o.messages)
	o.messages, o.wire = o.messages[:0], o.wire[:0]
	outboxes.Put(o)
	return err
}

func (o *outbox) add(wire []byte) {
	n, start := len(o.messages), len(o.wire)
	o.wire = append(o.wire, wire...)
	o.messages = o.messages[:n+1]
	o.messages[n].Buffers[0] = o.wire[start:]
}

func (m *mux) flush(rest []ipv4.Message) error {
	for len(rest) > 0 {
		n, err := 1, error(nil)
		if m.batches != nil && len(rest) > 1 {
			n, err = m.batches.WriteBatch(rest, 0)
		} else {
			_, err = m.conn.Write(rest[0].Buffers[0])
		}
		if err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// fill returns the received messages, and waits for one if needed. A timeout error loses nothing. The caller owns
// the messages that it takes out of the result; the rest is for the next call.
func (m *mux) fill(in *inbox) ([]*buffer, error) {
	if m.stream != nil {
		b, err := m.stream.next()
		return []*buffer{b}, err
	}
	m.mu.Lock()
	n := min(len(m.waiting), maxBatch)
	m.mu.Unlock()
	if m.batches == nil {
		n = 1
	}
	messages := in.messages[:n]
	for i := range messages {
		if in.room[i] == nil {
			in.room[i] = newBuffer(maxDatagram + 1)
		}
		messages[i].Buffers[0] = in.room[i].data
	}
	var err error
	if n > 1 {
		n, err = m.batches.ReadBatch(messages, 0)
	} else {
		messages[0].N, err = m.conn.Read(in.room[0].data)
	}
	if err != nil {
		return nil, err
	}
	for i, b := range in.room[:n] {
		if b.data = b.data[:messages[i].N]; len(b.data) > maxDatagram {
			b.data[2] |= bitTC // the rest is lost
		}
	}
	return in.room[:n], nil
}

// A buffer holds one message. Small ones, which are nearly all, are used again.
type buffer struct {
	data  []byte
	small [maxDatagram + 1]byte
}

var buffers = sync.Pool{New: func() any { return new(buffer) }}

func newBuffer(n int) *buffer {
	b := buffers.Get().(*buffer)
	if n <= len(b.small) {
		b.data = b.small[:n]
	} else {
		b.data = make([]byte, n)
	}
	return b
}

func (b *buffer) free() {
	b.data = nil
	buffers.Put(b)
}
