package main

import (
	"io"
	"net"
	"sync"
	"time"
)

// A proxy stands before a server that can be cut off by it, slowed down, and silenced.
type proxy struct {
	listener net.Listener
	target   string

	mu    sync.Mutex
	off   bool
	delay time.Duration
	flow  chan struct{} // closed while bytes may pass
	conns map[net.Conn]bool
	done  sync.WaitGroup
}

func startProxy(target string) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, target: target, flow: make(chan struct{}), conns: map[net.Conn]bool{}}
	close(p.flow)
	p.done.Go(p.accept)
	return p, nil
}

// close ends it. It must not hang.
func (p *proxy) close() {
	p.listener.Close()
	p.cut()
	p.done.Wait()
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil || !p.keep(client, server) {
			client.Close()
			if err == nil {
				server.Close()
			}
			continue
		}
		p.done.Go(func() { p.copy(client, server) })
		p.done.Go(func() { p.copy(server, client) })
	}
}

// keep notes connections that are to be cut, unless they are to be refused.
func (p *proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.off {
		return false
	}
	for _, c := range conns {
		p.conns[c] = true
	}
	return true
}

// copy goes on until one side ends, and ends the other one.
func (p *proxy) copy(to, from net.Conn) {
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
	proxy *proxy
}

func (c paced) Write(b []byte) (int, error) {
	c.proxy.mu.Lock()
	flow, delay := c.proxy.flow, c.proxy.delay
	c.proxy.mu.Unlock()
	<-flow
	time.Sleep(delay)
	return c.Conn.Write(b)
}

// slowBy is by how much slow delays each write.
const slowBy = 200 * time.Millisecond

// slow lets everything take longer, until the function that it returns is called.
func (p *proxy) slow() (end func()) {
	set := func(delay time.Duration) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.delay = delay
	}
	set(slowBy)
	return func() { set(0) }
}

// hang keeps all connections and lets nothing through, until the function that it returns is called.
func (p *proxy) hang() (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	flow := make(chan struct{})
	p.flow = flow
	return func() { close(flow) }
}

// cut breaks all connections and refuses others, until restore, which it returns.
func (p *proxy) cut() (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.off = true
	for c := range p.conns {
		c.Close()
	}
	return p.restore
}

func (p *proxy) restore() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.off = false
}
