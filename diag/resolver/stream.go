package resolver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// connectDelay is the head start of each address over the next (RFC 8305 section 5).
const connectDelay = 250 * time.Millisecond

// dialTCP connects to one of the addresses of a server, the family of the first address having a
// head start over the other.
func (u *upstream) dialTCP(ctx context.Context) (net.Conn, error) {
	addrs, err := u.addresses(ctx)
	if err != nil {
		return nil, err
	}
	if len(addrs) == 1 {
		return u.dial(ctx, "tcp", addrs[0].String())
	}
	return dialFirst(ctx, interleave(addrs), func(ctx context.Context, a netip.AddrPort) (net.Conn, error) {
		return u.dial(ctx, "tcp", a.String())
	})
}

// dialTLS connects to a DNS-over-TLS server, whose certificate must hold its name (RFC 8310 section 8.1).
func (u *upstream) dialTLS(ctx context.Context) (net.Conn, error) {
	conn, err := u.dialTCP(ctx)
	if err != nil {
		return nil, err
	}
	secure := tls.Client(conn, u.tlsConfig())
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return secure, nil
}

func (u *upstream) tlsConfig() *tls.Config {
	return &tls.Config{
		RootCAs: u.roots, Time: u.clock, ServerName: u.server.certificateName(), MinVersion: tls.VersionTLS12,
		ClientSessionCache: u.sessions,
	}
}

// addresses lists where the server can be reached.
func (u *upstream) addresses(ctx context.Context) ([]netip.AddrPort, error) {
	ips := u.server.Addrs
	if len(ips) == 0 {
		var err error
		if ips, err = u.lookup(ctx, u.server.Name); err != nil {
			return nil, fmt.Errorf("looking up %s: %w", u.server.Name, err)
		}
		if len(ips) == 0 {
			return nil, fmt.Errorf("looking up %s: it has no address", u.server.Name)
		}
	}
	list := make([]netip.AddrPort, 0, min(len(ips), maxAddrs))
	for _, ip := range ips[:cap(list)] {
		list = append(list, netip.AddrPortFrom(ip.Unmap(), u.server.port()))
	}
	return list, nil
}

// interleave alternates between the families of addresses (RFC 8305 section 4).
func interleave(addrs []netip.AddrPort) []netip.AddrPort {
	var first, second []netip.AddrPort
	for _, a := range addrs {
		if a.Addr().Is4() == addrs[0].Addr().Is4() {
			first = append(first, a)
		} else {
			second = append(second, a)
		}
	}
	list := make([]netip.AddrPort, 0, len(addrs))
	for i := range first {
		list = append(list, first[i])
		if i < len(second) {
			list = append(list, second[i])
		}
	}
	return append(list, second[min(len(first), len(second)):]...)
}

type dialResult struct {
	conn net.Conn
	err  error
}

// dialFirst tries addresses, each after a delay or as soon as one has failed, and returns the first
// connection (RFC 8305 section 5).
func dialFirst(ctx context.Context, addrs []netip.AddrPort,
	dial func(context.Context, netip.AddrPort) (net.Conn, error)) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	results := make(chan dialResult)
	running := 0
	defer func() {
		cancel()
		for range running { // each ends at once, for its context has ended
			if r := <-results; r.conn != nil {
				r.conn.Close()
			}
		}
	}()
	delay := time.NewTimer(0)
	defer delay.Stop()
	var failures []error
	for next := 0; next < len(addrs) || running > 0; {
		select {
		case <-delay.C:
			if next < len(addrs) {
				addr := addrs[next]
				next++
				running++
				delay.Reset(connectDelay)
				go func() {
					conn, err := dial(ctx, addr)
					results <- dialResult{conn, err}
				}()
			}
		case r := <-results:
			running--
			if r.err == nil {
				return r.conn, nil
			}
			failures = append(failures, r.err)
			delay.Reset(0)
		}
	}
	return nil, errors.Join(failures...)
}
