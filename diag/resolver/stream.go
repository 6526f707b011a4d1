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
	"net/netip"
	"strconv"
	"time"
)

// connectDelay is the head start of each address over the next (RFC 8305 section 5).
const connectDelay = 250 * time.Millisecond

// dialTCP connects to one of the addresses of a server, the family of the first address having a
// head start over the other.
func (u *upstream) dialTCP(ctx context.Context) (net.Conn, error) {
	addrs, err := u.addresses(ctx)
	if err != nil {
		return nil, err
	}
	if len(addrs) == 1 {
		return u.dial(ctx, "tcp", addrs[0].String())
	}
	return dialFirst(ctx, interleave(addrs), func(ctx context.Context, a netip.AddrPort) (net.Conn, error) {
		return u.dial(ctx, "tcp", a.String())
	})
}

// dialTLS connects to a DNS-over-TLS server, whose certificate must hold its name (RFC 8310 section 8.1).
func (u *upstream) dialTLS(ctx context.Context) (net.Conn, error) {
	conn, err := u.dialTCP(ctx)
	if err != nil {
		return nil, err
	}
	secure := tls.Client(conn, u.tlsConfig())
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return secure, nil
}

func (u *upstream) tlsConfig() *tls.Config {
	return &tls.Config{
		RootCAs: u.roots, Time: u.clock, ServerName: u.server.certificateName(), MinVersion: tls.VersionTLS12,
		ClientSessionCache: u.sessions,
	}
}

// addresses lists where the server can be reached.
func (u *upstream) addresses(ctx context.Context) ([]netip.AddrPort, error) {
	ips := u.server.Addrs
	if len(ips) == 0 {
		var err error
		if ips, err = u.lookup(ctx, u.server.Name); err != nil {
			return nil, fmt.Errorf("looking up %s: %w", u.server.Name, err)
		}
		if len(ips) == 0 {
			return nil, fmt.Errorf("looking up %s: it has no address", u.server.Name)
		}
	}
	list := make([]netip.AddrPort, 0, min(len(ips), maxAddrs))
	for _, ip := range ips[:cap(list)] {
		list = append(list, netip.AddrPortFrom(ip.Unmap(), u.server.port()))
	}
	return list, nil
}

// interleave alternates between the families of addresses (RFC 8305 section 4).
func interleave(addrs []netip.AddrPort) []netip.AddrPort {
	var first, second []netip.AddrPort
	for _, a := range addrs {
		if a.Addr().Is4() == addrs[0].Addr().Is4() {
			first = append(first, a)
		} else {
			second = append(second, a)
		}
	}
	return alternate(first, second)
}

// alternate takes items of two lists in turn.
func alternate[T any](first, second []T) (list []T) {
	for i := range max(len(first), len(second)) {
		list = append(list, first[min(i, len(first)):min(i+1, len(first))]...)
		list = append(list, second[min(i, len(second)):min(i+1, len(second))]...)
	}
	return list
}

type dialResult struct {
	conn net.Conn
	err  error
}

// dialFirst tries addresses, each after a delay or as soon as one has failed, and returns the first
// connection (RFC 8305 section 5).
func dialFirst(ctx context.Context, addrs []netip.AddrPort,
	dial func(context.Context, netip.AddrPort) (net.Conn, error)) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	results := make(chan outcome[dialResult])
	running := 0
	defer func() {
		cancel()
		for range running { // each ends immediately, because its context has ended
			if r := <-results; r.value.conn != nil {
				r.value.conn.Close()
			}
		}
	}()
	delay := time.NewTimer(0)
	defer delay.Stop()
	var failures []error
	for next := 0; next < len(addrs) || running > 0; {
		select {
		case <-delay.C:
			if next < len(addrs) {
				addr := addrs[next]
				next++
				running++
				delay.Reset(connectDelay)
				start(results, func() dialResult {
					conn, err := dial(ctx, addr)
					return dialResult{conn, err}
				})
			}
		case o := <-results:
			running--
			r := o.get()
			if r.err == nil {
				return r.conn, nil
			}
			failures = append(failures, r.err)
			delay.Reset(0)
		}
	}
	return nil, errors.Join(failures...)
}

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
			DialContext: u.dialHTTP, TLSClientConfig: config, ForceAttemptHTTP2: true, MaxConnsPerHost: httpConns,
			MaxIdleConnsPerHost: httpConns, IdleConnTimeout: httpIdle, DisableCompression: true,
			DisableKeepAlives: u.single, MaxResponseHeaderBytes: httpHeaderBytes,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// dialHTTP dials for a transport, which does so in a goroutine of its own: a panic there is an error of the request.
func (u *upstream) dialHTTP(ctx context.Context, _, _ string) (net.Conn, error) {
	o := caught(func() dialResult {
		conn, err := u.dialTCP(ctx)
		return dialResult{conn, err}
	})
	if o.panicked != nil {
		return nil, o.panicked
	}
	return o.value.conn, o.value.err
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

// httpError distinguishes the end of the caller's context from the timeout of this try.
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
