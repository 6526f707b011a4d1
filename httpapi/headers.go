package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"strconv"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// rateHeaders tells the state of the key's token bucket, on refusals too (CONTRACT 1.2). The names
// stand in the canonical form of net/http, which is how its clients look them up.
func (x *exchange) rateHeaders(c *metering.Caller) {
	h, d := x.w.Header(), c.Rate
	policy := metering.Policy{Limit: c.Plan.PerMinute, Window: time.Minute}
	reset := x.began.Add(d.Reset)
	h["Ratelimit-Policy"] = []string{metering.PolicyField(policy, "default")}
	h["Ratelimit"] = []string{metering.LimitField(d, "default")}
	h["X-Ratelimit-Limit"] = decimal(int64(c.Plan.PerMinute))
	h["X-Ratelimit-Remaining"] = decimal(int64(d.Remaining))
	h["X-Ratelimit-Reset"] = decimal(int64(math.Ceil(float64(reset.UnixMilli()) / 1000)))
}

// creditHeaders tells what a success cost and what is left.
func (x *exchange) creditHeaders(b metering.Balance, consumed int64) {
	h := x.w.Header()
	h["X-Credits-Limit"] = decimal(b.Limit)
	h["X-Credits-Remaining"] = decimal(b.Remaining())
	h["X-Credits-Consumed"] = decimal(consumed)
	if over := b.Overage(); over > 0 {
		h["X-Credits-Overage"] = decimal(over)
	}
}

func decimal(n int64) []string { return []string{strconv.FormatInt(n, 10)} }

// maxLoggedID bounds what a client's own request id may add to the log.
const maxLoggedID = 100

// logRequest writes what happened to the log: never a body, a query, a key's secret or any header
// but the client's own request id.
func (x *exchange) logRequest() {
	level := slog.LevelDebug
	if x.seen.Status >= 500 && !errors.Is(x.fault, context.Canceled) { // a client that left is no fault of ours
		level = slog.LevelError
	}
	ctx := x.r.Context()
	if !x.log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("request_id", x.id), slog.String("endpoint", x.seen.Endpoint),
		slog.Int("status", x.seen.Status), slog.String("code", x.seen.Code),
		slog.Duration("duration", x.seen.Duration), slog.String("ip", x.ip.String()),
		slog.Int64("credits", x.seen.Credits), slog.Bool("replay", x.seen.Replay),
	}
	if x.caller != nil {
		attrs = append(attrs, slog.String("key", string(x.caller.Key.ID)),
			slog.String("account", string(x.caller.Account.ID)), slog.String("plan", x.seen.Plan))
	}
	if theirs := x.r.Header.Get("X-Request-Id"); theirs != "" {
		attrs = append(attrs, slog.String("client_request_id", theirs[:min(len(theirs), maxLoggedID)]))
	}
	if x.fault != nil {
		attrs = append(attrs, slog.String("error", x.fault.Error()))
	}
	x.log.LogAttrs(ctx, level, "request", attrs...)
}
