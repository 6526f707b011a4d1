package notify

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/emersion/go-smtp"
)

// A ReasonError is returned by the dialer of a [Worker] or a [MailServer] to give the reason why a connection failed.
type ReasonError = metering.ReasonError

// reasonOf returns the cause of a failed attempt, in words for members.
func reasonOf(ctx context.Context, err error) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "no answer within " + strconv.Itoa(int(attemptTime/time.Second)) + " s"
	}
	_, known := errors.AsType[*ReasonError](err)
	if answer, ok := errors.AsType[*smtp.SMTPError](err); ok && !known {
		return "the mail server answered " + strconv.Itoa(answer.Code)
	}
	return metering.Reason(err, "receiver")
}

// messageFault ends a delivery whose message could not be built. The reason is logged.
func messageFault(err error) result {
	text := "the message of the event could not be written"
	if reason, ok := errors.AsType[*ReasonError](err); ok {
		text = reason.Reason
	}
	return result{verdict: refused, err: text, cause: err}
}
