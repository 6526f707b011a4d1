package fetch

import (
	"bufio"
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
