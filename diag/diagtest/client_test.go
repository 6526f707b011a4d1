package diagtest_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strconv"

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
