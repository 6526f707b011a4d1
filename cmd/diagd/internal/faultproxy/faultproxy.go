// Package faultproxy is a proxy that simulates network faults: connections that are cut, slow or silent.
package faultproxy

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// A Proxy forwards to a server, which it can cut off, slow down and silence. Its methods are safe for concurrent use.
type Proxy struct {
	listener net.Listener
	target   string
	delay    atomic.Int64 // of each write, in nanoseconds
	flow     atomic.Value // a chan struct{}, closed while bytes may pass
	done     sync.WaitGroup

	mu    sync.Mutex
	off   bool
	conns map[net.Conn]bool
}

// Start starts a proxy on loopback before the server at an address, host:port. It ends with [Proxy.Close].
func Start(target string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, target: target, conns: map[net.Conn]bool{}}
	p.Hang()()
	p.done.Go(p.accept)
	return p, nil
}

// Close ends the proxy and its connections. It must not hang at that moment.
func (p *Proxy) Close() {
	p.listener.Close()
	p.Cut()
	p.done.Wait()
}

// Addr is the address of the proxy, host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server := p.dial(client)
		if server == nil {
			client.Close()
			continue
		}
		p.done.Go(func() { p.copy(client, server) })
		p.done.Go(func() { p.copy(server, client) })
	}
}

// dial leads a client to the server. One that is refused costs the server nothing: PostgreSQL makes a process for each.
func (p *Proxy) dial(client net.Conn) net.Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.off {
		return nil
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return nil
	}
	p.conns[client], p.conns[server] = true, true
	return server
}

// copy copies until one side ends, and ends the other one.
func (p *Proxy) copy(to, from net.Conn) {
	_, _ = io.Copy(paced{to, p}, from)
	to.Close()
	from.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, from)
}

// paced is a connection that waits before each write.
type paced struct {
	net.Conn
	proxy *Proxy
}

func (c paced) Write(b []byte) (int, error) {
	<-c.proxy.flow.Load().(chan struct{})
	time.Sleep(time.Duration(c.proxy.delay.Load()))
	return c.Conn.Write(b)
}

// slowBy is by how much [Proxy.Slow] delays each write.
const slowBy = 200 * time.Millisecond

// Slow delays every write by 200 ms, until the function that it returns is called.
func (p *Proxy) Slow() (end func()) {
	p.delay.Store(int64(slowBy))
	return func() { p.delay.Store(0) }
}

// Hang keeps all connections and blocks all data, until the function that it returns is called.
func (p *Proxy) Hang() (end func()) {
	flow := make(chan struct{})
	p.flow.Store(flow)
	return func() { close(flow) }
}

// Cut breaks all connections and refuses others, until [Proxy.Restore], which it returns.
func (p *Proxy) Cut() (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.off = true
	for c := range p.conns {
		c.Close()
	}
	return p.Restore
}

// Restore takes new connections again.
func (p *Proxy) Restore() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.off = false
}
