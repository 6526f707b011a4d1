package notify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// The faults of a delivery that are not in a receiver's response.
const (
	nodeDied        = "the node that made this attempt stopped before it ended"
	channelRemoved  = "the channel was removed"
	channelDisabled = "the channel is disabled"
	eventPruned     = "the event is no longer kept"
	notConfirmed    = "the address has not confirmed that it wants notifications"

	alreadyConfirmed = "the address has confirmed already"
)

// A result is the outcome of an attempt.
type result struct {
	verdict  verdict
	status   int
	after    time.Duration // the delay requested by the receiver
	err      string
	response string
	cause    error // for the log: why no message could be made
}

// deliver makes one attempt, or brings a delivery to its end. The error is the store's.
func (w *Worker) deliver(ctx context.Context, d dueDelivery) error {
	err := metering.Contain(func() error { return w.attempt(ctx, d) })
	if err == nil || errors.Is(err, metering.ErrVersion) { // another worker has it
		return nil
	}
	w.log.Error("delivering a notification", "delivery", d.ID, "error", err)
	return fmt.Errorf("delivering %s: %w", d.ID, err)
}

func (w *Worker) attempt(ctx context.Context, d dueDelivery) error {
	if ended := w.finishPreviousAttempt(d.Delivery); ended {
		return w.put(ctx, d)
	}
	channel, event, err := w.channelAndEvent(ctx, d)
	if err != nil {
		return err
	}
	if channel == nil || event == nil { // the reason is set
		w.setWorking(d.Channel, true)
		d.State, d.Next = FailedPermanent, time.Time{}
		return w.put(ctx, d)
	}
	at := metering.Now(w.Clock)
	d.Attempts = append(d.Attempts, Attempt{At: at})
	d.Next = at.Add(lease)
	if err := w.put(ctx, d); err != nil {
		return err
	}
	d.version++
	sending, cancel := context.WithTimeout(ctx, attemptTime)
	began := time.Now()
	r := w.send(sending, &message{channel: channel, event: *event, delivery: d.Delivery, at: at})
	cancel()
	if r.cause != nil {
		w.log.Error("making the message of a notification", "delivery", d.ID, "error", r.cause)
	}
	last := &d.Attempts[len(d.Attempts)-1]
	last.Ended, last.Status, last.Millis = true, r.status, time.Since(began).Milliseconds()
	last.Error, last.Response = channel.redact(r.err), channel.redact(r.response)
	return w.applyResult(ctx, d, channel, r)
}

// finishPreviousAttempt evaluates the previous attempt. It reports whether no further attempt follows; the state of the
// delivery is then set.
func (w *Worker) finishPreviousAttempt(d *Delivery) bool {
	n := len(d.Attempts)
	if n == 0 {
		return false
	}
	last := &d.Attempts[n-1]
	if last.Ended && n == MaxAttempts {
		d.State, d.Next = FailedExhausted, time.Time{} // a day after the last attempt
		return true
	}
	if !last.Ended {
		last.Ended, last.Error = true, nodeDied
		d.State = RetryScheduled
		if n == MaxAttempts {
			d.Next = metering.Now(w.Clock).Add(wait(n, 0))
			return true
		}
	}
	return false
}

// channelAndEvent reads channel and event of a delivery. Where one is missing, it notes why.
func (w *Worker) channelAndEvent(ctx context.Context, d dueDelivery) (*channelDoc, *metering.Event, error) {
	fail := func(reason string) { // recorded as an attempt, where an operator looks for it
		d.Attempts = append(d.Attempts, Attempt{At: metering.Now(w.Clock), Ended: true, Error: reason})
	}
	r, err := w.Store.Record(ctx, d.Account, channelKind, d.Channel)
	if errors.Is(err, metering.ErrNotFound) {
		fail(channelRemoved)
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading channel %s: %w", d.Channel, err)
	}
	channel, err := readChannel(r)
	if err != nil {
		return nil, nil, err
	}
	if channel.State == ChannelDisabled {
		fail(channelDisabled)
		return nil, nil, nil
	}
	r, err = w.Store.Record(ctx, d.Account, metering.EventKind, d.Event)
	if errors.Is(err, metering.ErrNotFound) {
		fail(eventPruned)
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading event %s: %w", d.Event, err)
	}
	event, err := metering.ParseEvent(r)
	switch asksConfirmation := event.Type == metering.EventChannelConfirm; {
	case err != nil:
		return nil, nil, err
	case asksConfirmation && channel.State == ChannelActive:
		fail(alreadyConfirmed)
		return nil, nil, nil
	case !asksConfirmation && channel.State == ChannelUnconfirmed:
		fail(notConfirmed)
		return nil, nil, nil
	}
	return channel, &event, nil
}

// applyResult stores the outcome of an attempt.
func (w *Worker) applyResult(ctx context.Context, d dueDelivery, c *channelDoc, r result) error {
	switch r.verdict {
	case accepted:
		d.State, d.Next = Delivered, time.Time{}
	case refused, gone:
		d.State, d.Next = FailedPermanent, time.Time{}
	default:
		d.State, d.Next = RetryScheduled, metering.Now(w.Clock).Add(wait(len(d.Attempts), r.after))
	}
	w.setWorking(d.Channel, r.verdict != retry)
	if w.Observe != nil {
		w.Observe(c.Kind, d.State)
	}
	if r.verdict != gone {
		return w.put(ctx, d)
	}
	return w.disable(ctx, d, c)
}

// put stores the delivery, with further records if given.
func (w *Worker) put(ctx context.Context, d dueDelivery, others ...metering.Record) error {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	return w.Store.PutRecords(ctx, append([]metering.Record{d.record(d.version)}, others...)...)
}

// disable disables a channel whose receiver is gone (410) and notifies the other channels of the account, in one
// transaction with the end of the delivery.
func (w *Worker) disable(ctx context.Context, d dueDelivery, c *channelDoc) error {
	var err error
	for range versionTries {
		c.State, c.Reason = ChannelDisabled, "the receiver answered 410 Gone"
		var event metering.Record
		if event, err = c.disabledEvent(metering.Now(w.Clock)); err != nil {
			return err
		}
		if err = w.put(ctx, d, c.put(), event); !errors.Is(err, metering.ErrVersion) {
			break
		}
		// The channel was changed, or another worker has the delivery.
		r, readErr := w.Store.Record(ctx, d.Account, channelKind, d.Channel)
		if errors.Is(readErr, metering.ErrNotFound) {
			return w.put(ctx, d)
		}
		if readErr != nil {
			return readErr
		}
		if c, readErr = readChannel(r); readErr != nil {
			return readErr
		}
		if c.State == ChannelDisabled { // by another delivery
			return w.put(ctx, d)
		}
	}
	return err
}

// MaxAttempts is the maximum number of attempts per delivery.
const MaxAttempts = 6

// waits follow failed attempts (CONTRACT 7). After the last attempt a delivery stays open to a manual replay for
// the last of them.
var waits = [MaxAttempts]time.Duration{10 * time.Second, time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour,
	24 * time.Hour}

// maxRetryAfter bounds the delay that a receiver may request, so that none parks deliveries beyond their retention.
const maxRetryAfter = 24 * time.Hour

// wait returns the delay after failed attempt n, counted from 1. A receiver may ask for more (Retry-After), not for
// less: it can rely on the schedule.
func wait(n int, asked time.Duration) time.Duration {
	if n >= MaxAttempts {
		return waits[MaxAttempts-1]
	}
	return max(waits[n-1], min(asked, maxRetryAfter))
}

// retryAfter reads the header of that name (RFC 9110 section 10.2.3): seconds or a date. What is neither is 0.
func retryAfter(text string, now time.Time) time.Duration {
	text = strings.TrimSpace(text)
	if seconds, err := strconv.ParseUint(text, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return min(max(0, at.Sub(now)), maxRetryAfter)
}

// A verdict classifies a response.
type verdict int

// The verdicts.
const (
	accepted verdict = iota
	retry            // later it may be accepted
	refused          // it will never be accepted
	gone             // permanent, for every later delivery as well: disable the channel
)

// verdictOf interprets an HTTP status (CONTRACT 7). Redirects are not followed and count as failures: an account
// updates the URL of a receiver that moved, rather than its old host redirecting deliveries.
func verdictOf(status int) verdict {
	switch {
	case status >= 200 && status < 300:
		return accepted
	case status == http.StatusGone:
		return gone
	case status == http.StatusRequestTimeout || status == http.StatusTooManyRequests:
		return retry
	case status >= 400 && status < 500:
		return refused
	default:
		return retry
	}
}
