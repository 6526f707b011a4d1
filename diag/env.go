package diag

import (
	"context"
	"crypto/x509"
	"net"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
)

// Env is the outside world as a diagnostic sees it. A nil *Env, like the zero Env, is the real
// Internet; a field that is set replaces that part of it. An Env is shared by goroutines, must not
// be copied, and must not change once in use.
type Env struct {
	// Resolver answers DNS questions. If nil, the system's name servers are asked.
	Resolver Resolver

	// Dial connects to an IP address and port, network being tcp or udp. If nil, the real network is
	// used. Either way the Guard is asked first.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	// Roots are the certificate authorities to trust. If nil, the system's.
	Roots *x509.CertPool

	// Clock tells the time. If nil, it is the wall clock.
	Clock Clock

	// Guard says which addresses and ports may be reached. Its zero value allows public addresses
	// and the ports of the protocol at hand.
	Guard Guard

	system    sync.Once
	systemDNS Resolver
	clients   sync.Map // resolver id to Resolver, see Upstream
}

// A Clock tells the time. The nil Clock is the wall clock.
type Clock func() time.Time

// A Resolver puts one question to the DNS. It reports what it heard: NXDOMAIN and SERVFAIL are
// answers, and only the lack of an answer is an error.
type Resolver interface {
	Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error)
}

// real is the world of a nil Env. It holds nothing but connections to the system's name servers.
var real Env

func (e *Env) orReal() *Env {
	if e == nil {
		return &real
	}
	return e
}

// Now returns the present time of the environment.
func (e *Env) Now() time.Time {
	if e == nil || e.Clock == nil {
		return time.Now()
	}
	return e.Clock()
}

// DNS returns the resolver of the environment.
func (e *Env) DNS() Resolver {
	e = e.orReal()
	if e.Resolver != nil {
		return e.Resolver
	}
	e.system.Do(func() { e.systemDNS = resolver.System() })
	return e.systemDNS
}

// Upstream returns a resolver that asks the given servers through the environment's network. It is
// made once for each id, so that its connections are used again.
func (e *Env) Upstream(id string, servers ...resolver.Server) Resolver {
	e = e.orReal()
	if r, ok := e.clients.Load(id); ok {
		return r.(Resolver)
	}
	client := &resolver.Client{Servers: servers, Roots: e.Roots, Clock: e.Now}
	if e.Dial != nil {
		client.Dial = e.Dial
	}
	r, _ := e.clients.LoadOrStore(id, client)
	return r.(Resolver)
}
