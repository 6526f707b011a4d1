package diagtest

import (
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"
)

// window bounds what is written and not yet read, as the buffers of a socket do. It must hold all
// that two peers may write at the same time before they read, such as the messages of TLS.
const window = 256 << 10

// A half is one direction of a connection: what was written and not yet read. All waiting is on
// channels and timers, so that it counts as idle in a bubble of testing/synctest.
type half struct {
	framed bool // each Read returns one message

	mu       sync.Mutex
	changed  chan struct{} // closed, and replaced, at every change
	chunks   [][]byte
	size     int
	end      error // what the reader gets after the last chunk
	gone     error // the writer's error once the reader is closed
	grace    bool  // the writer does not notice yet: the next bytes are lost in silence
	readEnd  time.Time
	writeEnd time.Time
}

func newHalf(framed bool) *half { return &half{framed: framed, changed: make(chan struct{})} }

// change applies f and wakes all waiters.
func (h *half) change(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
	close(h.changed)
	h.changed = make(chan struct{})
}

// await calls ready, under the lock, at first and after every change until it returns true.
func (h *half) await(deadline *time.Time, ready func() bool) error {
	for {
		h.mu.Lock()
		if ready() {
			h.mu.Unlock()
			return nil
		}
		changed, end := h.changed, *deadline
		h.mu.Unlock()

		if end.IsZero() {
			<-changed
			continue
		}
		left := time.Until(end)
		if left <= 0 {
			return os.ErrDeadlineExceeded
		}
		timer := time.NewTimer(left)
		select {
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (h *half) expired(deadline *time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !deadline.IsZero() && time.Until(*deadline) <= 0
}

func (h *half) read(b []byte) (n int, err error) {
	if h.expired(&h.readEnd) {
		return 0, os.ErrDeadlineExceeded
	}
	waited := h.await(&h.readEnd, func() bool {
		switch {
		case len(h.chunks) > 0:
			n = h.take(b)
		case h.end != nil:
			err = h.end
		case len(b) > 0 || h.framed:
			return false
		}
		return true
	})
	if waited != nil {
		return 0, waited
	}
	if n > 0 {
		h.change(func() {}) // there is room again
	}
	return n, err
}

// idle waits, unless the reader is closed.
func (h *half) idle(d time.Duration) error {
	end, gone := time.Now().Add(d), error(nil)
	err := h.await(&end, func() bool {
		gone = h.gone
		return gone != nil
	})
	if err == os.ErrDeadlineExceeded {
		return nil
	}
	return gone
}

// take moves bytes to the reader. Of a message that is too long the rest is lost.
func (h *half) take(b []byte) int {
	n := copy(b, h.chunks[0])
	if n == len(h.chunks[0]) || h.framed {
		h.size -= len(h.chunks[0])
		h.chunks[0] = nil
		h.chunks = h.chunks[1:]
		return n
	}
	h.size -= n
	h.chunks[0] = h.chunks[0][n:]
	return n
}

func (h *half) write(b []byte) (n int, err error) {
	if h.expired(&h.writeEnd) {
		return 0, os.ErrDeadlineExceeded
	}
	for first := true; first || len(b) > 0; first = false {
		count := 0
		waited := h.await(&h.writeEnd, func() bool {
			switch {
			case h.gone != nil && h.grace:
				h.grace, count = false, len(b)
			case h.gone != nil:
				err = h.gone
			case h.framed:
				count = len(b)
			case h.size < window || len(b) == 0:
				count = min(len(b), window-h.size)
			default:
				return false
			}
			return true
		})
		if waited != nil {
			return n, waited
		}
		if err != nil {
			return n, err
		}
		h.push(b[:count])
		n, b = n+count, b[count:]
	}
	return n, nil
}

// push hands bytes to the reader. A datagram that does not fit into the window is lost.
func (h *half) push(b []byte) {
	if len(b) == 0 && !h.framed {
		return
	}
	h.change(func() {
		if h.end == nil && h.gone == nil && (!h.framed || h.size+len(b) <= window) {
			h.chunks = append(h.chunks, append([]byte{}, b...))
			h.size += len(b)
		}
	})
}

// closeWrite is the end of what will be written: the reader gets EOF, a writer the error.
func (h *half) closeWrite(err error) {
	h.change(func() {
		if h.end == nil {
			h.end = io.EOF
		}
		h.gone, h.grace = err, false
	})
}

// closeRead closes the reading side. The reader gets own; the writer gets peer, unless it has closed its side
// already, and with grace only after its next bytes were refused.
func (h *half) closeRead(own, peer error, grace bool) {
	h.change(func() {
		h.chunks, h.size = nil, 0
		h.end = own
		if h.gone == nil {
			h.gone, h.grace = peer, grace
		}
	})
}

// A conn is one end of a connection in memory. Over UDP each Write is one message and each Read returns one.
type conn struct {
	in, out       *half
	local, remote net.Addr
	pause         time.Duration // before each byte is written
	onClose       func()
	once          sync.Once
}

// newConns returns the two ends of a connection.
func newConns(network string, client, server netip.AddrPort) (here, there *conn) {
	framed := network == "udp"
	up, down := newHalf(framed), newHalf(framed)
	a, b := netAddr(network, client), netAddr(network, server)
	return &conn{in: down, out: up, local: a, remote: b}, &conn{in: up, out: down, local: b, remote: a}
}

func netAddr(network string, a netip.AddrPort) net.Addr {
	if network == "udp" {
		return net.UDPAddrFromAddrPort(a)
	}
	return net.TCPAddrFromAddrPort(a)
}

func (c *conn) opError(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return &net.OpError{Op: op, Net: c.local.Network(), Source: c.local, Addr: c.remote, Err: err}
}

// Read implements [net.Conn].
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.in.read(b)
	return n, c.opError("read", err)
}

// Write implements [net.Conn].
func (c *conn) Write(b []byte) (int, error) {
	if c.pause > 0 {
		return c.drip(b)
	}
	n, err := c.out.write(b)
	return n, c.opError("write", err)
}

func (c *conn) drip(b []byte) (int, error) {
	for i := range b {
		if err := c.out.idle(c.pause); err != nil {
			return i, c.opError("write", err)
		}
		if _, err := c.out.write(b[i : i+1]); err != nil {
			return i, c.opError("write", err)
		}
	}
	return len(b), nil
}

// Close lets what was written reach the peer.
func (c *conn) Close() error {
	err := c.opError("close", net.ErrClosed)
	c.once.Do(func() {
		c.out.closeWrite(net.ErrClosed)
		var broken error // the peer's error when it writes to a closed end, if any
		if !c.in.framed {
			broken = syscall.EPIPE
		}
		c.in.closeRead(net.ErrClosed, broken, true)
		if c.onClose != nil {
			c.onClose()
		}
		err = nil
	})
	return err
}

// CloseWrite shuts down the writing side; reading continues, as in [net.TCPConn.CloseWrite].
func (c *conn) CloseWrite() error {
	c.out.closeWrite(syscall.EPIPE)
	return nil
}

// Reset resets the connection: the peer loses unread data, and gets an error.
func (c *conn) Reset() {
	c.out.closeRead(syscall.ECONNRESET, net.ErrClosed, false)
	c.in.closeRead(net.ErrClosed, syscall.ECONNRESET, false)
	c.once.Do(func() {
		if c.onClose != nil {
			c.onClose()
		}
	})
}

func (c *conn) LocalAddr() net.Addr  { return c.local }
func (c *conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline implements [net.Conn].
func (c *conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// SetReadDeadline implements [net.Conn].
func (c *conn) SetReadDeadline(t time.Time) error {
	c.in.change(func() { c.in.readEnd = t })
	return nil
}

// SetWriteDeadline implements [net.Conn].
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.out.change(func() { c.out.writeEnd = t })
	return nil
}
