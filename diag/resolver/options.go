package resolver

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"
)

// Options change how clients ask in a context, see [WithOptions]. A field that is zero changes nothing.
type Options struct {
	// TCP asks servers over TCP that are otherwise asked over UDP (RFC 7766 section 5).
	TCP bool
	// IPVersion is 4 or 6 if no servers but those with an address of that version are asked.
	IPVersion int
	// Timeout and Attempts override the fields of [Client] of that name.
	Timeout  time.Duration
	Attempts int
}

// ErrNoServer says that a client has no server of the version of the Internet Protocol that its caller insists on.
var ErrNoServer = errors.New("there is no name server of that version of the Internet Protocol")

type optionsKey struct{}

// WithOptions returns a context in which a [Client] asks in another way, and a [Cache] passes questions on to it: to
// find out how servers take them is not a question for what is kept.
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
