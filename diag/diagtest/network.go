package diagtest

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/diagkit/diagkit/diag/kit"
)

// testNets are the networks in which a world lives: TEST-NET-1 to 3 (RFC 5737) and 2001:db8::/32 (RFC 3849).
func testNets() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.51.100.0/24"),
		netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("2001:db8::/32")}
}

// The addresses from which diagnostics connect, as servers see them. They are never given out.
var (
	clientIPv4 = netip.MustParseAddr("203.0.113.254")
	clientIPv6 = netip.MustParseAddr("2001:db8:ffff::254")
)

// An endpoint is an address at which a server may listen.
type endpoint struct {
	network string // tcp or udp
	addr    netip.AddrPort
}

type network struct {
	mu      sync.Mutex
	servers map[endpoint]func(*conn) // each runs in a goroutine of its own, and closes the conn
	behave  map[netip.AddrPort]Behaviour
	pauses  map[netip.AddrPort]time.Duration // before each byte of a server
	conns   map[*conn]bool
	used    map[netip.Addr]bool
	port    uint16 // the last local port
	closed  bool
	stops   []func() // what else ends with the world

	running sync.WaitGroup
}

func newNetwork() *network {
	return &network{
		servers: map[endpoint]func(*conn){},
		behave:  map[netip.AddrPort]Behaviour{},
		pauses:  map[netip.AddrPort]time.Duration{},
		conns:   map[*conn]bool{},
		used:    map[netip.Addr]bool{clientIPv4: true, clientIPv6: true},
		port:    49151, // below the dynamic ports, RFC 6335 section 6
	}
}

func (n *network) listen(network string, addr netip.AddrPort, serve func(*conn)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.used[addr.Addr()] = true
	n.servers[endpoint{network, addr}] = serve
}

// listening reports whether a server listens at the address already.
func (n *network) listening(network string, addr netip.AddrPort) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.servers[endpoint{network, addr}] != nil
}

func (n *network) reserve(ips ...netip.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, ip := range ips {
		n.used[ip] = true
	}
}

func (n *network) allocate(ipv6 bool) (netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range testNets() {
		if p.Addr().Is6() != ipv6 {
			continue
		}
		for ip := p.Addr().Next(); p.Contains(ip.Next()); ip = ip.Next() { // without first and last
			if !n.used[ip] {
				n.used[ip] = true
				return ip, nil
			}
		}
	}
	return netip.Addr{}, fmt.Errorf("all addresses are given out")
}

// stopLater calls f when the world ends.
func (n *network) stopLater(f func()) {
	n.mu.Lock()
	closed := n.closed
	n.stops = append(n.stops, f)
	n.mu.Unlock()
	if closed {
		f()
	}
}

func (n *network) close() {
	n.mu.Lock()
	n.closed = true
	stops := n.stops
	open := slices.Collect(maps.Keys(n.conns))
	n.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
	for _, c := range open {
		c.Close()
	}
	n.running.Wait()
}

// A dialError is a connection that could not be made.
func dialError(network string, addr netip.AddrPort, err error) error {
	return &net.OpError{Op: "dial", Net: network, Addr: netAddr(network, addr), Err: err}
}

// Dial connects to an address in the world; network is "tcp" or "udp". It is the Dial of [World.Env]. If no
// server listens there, the connection is refused.
func (w *World) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if len(network) > 3 { // tcp4, udp6
		network = network[:3]
	}
	addr, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp" && network != "udp" {
		return nil, fmt.Errorf("diagtest: dialling %s %s: only tcp and udp addresses can be reached", network, address)
	}
	addr = netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port())
	w.connections.add(Connection{network, addr, w.Now()})
	if network == "udp" {
		return w.net.connect(network, addr)
	}
	if err := w.wait(ctx, w.Latencies().Connect); err != nil {
		return nil, dialError(network, addr, err)
	}
	if w.net.behaviour(addr) == Unreachable {
		return nil, dialError(network, addr, w.silence(ctx))
	}
	return w.net.connect(network, addr)
}

func (n *network) connect(network string, addr netip.AddrPort) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, dialError(network, addr, net.ErrClosed)
	}
	serve := n.serverOf(network, addr)
	if serve == nil {
		return nil, dialError(network, addr, syscall.ECONNREFUSED)
	}
	n.port = max(n.port+1, 49152)
	client := netip.AddrPortFrom(clientIPv4, n.port)
	if addr.Addr().Is6() {
		client = netip.AddrPortFrom(clientIPv6, n.port)
	}
	here, there := newConns(network, client, addr)
	for _, c := range []*conn{here, there} {
		n.conns[c] = true
		c.onClose = func() { n.forget(c) }
	}
	if network == "tcp" {
		there.pause = n.pauses[addr]
	}
	n.running.Go(func() { serve(there) })
	return here, nil
}

func (n *network) forget(c *conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.conns, c)
}

// serverOf returns the handler of an address, or nil if the connection is refused.
func (n *network) serverOf(network string, addr netip.AddrPort) func(*conn) {
	if b := n.behave[addr]; b != Serves && network == "tcp" {
		return b.serve()
	}
	if serve := n.servers[endpoint{network, addr}]; serve != nil || network == "tcp" {
		return serve
	}
	// Nobody notices a datagram to a closed port until the answer of ICMP arrives.
	return func(c *conn) {
		c.Read(make([]byte, 1))
		c.out.closeRead(syscall.ECONNREFUSED, syscall.ECONNREFUSED, false)
		c.Close()
	}
}

func (n *network) behaviour(addr netip.AddrPort) Behaviour {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.behave[addr]
}

// A Behaviour is a way in which a TCP port fails to serve.
type Behaviour string

// The behaviors.
const (
	Serves      Behaviour = ""            // the server answers; without one, connections are refused
	Refuses     Behaviour = "refuses"     // connections are refused
	Closes      Behaviour = "closes"      // connections are accepted and closed immediately
	Resets      Behaviour = "resets"      // connections are accepted, and reset as soon as something is sent
	Hangs       Behaviour = "hangs"       // connections are accepted, and nothing is ever answered
	Unreachable Behaviour = "unreachable" // connections are never established: packets are lost
)

// serve returns the server for a behavior, nil if the connection is refused.
func (b Behaviour) serve() func(*conn) {
	switch b {
	case Closes:
		return func(c *conn) { c.Close() }
	case Resets:
		return func(c *conn) {
			c.Read(make([]byte, 1))
			c.Reset()
		}
	case Hangs:
		return func(c *conn) {
			io.Copy(io.Discard, c) // until either side or the world closes it
			c.Close()
		}
	}
	return nil
}

// Behave makes a TCP port misbehave on all addresses of its host, such as "www.example.com:443",
// "192.0.2.1:443" or "[2001:db8::1]:25". [Serves] undoes it.
func (w *World) Behave(hostport string, b Behaviour) {
	for _, addr := range w.endpoints(hostport) {
		w.net.mu.Lock()
		w.net.behave[addr] = b
		w.net.mu.Unlock()
	}
}

// Behaves returns the behavior that [World.Behave] has given to a TCP port.
func (w *World) Behaves(hostport string) Behaviour {
	for _, addr := range w.endpoints(hostport) {
		w.net.mu.Lock()
		defer w.net.mu.Unlock()
		return w.net.behave[addr]
	}
	return Serves
}

// Drip makes a TCP port send one byte at a time, each after a pause. Zero undoes it.
func (w *World) Drip(hostport string, pause time.Duration) {
	for _, addr := range w.endpoints(hostport) {
		w.net.mu.Lock()
		w.net.pauses[addr] = pause
		w.net.mu.Unlock()
	}
}

// endpoints returns the addresses of a host with a port. A host without any gets one.
func (w *World) endpoints(hostport string) []netip.AddrPort {
	host, port, err := hostPort(hostport)
	if err != nil {
		w.check(err)
		return nil
	}
	return kit.Map(w.addresses(host, false), func(ip netip.Addr) netip.AddrPort { return netip.AddrPortFrom(ip, port) })
}

func hostPort(s string) (host string, port uint16, err error) {
	host, text, err := net.SplitHostPort(s)
	if err != nil {
		return "", 0, err
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("the port of %s: %w", s, err)
	}
	return host, uint16(n), nil
}

// Serve calls f for each connection to a TCP port of a host, such as "mx.example.com:25" or "192.0.2.25:25".
// The connection is closed when f returns. When the world ends, the connection breaks and f must return.
func (w *World) Serve(hostport string, f func(net.Conn)) {
	for _, addr := range w.endpoints(hostport) {
		w.net.listen("tcp", addr, func(c *conn) {
			defer c.Close()
			f(c)
		})
	}
}

// ServePackets calls f for each datagram sent to a UDP port of a host, and sends the datagrams that it
// returns in reply.
func (w *World) ServePackets(hostport string, f func(packet []byte) [][]byte) {
	for _, addr := range w.endpoints(hostport) {
		w.net.listen("udp", addr, func(c *conn) {
			eachDatagram(c, func(packet []byte) {
				for _, reply := range f(packet) {
					c.Write(reply)
				}
			})
		})
	}
}

// eachDatagram calls f with all that is received, until the connection ends.
func eachDatagram(c *conn, f func(packet []byte)) {
	defer c.Close()
	buffer := make([]byte, maxMessage)
	for {
		n, err := c.Read(buffer)
		if err != nil {
			return
		}
		f(append([]byte{}, buffer[:n]...))
	}
}

// silenceTimeout is how long the resolver that is the world waits for a server that is silent, if the
// context does not end before.
const silenceTimeout = 30 * time.Second

// silence waits for what never comes, and returns the error for it. Outside a bubble no time passes.
func (w *World) silence(ctx context.Context) error {
	if !w.bubble {
		return os.ErrDeadlineExceeded
	}
	if err := w.wait(ctx, silenceTimeout); err != nil {
		return err
	}
	return os.ErrDeadlineExceeded
}
