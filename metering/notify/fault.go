package notify

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/emersion/go-smtp"
)

// A ReasonError is what dials for a [Worker] or a [MailServer] returns to say why there is no connection.
type ReasonError = metering.ReasonError

// plain says what went wrong on the way, in words for members.
func plain(ctx context.Context, err error) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "no answer within " + strconv.Itoa(int(attemptTime/time.Second)) + " s"
	}
	_, known := errors.AsType[*ReasonError](err)
	if answer, ok := errors.AsType[*smtp.SMTPError](err); ok && !known {
		return "the mail server answered " + strconv.Itoa(answer.Code)
	}
	return metering.Reason(err, "receiver")
}

// unsendable is the end of a delivery of which no message could be made. The log hears why.
func unsendable(err error) result {
	text := "the message of the event could not be written"
	if reason, ok := errors.AsType[*ReasonError](err); ok {
		text = reason.Reason
	}
	return result{verdict: refused, err: text, cause: err}
}
