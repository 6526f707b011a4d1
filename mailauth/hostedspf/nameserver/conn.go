package nameserver

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"
)

const (
	// maxConns bounds the connections at a time, and maxConnsEach those of one host (RFC 9210 section 4.2).
	// A resolver needs one.
	maxConns     = 1024
	maxConnsEach = 16
	// firstTimeout is how long a new connection may take to ask its first question, idleTimeout how long
	// it may be silent afterwards (RFC 7766 section 6.2.3 wants seconds), writeTimeout how long a client may
	// take to accept an answer.
	firstTimeout = 5 * time.Second
	idleTimeout  = 10 * time.Second
	writeTimeout = 5 * time.Second
	// maxQueries ends a connection that never ends by itself.
	maxQueries = 4096
	// acceptPause keeps a lack of descriptors from becoming a lack of processor time.
	acceptPause = 50 * time.Millisecond
)

// A doorman is a listener that bounds connections. Those beyond are closed at once, so that new ones
// never wait for old ones.
type doorman struct {
	net.Listener

	mu    sync.Mutex
	total int
	each  map[netip.Addr]int // by host

	once   sync.Once
	closed chan struct{}
}

func newDoorman(l net.Listener) *doorman {
	return &doorman{Listener: l, each: make(map[netip.Addr]int), closed: make(chan struct{})}
}

// Close implements [net.Listener].
func (d *doorman) Close() error {
	d.once.Do(func() { close(d.closed) })
	return d.Listener.Close()
}

// Accept implements [net.Listener].
func (d *doorman) Accept() (net.Conn, error) {
	for {
		c, err := d.Listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil, err
		}
		if err != nil {
			if !d.pause() {
				return nil, net.ErrClosed
			}
			continue
		}
		host := hostOf(addrOf(c.RemoteAddr()))
		if !d.enter(host) {
			c.Close()
			continue
		}
		return &guest{Conn: c, leave: sync.OnceFunc(func() { d.leave(host) })}, nil
	}
}

// pause waits a moment, and reports whether the listener is still open.
func (d *doorman) pause() bool {
	t := time.NewTimer(acceptPause)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-d.closed:
		return false
	}
}

func (d *doorman) enter(host netip.Addr) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.total >= maxConns || d.each[host] >= maxConnsEach {
		return false
	}
	d.total++
	d.each[host]++
	return true
}

func (d *doorman) leave(host netip.Addr) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.total--
	if d.each[host]--; d.each[host] == 0 {
		delete(d.each, host)
	}
}

type guest struct {
	net.Conn
	leave func()
}

// Write implements [net.Conn]. A client that does not read what it asked for is not waited for.
func (g *guest) Write(b []byte) (int, error) {
	if err := g.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	n, err := g.Conn.Write(b)
	if err != nil {
		g.Close()
	}
	return n, err
}

// Close implements [net.Conn].
func (g *guest) Close() error {
	defer g.leave()
	return g.Conn.Close()
}

// hostOf is the address by which a host is known: one host may use all of an IPv6 /64 (RFC 4291 section
// 2.5.1).
func hostOf(ip netip.Addr) netip.Addr {
	if !ip.Is6() {
		return ip
	}
	network, _ := ip.Prefix(64) // the number of bits is right
	return network.Addr()
}

// addrOf is the IP address of a peer, or the zero Addr.
func addrOf(a net.Addr) netip.Addr {
	switch a := a.(type) {
	case peer:
		return addrOf(a.UDPAddr)
	case *net.UDPAddr:
		return a.AddrPort().Addr().Unmap()
	case *net.TCPAddr:
		return a.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}
