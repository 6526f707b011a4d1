package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/metering"
)

// maxLoggedID bounds how much of a client's own request ID is logged.
const maxLoggedID = 100

// logLevel returns the log level of the outcome. Neither a client that left nor remote servers that do not answer are a
// fault of ours. The unavailability of the store is logged once, by its outage.
func (x *exchange) logLevel() slog.Level {
	switch {
	case x.observed.Status < 500,
		x.observed.Status == http.StatusBadGateway, x.observed.Status == http.StatusGatewayTimeout,
		errors.Is(x.fault, context.Canceled), errors.Is(x.fault, metering.ErrUnavailable):
		return slog.LevelDebug
	}
	return slog.LevelError
}

// logRequest logs the outcome: never a body, a query, a key's secret or any header but the client's own request ID.
// The error of a diagnostic names a customer's subject, so that only the level debug has its text.
func (x *exchange) logRequest(level slog.Level) {
	attrs := []slog.Attr{slog.String("request_id", x.id), slog.String("endpoint", x.observed.Endpoint),
		slog.Int("status", x.observed.Status), slog.String("code", x.observed.Code),
		slog.Duration("duration", x.observed.Duration),
		slog.Int64("credits", x.observed.Credits), slog.Bool("replay", x.observed.Replay)}
	if x.ip.IsValid() { // otherwise the request came from this process
		attrs = append(attrs, slog.String("ip", x.ip.String()))
	}
	if x.caller != nil {
		attrs = append(attrs, slog.String("key", string(x.caller.Key.ID)),
			slog.String("account", string(x.caller.Account.ID)), slog.String("plan", x.observed.Plan))
	}
	if clientID := x.r.Header.Get("X-Request-Id"); clientID != "" {
		attrs = append(attrs, slog.String("client_request_id", clientID[:min(len(clientID), maxLoggedID)]))
	}
	switch {
	case x.fault == nil:
	case x.causeIsPrivate && !x.log.Enabled(x.r.Context(), slog.LevelDebug):
		attrs = append(attrs, slog.String("error", fmt.Sprintf("%T; its text is logged at level debug", x.fault)))
	default:
		attrs = append(attrs, slog.String("error", x.fault.Error()))
	}
	x.log.LogAttrs(x.r.Context(), level, "request", attrs...)
}

// logPanics logs the panics that ended parts of a report, which its reader sees as parts that are not known.
func (x *exchange) logPanics(report any) {
	if r, ok := report.(interface{ Panicked() []*diag.GoPanic }); ok {
		for _, p := range r.Panicked() {
			x.logPanic(p.Value, p.Stack)
		}
	}
}

func (x *exchange) logPanic(value any, stack []byte) {
	x.log.Error("panic", "request_id", x.id, "endpoint", x.observed.Endpoint,
		"panic", fmt.Sprint(value), "stack", string(stack))
}

// outageQuiet is how long no operation of the store must have failed before an outage is over, so that an
// intermittent store is not logged each time.
const outageQuiet = 5 * time.Second

// An outage is the time in which the store cannot do its work. Its beginning and its end are logged, and at level
// debug each request.
type outage struct {
	active atomic.Bool // while there is one

	mu          sync.Mutex
	began, last time.Time
	refused     int
}

func (o *outage) recordFailure(log *slog.Logger, now time.Time, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refused++
	o.last = now
	if !o.active.Swap(true) {
		o.began = now
		log.Error("the store is unavailable; requests that need it are refused, each logged at level debug", "error", err)
	}
}

// recordSuccess records a successful charge.
func (o *outage) recordSuccess(log *slog.Logger, now time.Time) {
	if !o.active.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if now.Sub(o.last) < outageQuiet || !o.active.Swap(false) {
		return
	}
	log.Warn("the store is available again", "refused", o.refused, "duration", o.last.Sub(o.began))
	o.refused = 0
}
