package diagtest_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/diagkit/diagkit/diag"
)

// webClient returns an HTTP client that is built from an Env.
func webClient(env *diag.Env) *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: env.Roots, Time: env.Now},
		ForceAttemptHTTP2: true,
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			host, port, err := net.SplitHostPort(addr)
			if err != nil {
				return nil, err
			}
			n, err := strconv.ParseUint(port, 10, 16)
			if err != nil {
				return nil, err
			}
			return env.DialHost(ctx, host, uint16(n), diag.WebPorts)
		},
	}}
}

// A datagrams is a UDP connection of the type by which the DNS library distinguishes it from TCP.
type datagrams struct {
	net.PacketConn // nil: the library only asks whether it is there
	net.Conn
}

func (d datagrams) Close() error                       { return d.Conn.Close() }
func (d datagrams) LocalAddr() net.Addr                { return d.Conn.LocalAddr() }
func (d datagrams) SetDeadline(t time.Time) error      { return d.Conn.SetDeadline(t) }
func (d datagrams) SetReadDeadline(t time.Time) error  { return d.Conn.SetReadDeadline(t) }
func (d datagrams) SetWriteDeadline(t time.Time) error { return d.Conn.SetWriteDeadline(t) }

// wireConn returns a connection such that the DNS library frames messages as the network demands.
func wireConn(c net.Conn) net.Conn {
	if c.RemoteAddr().Network() == "udp" {
		return datagrams{Conn: c}
	}
	return c
}
