package diag

import (
	"context"
	"net"
	"net/netip"

	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
)

// Iterator returns an iterator that walks from the root servers of the environment through its network.
// Name servers that are found in the DNS are dialled through the guard, and those that it refuses are
// skipped; the root servers are the operator's choice. About names that are not published yet nobody is asked, see
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
