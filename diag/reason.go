package diag

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
)

// Within returns a context for one step of a diagnostic. It ends after the limit or, if earlier, after nine
// tenths of the time left until the deadline of ctx, so that what has been learned by then can still be
// reported.
func Within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, TimeLeft(ctx, limit))
}

// TimeLeft returns the timeout that [Within] sets.
func TimeLeft(ctx context.Context, limit time.Duration) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		return min(limit, time.Until(end)*9/10)
	}
	return limit
}

// Reason describes in a few words why an exchange over the network failed, for use in the text of a finding.
// It contains no address or socket of this machine.
func Reason(err error) string {
	if known := reason(err); known != "" {
		return known
	}
	if asked, ok := errors.AsType[*resolver.AskError](err); ok {
		return Reason(asked.Err)
	}
	_, onSocket := errors.AsType[*net.OpError](err) // its text has the addresses of both ends
	_, onHTTP := errors.AsType[*url.Error](err)
	if onSocket || onHTTP || errors.Is(err, net.ErrClosed) {
		return "the connection failed"
	}
	if _, text, ok := strings.Cut(err.Error(), resolver.ErrLame.Error()+": "); ok && errors.Is(err, resolver.ErrLame) {
		return phrase.Quote(text)
	}
	return phrase.Quote(strings.ReplaceAll(err.Error(), "\n", "; "))
}

// reason describes an error in words of our own; empty if unknown.
func reason(err error) string {
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, resolver.ErrTimeout), errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		return "no response"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, context.Canceled):
		return "broken off before there was a response"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF),
		errors.Is(err, io.ErrUnexpectedEOF):
		return "connection closed by the other side"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no route to the host"
	case errors.Is(err, resolver.ErrNoMessage):
		return resolver.ErrNoMessage.Error()
	}
	if blocked, ok := errors.AsType[*BlockedError](err); ok {
		return blocked.Error()
	}
	_, unverified := errors.AsType[*tls.CertificateVerificationError](err)
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	_, notTLS := errors.AsType[tls.RecordHeaderError](err)
	_, lookup := errors.AsType[*net.DNSError](err)
	switch {
	case unverified, unknown:
		return "its certificate is not trusted"
	case alert, notTLS:
		return "the TLS handshake failed"
	case lookup:
		return "the name could not be looked up"
	}
	if _, ok := errors.AsType[*dns.Error](err); ok {
		return "a response that is not valid DNS"
	}
	return ""
}
