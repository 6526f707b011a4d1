package resolver

import (
	"context"
	"net"

	"github.com/miekg/dns"
)

// Check puts a question to the first server as Exchange does, but leaves the reply as it came once it is known to be one.
func (c *Client) Check(ctx context.Context, msg *dns.Msg) error {
	set, err := c.upstreams()
	if err != nil {
		return err
	}
	q, err := newQuery(msg, true)
	if err != nil {
		return err
	}
	defer q.free()
	for range set.attempts {
		var came arrival
		if came, err = set.list[0].attempt(ctx, q, manner{timeout: set.timeout}); err == nil {
			came.data.free()
			break
		}
	}
	return err
}

// DialFirst connects to a server over TCP the way streams do; nil if that fails.
func DialFirst(ctx context.Context, s Server, dial func(context.Context, string, string) (net.Conn, error)) net.Conn {
	c := &Client{Dial: dial}
	conn, err := c.newUpstream(s, true).dialTCP(ctx)
	if err != nil {
		return nil
	}
	return conn
}
