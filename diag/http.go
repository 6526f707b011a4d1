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

// HTTPClient returns a client for programs that work with net/http, such as one that downloads a file which a domain
// refers to. Its connections are those of the environment: names are looked up by its Resolver, each address is checked
// by its Guard before it is dialed, also after a redirect, ports are [WebPorts], and servers are to prove their names
// to its Roots at its time. It uses no proxy. A refused address is a *[BlockedError] in the error of the request.
//
// It ends a request after 30 s, which its field Timeout changes; a body has no other bound, so read it through an
// [io.LimitReader]. Each call makes a client with connections of its own: keep it for many requests.
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
