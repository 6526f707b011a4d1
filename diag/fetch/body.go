package fetch

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
)

// ratioFrom is the size below which a body may be compressed as well as it likes.
const ratioFrom = 1 << 20

var errRatio = errors.New("the body expands more than 200 times")

// readBody reads the body of an answer into the result.
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

// A counter counts the bytes that are read.
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
