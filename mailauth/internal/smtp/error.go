package smtp

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
)

// A Step is a part of a session.
type Step string

// The steps, in order.
const (
	StepConnect  Step = "connect"  // the TCP connection
	StepBanner   Step = "banner"   // the first reply, sent without a command
	StepHello    Step = "hello"    // EHLO and HELO
	StepStartTLS Step = "starttls" // the command STARTTLS
	StepTLS      Step = "tls"      // the TLS handshake
	StepCommand  Step = "command"  // any other command
)

// A Kind is a reason why a step failed.
type Kind string

// The kinds.
const (
	Blocked        Kind = "blocked"      // the guard does not allow the address or the port; nothing was sent
	Refused        Kind = "refused"      // the connection was refused: nothing listens there
	Unreachable    Kind = "unreachable"  // no connection was established, which may be the fault of the network in between
	TimedOut       Kind = "timed_out"    // no answer came in time
	Closed         Kind = "closed"       // the server closed the connection instead of answering
	NotSMTP        Kind = "not_smtp"     // the answer is not an SMTP reply
	Desynchronized Kind = "out_of_step"  // a reply came without a command, so replies no longer match commands
	TooLong        Kind = "too_long"     // the answer exceeds a limit of this package
	Deferred       Kind = "deferred"     // the reply has a code of 4xx: try again later
	Rejected       Kind = "rejected"     // the reply has a code of 5xx, or another code that is not success
	NotOffered     Kind = "not_offered"  // the server does not list STARTTLS
	NoHandshake    Kind = "no_handshake" // the TLS handshake failed
	Overrun        Kind = "overrun"      // the time for the whole session ended; the server or the caller is the cause
)

func handshakeText(err error) string {
	if _, plain := errors.AsType[tls.RecordHeaderError](err); plain {
		return "the server does not speak TLS"
	}
	if err == nil {
		return "no reason is known"
	}
	text := strings.ReplaceAll(err.Error(), "tls: ", "")
	if alert, ok := strings.CutPrefix(text, "remote error: "); ok {
		return "the server sent the alert \"" + phrase.Quote(alert) + "\""
	}
	return phrase.Quote(text)
}

var errTooLong = errors.New("too much data")

func connectError(err error) *Error {
	e := &Error{Step: StepConnect, Kind: Unreachable, Err: err}
	if _, blocked := errors.AsType[*diag.BlockedError](err); blocked {
		e.Kind = Blocked
		return e
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET):
		e.Kind = Refused
	case timeout(err):
		e.Kind = TimedOut
	}
	return e
}

func readError(step Step, err error) *Error {
	e := &Error{Step: step, Kind: Closed, Err: err}
	switch {
	case errors.Is(err, errTooLong):
		e.Kind = TooLong
	case errors.Is(err, errNotReply):
		e.Kind = NotSMTP
	case errors.Is(err, net.ErrClosed): // closed by us, at the end of the context
		e.Kind = Overrun
	case timeout(err):
		e.Kind = TimedOut
	}
	return e
}

func handshakeError(err error) *Error {
	e := &Error{Step: StepTLS, Kind: NoHandshake, Err: err}
	switch {
	case errors.Is(err, net.ErrClosed):
		e.Kind = Overrun
	case timeout(err):
		e.Kind = TimedOut
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, syscall.EPIPE):
		e.Kind = Closed
	}
	return e
}

func timeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, context.Canceled) || errors.As(err, &t) && t.Timeout()
}
