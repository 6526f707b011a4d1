package fetch

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
)

// maxInterim bounds the interim answers before the real one (RFC 9110 section 15.2).
const maxInterim = 5

var errHeadTooLong = errors.New("the head of the answer is longer than 256 KiB")

// An answer is the response to a request. Its body must be read before the link is closed.
type answer struct {
	*http.Response
	fields []Field
	faults []HeadFault
}

// exchange sends a request over a link and reads the head of the answer.
func (l *link) exchange(ctx context.Context, req *http.Request) (*answer, *Error) {
	ctx, cancel := context.WithTimeout(ctx, HeadTimeout)
	defer cancel()
	// Reading knows no context: what ends it is that the connection is closed.
	stop := context.AfterFunc(ctx, func() { l.raw.Close() })
	defer stop()

	speak := http1
	if c, ok := l.conn.(*tls.Conn); ok && c.ConnectionState().NegotiatedProtocol == "h2" {
		speak = speakHTTP2
	}
	got, err := speak(l.conn, req)
	if err != nil {
		return nil, headError(ctx, req.URL.Hostname(), err)
	}
	if got.StatusCode < 200 {
		return nil, &Error{Code: Protocol, Step: Answering, Message: "the server changed the protocol without being asked"}
	}
	return got, nil
}

// http1 speaks HTTP/1.1 (RFC 9112).
func http1(conn net.Conn, req *http.Request) (*answer, error) {
	req.Close = true
	unsent := req.Write(conn)
	r := bufio.NewReader(conn)
	for range maxInterim {
		raw, err := readHead(r) // also from a server that did not want to hear the request
		if _, spoke := err.(*foreignError); err != nil && unsent != nil && !spoke {
			return nil, unsent
		}
		if err != nil {
			return nil, err
		}
		h, err := parseHead(raw)
		if err != nil {
			return nil, err
		}
		if h.status >= 100 && h.status < 200 && h.status != http.StatusSwitchingProtocols {
			continue
		}
		resp, err := http.ReadResponse(bufio.NewReader(io.MultiReader(bytes.NewReader(h.clean), r)), req)
		if err != nil {
			return nil, err
		}
		return &answer{resp, h.fields, h.faults}, nil
	}
	return nil, errors.New("too many interim answers")
}

// speakHTTP2 speaks HTTP/2 (RFC 9113). To the transport the link is one that needs no TLS any more,
// since a transport would not take TLS in the hands of a recorder.
func speakHTTP2(conn net.Conn, req *http.Request) (*answer, error) {
	rec := &recorder{Conn: conn}
	dialled := func(context.Context, string, string) (net.Conn, error) { return rec, nil }
	transport := &http.Transport{
		DialTLSContext: dialled, Protocols: new(http.Protocols),
		DisableCompression: true, MaxResponseHeaderBytes: maxHeadBytes,
	}
	transport.Protocols.SetUnencryptedHTTP2(true)
	resp, err := transport.RoundTrip(req)
	data := rec.end()
	switch {
	case err != nil && len(data) > maxHeadBytes/2 && !timedOut(req.Context(), err):
		return nil, errHeadTooLong // HTTP/2 has other names for it, and compresses it
	case err != nil:
		return nil, err
	}
	list := fields2(data)
	if list == nil {
		list = anyOrder(resp.Header)
	}
	return &answer{Response: resp, fields: list}, nil
}

func headError(ctx context.Context, host string, err error) *Error {
	message := "the answer violates HTTP"
	foreign, isForeign := errors.AsType[*foreignError](err)
	unframed, isUnframed := errors.AsType[*HeadError](err)
	switch {
	case isForeign:
		message = foreign.Error()
	case isUnframed:
		message = unframed.Error()
	case timedOut(ctx, err):
		return &Error{Code: Timeout, Step: Answering, Message: "the answer of " + host + " did not come in time",
			Unanswered: true, Cause: err}
	case errors.Is(err, errHeadTooLong):
		message = errHeadTooLong.Error()
	case strings.Contains(err.Error(), "malformed HTTP"):
		message = "the answer does not begin with a valid status line: " + phrase.Clip(diag.Reason(err), maxHeadLine)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.EPIPE),
		errors.Is(err, syscall.ECONNRESET):
		message = "the server closed the connection without a complete answer"
	}
	return &Error{Code: Protocol, Step: Answering, Message: message, Cause: err}
}

// ratioFrom is the size below which a body may be compressed as well as it likes.
const ratioFrom = 1 << 20

var errRatio = errors.New("the body expands more than 200 times")

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
	message := "the body broke off"
	coding, isCoding := errors.AsType[*CodingError](err)
	switch {
	case timedOut(ctx, err):
		return &Error{Code: Timeout, Step: Reading, Message: "the body did not arrive in time", Unanswered: true, Cause: err}
	case isCoding:
		message = coding.Error()
	case errors.Is(err, errRatio):
		message = errRatio.Error()
	}
	return &Error{Code: Protocol, Step: Reading, Message: message, Cause: err}
}
