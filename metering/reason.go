package metering

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"syscall"
)

// A ReasonError is an error whose reason may be shown to members and operators as it is, in a few plain words:
// [Reason] says it. What dials for notifications or payments, and what asks for payments, returns one to say more
// than the kind of a failure.
type ReasonError struct {
	Reason string
	Err    error // may be nil
}

// Error implements error.
func (e *ReasonError) Error() string { return e.Reason }

// Unwrap returns the error behind the reason.
func (e *ReasonError) Unwrap() error { return e.Err }

// Reason returns why a request to a peer, such as a receiver, failed, in words for members: the text of a
// [ReasonError], or the kind of the failure. Error texts of Go's libraries are left out: they describe this program,
// and may contain a URL, which may be a secret.
func Reason(err error, peer string) string {
	return cmp.Or(reasonOf(err, peer), "there was no answer that could be understood")
}

// reasonOf is empty where the kind of a failure is not known.
func reasonOf(err error, peer string) string {
	if reason, ok := errors.AsType[*ReasonError](err); ok {
		return reason.Reason
	}
	if text := certificateFault(err, peer); text != "" {
		return text
	}
	_, alert := errors.AsType[tls.AlertError](err)
	_, notTLS := errors.AsType[tls.RecordHeaderError](err)
	_, lookup := errors.AsType[*net.DNSError](err)
	_, file := errors.AsType[*fs.PathError](err)
	_, link := errors.AsType[*os.LinkError](err)
	timeout, isNet := errors.AsType[net.Error](err)
	switch {
	case isNet && timeout.Timeout():
		return "no answer in time"
	case errors.Is(err, context.Canceled):
		return "the server stopped before there was an answer"
	case lookup:
		return "the host could not be looked up"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the host refuses connections"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "the host cannot be reached"
	case alert, notTLS, errors.Is(err, http.ErrSchemeMismatch):
		return "the " + peer + " does not accept the TLS handshake"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, syscall.EPIPE), errors.Is(err, net.ErrClosed):
		return "the connection ended before the answer was complete"
	case file, link:
		return "a file could not be read or written"
	}
	return ""
}

// certificateFault returns why the certificate of a peer is not trusted; empty for another error.
func certificateFault(err error, peer string) string {
	invalid, isInvalid := errors.AsType[x509.CertificateInvalidError](err)
	_, otherName := errors.AsType[x509.HostnameError](err)
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	_, other := errors.AsType[*tls.CertificateVerificationError](err)
	what := "the certificate of the " + peer
	switch {
	case isInvalid && invalid.Reason == x509.Expired:
		return what + " has expired, or is not valid yet"
	case otherName:
		return what + " is for another host"
	case unknown:
		return what + " is from an authority that is not trusted"
	case isInvalid, other:
		return what + " is not valid"
	}
	return ""
}
