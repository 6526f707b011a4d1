package tlscert

import (
	"context"
	"net"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/webcheck/internal/probe"
)

func (e *evidence) dialer(env *diag.Env) probe.Dialer {
	return func(ctx context.Context) (net.Conn, error) { return env.DialAddr(ctx, "tcp", e.addr, ports) }
}

func (e *evidence) config() probe.Config {
	return probe.Config{ServerName: e.name, ALPN: protocols(e.req.Port), Limits: e.limits()}
}

// limits are those of the connections to the address.
func (e *evidence) limits() probe.Limits { return probe.Limits{e.limit, e.whole.limit} }

// protocols are the application protocols to offer on a port (RFC 7301): those of the web, and of DNS over TLS.
func protocols(port int) []string {
	switch port {
	case 443, 8443:
		return []string{"h2", "http/1.1"}
	case 853:
		return []string{"dot"}
	default:
		return nil
	}
}
