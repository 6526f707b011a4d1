package notify

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// MaxAttempts is how often a delivery is tried.
const MaxAttempts = 6

// waits follow failed attempts (CONTRACT 7). After the last attempt a delivery stays open to a manual replay for
// the last of them.
var waits = [MaxAttempts]time.Duration{10 * time.Second, time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour,
	24 * time.Hour}

// maxRetryAfter bounds what a receiver may ask for, so that none parks deliveries beyond their retention.
const maxRetryAfter = 24 * time.Hour

// wait returns how long a delivery rests after failed attempt n, counted from 1. A receiver may ask for more
// (Retry-After), not for less: the schedule is what it can rely on.
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

// A verdict is what an answer means for a delivery.
type verdict int

// The verdicts.
const (
	accepted verdict = iota
	retry            // later it may be accepted
	refused          // it will never be accepted
	gone             // nor will any other: the channel is to be disabled
)

// verdictOf says what a status of HTTP means (CONTRACT 7). Redirects are not followed, and fail: a receiver that
// moved is to be told to us, not to whoever controls its old place.
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
