package diag

import (
	"context"
	"net"
	"net/netip"

	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
)

// Upstream returns a resolver that asks the given servers through the environment's network. It is created
// once for each id, so that its connections are reused: always pass the same servers with an id. The guard
// does not apply, because the servers are the operator's choice; use [Env.DialAddr] for servers to which a
// caller's input leads.
func (e *Env) Upstream(id string, servers ...resolver.Server) Resolver {
	e = e.source()
	if r, ok := e.clients.Load(id); ok {
		return r.(Resolver)
	}
	var made Resolver = &resolver.Client{
		Servers: servers, Dial: e.Dial, Lookup: e.lookUpServer, Roots: e.Roots, Clock: e.Now,
	}
	if _, ok := e.Resolver.(delegator); ok {
		made = &withheld{made, e}
	}
	r, _ := e.clients.LoadOrStore(id, made)
	return r.(Resolver)
}

// lookUpServer finds the addresses of a name server that is given by name.
func (e *Env) lookUpServer(ctx context.Context, host string) ([]netip.Addr, error) {
	answers := LookupAddresses(ctx, e, host)
	addrs := answers.All()
	if len(addrs) == 0 {
		return nil, &NoAddressError{Host: host, Err: answers.Err()}
	}
	return addrs, nil
}

// Iterator returns an iterator that resolves names from the root servers of the environment through its
// network. Name servers found in the DNS are dialed through the guard, and those that it refuses are skipped;
// it is not asked about the root servers. No server is queried for names that are not published yet; see
// [Env.Undelegated].
func (e *Env) Iterator() *resolver.Iterator {
	e = e.orReal()
	roots := map[netip.Addr]bool{}
	for _, server := range e.RootServers {
		for _, ip := range server.Addrs {
			roots[ip.Unmap()] = true
		}
	}
	client := &resolver.Client{AsIs: true, Case0x20: true, Attempts: 1, Dial: e.dialServer(roots)}
	return &resolver.Iterator{
		Ask: func(ctx context.Context, server resolver.Server, q *dns.Msg) (*dns.Msg, error) {
			if err := e.allowed(q); err != nil {
				return nil, err
			}
			return client.Ask(ctx, server, q)
		},
		Roots: e.RootServers,
		Check: func(addr netip.AddrPort) error {
			if roots[addr.Addr()] {
				return nil
			}
			return e.Guard.Check(addr, DNSPorts)
		},
	}
}

// dialServer dials name servers: through the guard unless they are root servers of the operator.
func (e *Env) dialServer(roots map[netip.Addr]bool) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		addr, err := netip.ParseAddrPort(address)
		if err != nil {
			return nil, err
		}
		switch {
		case !roots[addr.Addr()]:
			return e.DialAddr(ctx, network, addr, DNSPorts)
		case e.Dial != nil:
			return e.Dial(ctx, network, address)
		default:
			return new(net.Dialer).DialContext(ctx, network, address)
		}
	}
}
