package diag

import (
	"context"
	"fmt"
	"net"
	"net/netip"
)

// DialAddr connects to an address. The guard is asked first, and again by the operating system's
// dialler.
func (e *Env) DialAddr(ctx context.Context, network string, addr netip.AddrPort, ports Ports) (net.Conn, error) {
	e = e.orReal()
	if err := e.Guard.Check(addr, ports); err != nil {
		return nil, err
	}
	if e.Dial != nil {
		return e.Dial(ctx, network, addr.String())
	}
	var d net.Dialer
	return d.DialContext(ctx, network, addr.String())
}

// DialHost connects over TCP to a host by its name or IP address.
func (e *Env) DialHost(ctx context.Context, host string, port uint16, ports Ports) (net.Conn, error) {
	addrs := []netip.Addr{}
	if ip, err := netip.ParseAddr(host); err == nil {
		addrs = append(addrs, ip)
	} else {
		answers := LookupAddresses(ctx, e, host)
		if addrs = answers.All(); len(addrs) == 0 {
			if err := answers.Err(); err != nil {
				return nil, err
			}
			return nil, fmt.Errorf("%s has no address", host)
		}
	}
	var failure error
	for _, ip := range addrs {
		conn, err := e.DialAddr(ctx, "tcp", netip.AddrPortFrom(ip, port), ports)
		if err == nil {
			return conn, nil
		}
		failure = err
	}
	return nil, failure
}
