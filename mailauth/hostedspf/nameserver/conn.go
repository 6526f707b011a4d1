package nameserver

import (
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"
)

const (
	// maxConns bounds the connections at a time, and maxConnsEach those of one host (RFC 9210 section 4.2).
	// A resolver needs one.
	maxConns     = 1024
	maxConnsEach = 16
	// firstTimeout is how long a new connection may take to send its first question, idleTimeout how long it may be
	// silent afterwards (RFC 7766 section 6.2.3 wants seconds), writeTimeout how long a client may take to accept an
	// answer.
	firstTimeout = 5 * time.Second
	idleTimeout  = 10 * time.Second
	writeTimeout = 5 * time.Second
	// maxQueries ends a connection that never ends by itself.
	maxQueries = 4096
	// acceptPause keeps a lack of descriptors from becoming a lack of processor time.
	acceptPause = 50 * time.Millisecond
)

// A doorman is a listener that bounds connections. Connections beyond the bound are closed immediately, so that new
// ones never wait for old ones.
type doorman struct {
	net.Listener
	admit func(netip.Addr) (leave func(), ok bool) // instead of the bounds here

	mu    sync.Mutex
	total int
	each  map[netip.Addr]int // by host

	open  context.Context // until the listener is closed
	close context.CancelFunc
}

func newDoorman(l net.Listener, admit func(netip.Addr) (leave func(), ok bool)) *doorman {
	d := &doorman{Listener: l, admit: admit, each: make(map[netip.Addr]int)}
	d.open, d.close = context.WithCancel(context.Background())
	return d
}

// Close implements [net.Listener].
func (d *doorman) Close() error {
	d.close()
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
			if !pause(d.open, acceptPause) {
				return nil, net.ErrClosed
			}
			continue
		}
		leave, ok := d.enterFrom(addrOf(c.RemoteAddr()))
		if !ok {
			c.Close()
			continue
		}
		return &guest{Conn: c, leave: sync.OnceFunc(leave)}, nil
	}
}

func (d *doorman) enterFrom(ip netip.Addr) (leave func(), ok bool) {
	if d.admit != nil {
		return d.admit(ip)
	}
	host := hostOf(ip)
	return func() { d.leave(host) }, d.enter(host)
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

// Write implements [net.Conn]. It does not wait for a client that does not read its answers.
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

// hostOf returns the address that identifies a host: one host may use all of an IPv6 /64 (RFC 4291 section
// 2.5.1).
func hostOf(ip netip.Addr) netip.Addr {
	if !ip.Is6() {
		return ip
	}
	network, _ := ip.Prefix(64) // the number of bits is right
	return network.Addr()
}

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

const (
	// DefaultRate is how many answers per second about one name a network of clients gets by datagram. A resolver
	// queries each name once per TTL: even the busiest stay far below.
	DefaultRate = 100
	// setRate is the multiple of the rate for a set of addresses, in which each sender is a name of its own.
	setRate = 10
	// buckets is how many networks and names are distinguished. Those that collide in one share its rate; collisions
	// cannot be predicted, because the hash is seeded. 512 KiB in all.
	buckets = 1 << 16
	// Who controls one address controls its neighbours: an allocation of the usual size counts as one.
	network4 = 24
	network6 = 56
	// slip sends one of so many answers beyond the rate as an empty one that asks the client to retry by TCP, so that
	// a client whose address is being forged still gets answers.
	slip = 2
)

// A limiter bounds the answers about each name to each network (GCRA with a burst of one second).
type limiter struct {
	seed  maphash.Seed
	began time.Time
	every time.Duration // between two answers; 0 is no limit
	next  [buckets]atomic.Int64
	over  atomic.Uint32
}

// newLimiter returns a limiter whose time begins at now.
func newLimiter(perSecond int, now time.Time) *limiter {
	l := &limiter{seed: maphash.MakeSeed(), began: now}
	if perSecond >= 0 {
		l.every = time.Second / time.Duration(cmp.Or(perSecond, DefaultRate))
	}
	return l
}

type ruling int

const (
	send      ruling = iota
	truncated        // send it empty
	drop             // send nothing
)

// counted returns the name for which an answer counts, and how many answers count as one: existing names count
// separately, others together, because made-up names are unlimited.
func (s *snapshot) counted(q *dns.Msg) (name string, share int) {
	if len(q.Question) != 1 {
		return "", 1
	}
	name = dns.CanonicalName(q.Question[0].Name)
	if _, exists := s.nodes[name]; exists {
		return name, 1
	}
	if client, _, ok := s.setOf(name); ok {
		return name[len(client)+1:], setRate
	}
	return s.apex, 1
}

// rule decides about one answer to an address, of which so many count as one.
func (l *limiter) rule(to netip.Addr, name string, share int, now time.Time) ruling {
	if l.every == 0 {
		return send
	}
	bits := network6
	if to = to.Unmap(); to.Is4() {
		bits = network4
	}
	network, _ := to.Prefix(bits) // the number of bits is right; peers without an address share one bucket
	key := struct {
		network netip.Prefix
		name    string
	}{network, name}
	if l.take(&l.next[maphash.Comparable(l.seed, key)%buckets], l.every/time.Duration(share), int64(now.Sub(l.began))) {
		return send
	}
	if l.over.Add(1)%slip == 0 {
		return truncated
	}
	return drop
}

// take takes one answer from a bucket, unless it is empty. The bucket holds the time at which it will be full again.
func (l *limiter) take(next *atomic.Int64, every time.Duration, now int64) bool {
	for {
		full := next.Load()
		after := max(full, now) + int64(every)
		if after-now > int64(time.Second) {
			return false
		}
		if next.CompareAndSwap(full, after) {
			return true
		}
	}
}
