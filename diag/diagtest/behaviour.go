package diagtest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"time"

	"github.com/diagkit/diagkit/diag"
)

// A Behaviour is what a TCP port does instead of serving.
type Behaviour string

// The behaviours.
const (
	Serves      Behaviour = ""            // what listens there answers; if nobody does, connections are refused
	Refuses     Behaviour = "refuses"     // connections are refused
	Closes      Behaviour = "closes"      // connections are accepted, and closed at once
	Resets      Behaviour = "resets"      // connections are accepted, and broken as soon as something is sent
	Hangs       Behaviour = "hangs"       // connections are accepted, and nothing is ever answered
	Unreachable Behaviour = "unreachable" // connections never come about: packets are lost
)

// serve returns the server for a behaviour, nil if the connection is refused.
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

// Behave makes a TCP port do something else than serve, on all addresses of its host, such as
// "www.example.com:443", "192.0.2.1:443" or "[2001:db8::1]:25". Serves undoes it.
func (w *World) Behave(hostport string, b Behaviour) {
	for _, addr := range w.endpoints(hostport) {
		w.net.mu.Lock()
		w.net.behave[addr] = b
		w.net.mu.Unlock()
	}
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
	return diag.Map(w.addresses(host, false), func(ip netip.Addr) netip.AddrPort { return netip.AddrPortFrom(ip, port) })
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

// Serve lets f speak with each client that connects to a TCP port of a host, such as "mx.example.com:25" or
// "192.0.2.25:25". The connection is closed when f returns; when the world ends it breaks, and f must return.
func (w *World) Serve(hostport string, f func(net.Conn)) {
	for _, addr := range w.endpoints(hostport) {
		w.net.listen("tcp", addr, func(c *conn) {
			defer c.Close()
			f(c)
		})
	}
}

// ServePackets lets f answer each datagram that is sent to a UDP port of a host, with any number of datagrams.
func (w *World) ServePackets(hostport string, f func(packet []byte) [][]byte) {
	for _, addr := range w.endpoints(hostport) {
		w.net.listen("udp", addr, func(c *conn) {
			defer c.Close()
			buffer := make([]byte, maxMessage)
			for {
				n, err := c.Read(buffer)
				if err != nil {
					return
				}
				for _, reply := range f(append([]byte{}, buffer[:n]...)) {
					c.Write(reply)
				}
			}
		})
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
