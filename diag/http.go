package diag

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"time"
)

const (
	// httpTimeout bounds a request of an HTTPClient with its redirects and its body. No operation waits longer for a page.
	httpTimeout = 30 * time.Second
	// httpIdle is how long a connection of an HTTPClient is kept for another request.
	httpIdle = 30 * time.Second
	// maxHTTPHead bounds the header of a response, in bytes: the largest that servers send have some 16 KiB.
	maxHTTPHead = 64 << 10
)

// HTTPClient returns a client for programs that use net/http, for example to download a file that a domain
// refers to. Its connections are those of the environment: the Resolver looks up names, the Guard checks each
// address before it is dialed, also after a redirect, ports are limited to [WebPorts], and certificates are
// verified with Roots and Clock. It uses no proxy. For a refused address, the error of the request wraps a
// *[BlockedError].
//
// A request, with its redirects and body, times out after 30 s; set the client's Timeout to change that. The
// size of a body is not limited, so read it through an [io.LimitReader]. Each call returns a client with
// connections of its own: reuse it.
func (e *Env) HTTPClient() *http.Client {
	return &http.Client{
		Timeout: httpTimeout,
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
				host, port, err := net.SplitHostPort(addr)
				if err != nil {
					return nil, err
				}
				number, err := strconv.ParseUint(port, 10, 16)
				if err != nil {
					return nil, err
				}
				return e.DialHost(ctx, host, uint16(number), WebPorts)
			},
			TLSClientConfig:        e.TLSConfig(""), // the transport sets the name of the server
			ForceAttemptHTTP2:      true,
			IdleConnTimeout:        httpIdle,
			MaxResponseHeaderBytes: maxHTTPHead,
		},
	}
}
