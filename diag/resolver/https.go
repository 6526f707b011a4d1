package resolver

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"time"
)

// mediaType is that of a DNS message, RFC 8484 section 6.
const mediaType = "application/dns-message"

// Limits of HTTP connections. HTTP/2 carries all queries in one connection; over HTTP/1.1 each takes one.
const (
	httpConns       = 8
	httpIdle        = 30 * time.Second
	httpHeaderBytes = 16 << 10
)

// newHTTPClient makes a client that goes to the addresses of the server, whatever its name, that
// follows no redirect and passes no proxy.
func (u *upstream) newHTTPClient() *http.Client {
	config := u.tlsConfig()
	config.ClientSessionCache = tls.NewLRUClientSessionCache(httpConns)
	return &http.Client{
		Transport: &http.Transport{
			DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return u.dialTCP(ctx) },
			TLSClientConfig: config, ForceAttemptHTTP2: true, MaxConnsPerHost: httpConns,
			MaxIdleConnsPerHost: httpConns, IdleConnTimeout: httpIdle, DisableCompression: true,
			DisableKeepAlives: u.single, MaxResponseHeaderBytes: httpHeaderBytes,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// overHTTPS asks a DoH server (RFC 8484 section 4.1).
func (u *upstream) overHTTPS(ctx context.Context, q *query, deadline time.Time) (arrival, error) {
	q.wire[0], q.wire[1] = 0, 0 // section 4.1: so that HTTP caches see equal messages
	limited, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	var came arrival
	limited = httptrace.WithClientTrace(limited, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) { came.remote = addrOf(info.Conn) },
	})
	// The transport may read the body after the reply has come, when the query is used for others.
	body := bytes.Clone(q.wire)
	request, err := http.NewRequestWithContext(limited, http.MethodPost, u.server.url(), bytes.NewReader(body))
	if err != nil {
		return came, err
	}
	request.Header = http.Header{"Content-Type": {mediaType}, "Accept": {mediaType}, "User-Agent": {""}}
	response, err := u.http.Do(request)
	if err != nil {
		return arrival{}, httpError(ctx, limited, err)
	}
	defer response.Body.Close()
	if age, err := strconv.ParseUint(response.Header.Get("Age"), 10, 31); err == nil {
		came.age = uint32(age)
	}
	came.data, err = readHTTP(response, q)
	if err != nil {
		return came, httpError(ctx, limited, err)
	}
	return came, nil
}

// httpError tells the end of the caller's context from the end of the time for this try.
func httpError(ctx, limited context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return connectError(limited, err)
}

var errHTTPReply = errors.New("the reply is not one to the question")

// readHTTP takes the message out of a response. Only a response with a status of success holds one
// (RFC 8484 section 4.2.1).
func readHTTP(response *http.Response, q *query) (*buffer, error) {
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("HTTP status %d", response.StatusCode)
	}
	contentType := response.Header.Get("Content-Type")
	if t, _, err := mime.ParseMediaType(contentType); err != nil || t != mediaType {
		return nil, fmt.Errorf("the reply is of type %.80q", contentType)
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, maxMessage+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxMessage {
		return nil, errors.New("the reply is longer than a message can be")
	}
	if len(data) < headerLen || data[0] != 0 || data[1] != 0 || !q.matches(data) {
		return nil, errHTTPReply
	}
	b := newBuffer(len(data))
	copy(b.data, data)
	return b, nil
}
