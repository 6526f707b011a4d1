package fetch

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
)

// maxInterim bounds the interim answers before the real one (RFC 9110 section 15.2).
const maxInterim = 5

var errHeadTooLong = errors.New("the head of the answer is longer than 256 KiB")

// exchange sends a request over a link and reads the head of the answer. The body of the answer must
// be read before the link is closed.
func (l *link) exchange(ctx context.Context, req *http.Request) (*http.Response, []Field, *Error) {
	ctx, cancel := context.WithTimeout(ctx, HeadTimeout)
	defer cancel()
	// Reading knows no context: what ends it is that the connection is closed.
	stop := context.AfterFunc(ctx, func() { l.raw.Close() })
	defer stop()

	rec := &recorder{Conn: l.conn}
	speak, fields := http1, fields1
	if c, ok := l.conn.(*tls.Conn); ok && c.ConnectionState().NegotiatedProtocol == "h2" {
		speak, fields = speakHTTP2, fields2
	}
	resp, err := speak(rec, req)
	if err != nil && len(rec.end()) > maxHeadBytes/2 && !timedOut(ctx, err) {
		err = errHeadTooLong // HTTP/2 calls it by other names, and compresses it besides
	}
	if err != nil {
		return nil, nil, headError(ctx, req.URL.Hostname(), err)
	}
	if resp.StatusCode < 200 {
		return nil, nil, &Error{Code: Protocol, Step: Answering, Message: "the server changed the protocol without being asked"}
	}
	list := fields(rec.end())
	if list == nil {
		list = anyOrder(resp.Header)
	}
	return resp, list, nil
}

// http1 speaks HTTP/1.1 (RFC 9112).
func http1(rec *recorder, req *http.Request) (*http.Response, error) {
	req.Close = true
	if err := req.Write(rec); err != nil {
		return nil, err
	}
	limit := &headLimit{r: rec, left: maxHeadBytes}
	r := bufio.NewReader(limit)
	for range maxInterim {
		resp, err := http.ReadResponse(r, req)
		if err != nil {
			if limit.left <= 0 {
				return nil, errHeadTooLong
			}
			return nil, err
		}
		if resp.StatusCode >= 200 || resp.StatusCode == http.StatusSwitchingProtocols {
			limit.lifted = true
			return resp, nil
		}
	}
	return nil, errors.New("too many interim answers")
}

// speakHTTP2 speaks HTTP/2 (RFC 9113). To the transport the link is one that needs no TLS any more,
// since a transport would not take TLS in the hands of a recorder.
func speakHTTP2(rec *recorder, req *http.Request) (*http.Response, error) {
	dialled := func(context.Context, string, string) (net.Conn, error) { return rec, nil }
	transport := &http.Transport{
		DialTLSContext: dialled, Protocols: new(http.Protocols),
		DisableCompression: true, MaxResponseHeaderBytes: maxHeadBytes,
	}
	transport.Protocols.SetUnencryptedHTTP2(true)
	return transport.RoundTrip(req)
}

// A headLimit is a reader that ends after so many bytes, until it is lifted.
type headLimit struct {
	r      io.Reader
	left   int
	lifted bool
}

func (h *headLimit) Read(b []byte) (int, error) {
	if h.lifted {
		return h.r.Read(b)
	}
	if h.left <= 0 {
		return 0, errHeadTooLong
	}
	n, err := h.r.Read(b[:min(len(b), h.left)])
	h.left -= n
	return n, err
}

func headError(ctx context.Context, host string, err error) *Error {
	message := "the answer violates HTTP"
	switch {
	case timedOut(ctx, err):
		return &Error{Code: Timeout, Step: Answering, Message: "the answer of " + host + " did not come in time",
			Unanswered: true, Cause: err}
	case errors.Is(err, errHeadTooLong):
		message = errHeadTooLong.Error()
	case strings.Contains(err.Error(), "malformed HTTP"):
		message = "the answer is not HTTP"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.EPIPE),
		errors.Is(err, syscall.ECONNRESET):
		message = "the server closed the connection without a complete answer"
	}
	return &Error{Code: Protocol, Step: Answering, Message: message, Cause: err}
}

// ratioFrom is the size below which a body may be compressed as well as it likes.
const ratioFrom = 1 << 20

var errRatio = errors.New("the body expands more than 200 times")

func (r *Result) readBody(ctx context.Context, resp *http.Response, req Request) *Error {
	wire := &counter{r: resp.Body}
	defer func() { r.TransferBytes = wire.n }()
	r.Encoding = strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding")))
	if req.Method == http.MethodHead {
		return nil
	}
	body, err := decode(wire, r.Encoding, req.Raw)
	if err == nil {
		r.Body, err = io.ReadAll(io.LimitReader(body, req.MaxBytes+1))
	}
	if int64(len(r.Body)) > req.MaxBytes {
		r.Body, r.Truncated = r.Body[:req.MaxBytes], true
	}
	if err != nil {
		r.Truncated = true
		return bodyError(ctx, err)
	}
	return nil
}

// decode undoes a content coding (RFC 9110 section 8.4.1).
func decode(wire *counter, coding string, raw bool) (io.Reader, error) {
	switch {
	case raw || coding == "" || coding == "identity":
		return wire, nil
	case coding == "gzip" || coding == "x-gzip":
		buffered := bufio.NewReader(wire)
		if _, err := buffered.Peek(1); err == io.EOF {
			return buffered, nil // no body at all
		}
		z, err := gzip.NewReader(buffered)
		return &expander{r: z, wire: wire}, err
	case coding == "deflate":
		z, err := inflate(bufio.NewReader(wire))
		return &expander{r: z, wire: wire}, err
	default:
		return nil, errors.New("the body has a content coding that was not asked for")
	}
}

// inflate reads what servers send as deflate: in the zlib format, as it should be, or without it.
func inflate(r *bufio.Reader) (io.Reader, error) {
	head, err := r.Peek(2)
	if errors.Is(err, io.EOF) {
		return r, nil
	}
	// RFC 1950 section 2.2: the two bytes are a multiple of 31, and the method is 8.
	if len(head) == 2 && head[0]&15 == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
		return zlib.NewReader(r)
	}
	return flate.NewReader(r), nil
}

// An expander is a reader of decompressed bytes that gives up when they are far too many.
type expander struct {
	r    io.Reader
	wire *counter
	n    int64
}

func (e *expander) Read(b []byte) (int, error) {
	n, err := e.r.Read(b)
	e.n += int64(n)
	if e.n > ratioFrom && e.n > maxRatio*e.wire.n {
		return n, errRatio
	}
	return n, err
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

func bodyError(ctx context.Context, err error) *Error {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	message := "the body broke off"
	switch {
	case timedOut(ctx, err):
		return &Error{Code: Timeout, Step: reading, Message: "the body did not arrive in time", Unanswered: true, Cause: err}
	case corrupt, errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.Is(err, zlib.ErrHeader),
		errors.Is(err, zlib.ErrChecksum):
		message = "the body cannot be decompressed by its Content-Encoding"
	case errors.Is(err, errRatio):
		message = errRatio.Error()
	case strings.Contains(err.Error(), "content coding"):
		message = err.Error()
	}
	return &Error{Code: Protocol, Step: reading, Message: message, Cause: err}
}
