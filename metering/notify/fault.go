package notify

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strconv"
	"syscall"
	"time"

	"github.com/emersion/go-smtp"
)

// A ReasonError is an error whose reason may be shown to members and operators as it is, in a few plain words: what dials
// for a [Worker] or a [MailServer] returns one to say why there is no connection.
type ReasonError struct {
	Reason string
	Err    error // may be nil
}

// Error implements error.
func (e *ReasonError) Error() string { return e.Reason }

// Unwrap returns what is behind the reason.
func (e *ReasonError) Unwrap() error { return e.Err }

// plain says what went wrong on the way, in words for members. What Go's libraries say stays here: it tells of this
// program, and may hold the URL, which may be a secret.
func plain(ctx context.Context, err error) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "no answer within " + strconv.Itoa(int(attemptTime/time.Second)) + " s"
	}
	if reason, ok := errors.AsType[*ReasonError](err); ok {
		return reason.Reason
	}
	if answer, ok := errors.AsType[*smtp.SMTPError](err); ok {
		return "the mail server answered " + strconv.Itoa(answer.Code)
	}
	if text := certificateFault(err); text != "" {
		return text
	}
	_, alert := errors.AsType[tls.AlertError](err)
	_, notTLS := errors.AsType[tls.RecordHeaderError](err)
	_, lookup := errors.AsType[*net.DNSError](err)
	timeout, isNet := errors.AsType[net.Error](err)
	switch {
	case isNet && timeout.Timeout():
		return "no answer in time"
	case lookup:
		return "the host could not be looked up"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the host refuses connections"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "the host cannot be reached"
	case alert, notTLS:
		return "the receiver does not accept the TLS handshake"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, syscall.EPIPE), errors.Is(err, net.ErrClosed):
		return "the connection ended before the answer was complete"
	}
	return "there was no answer that could be understood"
}

// certificateFault says why the certificate of a receiver is not trusted; empty if that is not the reason.
func certificateFault(err error) string {
	invalid, isInvalid := errors.AsType[x509.CertificateInvalidError](err)
	_, otherName := errors.AsType[x509.HostnameError](err)
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	_, other := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case isInvalid && invalid.Reason == x509.Expired:
		return "the certificate of the receiver has expired, or is not valid yet"
	case otherName:
		return "the certificate of the receiver is for another host"
	case unknown:
		return "the certificate of the receiver is from an authority that is not trusted"
	case isInvalid, other:
		return "the certificate of the receiver is not valid"
	}
	return ""
}
