package resolver

import (
	"context"
	"net"
)

// DialFirst connects to a server over TCP the way streams do; nil if that fails.
func DialFirst(ctx context.Context, s Server, dial func(context.Context, string, string) (net.Conn, error)) net.Conn {
	c := &Client{Dial: dial}
	conn, err := c.newUpstream(s, true).dialTCP(ctx)
	if err != nil {
		return nil
	}
	return conn
}
