package resolver

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"
)

// Options change how clients query in a context; see [WithOptions]. Fields that are zero change nothing.
type Options struct {
	// TCP queries servers over TCP that are otherwise queried over UDP (RFC 7766 section 5).
	TCP bool
	// IPVersion is 4 or 6 to query only addresses of that IP version.
	IPVersion int
	// Timeout and Attempts override the fields of that name in [Client].
	Timeout  time.Duration
	Attempts int
}

// ErrNoServer means that a client has no server with an address of the required IP version; see [Options].
var ErrNoServer = errors.New("there is no name server of that version of the Internet Protocol")

type optionsKey struct{}

// WithOptions returns a context in which a [Client] queries as o says. A [Cache] passes such queries on to
// its upstream.
func WithOptions(ctx context.Context, o Options) context.Context {
	return context.WithValue(ctx, optionsKey{}, o)
}

// optionsOf returns the options of a context.
func optionsOf(ctx context.Context) Options {
	o, _ := ctx.Value(optionsKey{}).(Options)
	return o
}

// admits reports whether a server may be asked. One that is given by name alone may have any address.
func (o Options) admits(s Server) bool {
	of := func(ip netip.Addr) bool { return ip.Is4() == (o.IPVersion == 4) }
	return o.IPVersion == 0 || len(s.Addrs) == 0 || slices.ContainsFunc(s.Addrs, of)
}

// manner returns the query parameters for the servers of a set.
func (o Options) manner(c *Client, set *upstreams) (how manner, attempts int) {
	return manner{
		timeout: positive(o.Timeout, set.timeout), fold: c.Case0x20, asIs: c.AsIs, tcp: o.TCP,
	}, min(positive(o.Attempts, set.attempts), maxAttempts)
}
