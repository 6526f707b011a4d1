package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// rateHeaders sets the state of a token bucket (CONTRACT 1.2). Over HTTP/1.1 the names go out as they are spelled
// here.
func (x *exchange) rateHeaders(d metering.Decision, p metering.Policy) {
	texts := x.policyTexts(p)
	x.header("RateLimit-Policy", texts.field)
	x.header("RateLimit", metering.LimitField(d, policyName))
	x.header("X-RateLimit-Limit", texts.limit)
	full := x.began.Add(d.Reset).UnixNano()
	remaining, reset := decimals(int64(d.Remaining), (full+int64(time.Second)-1)/int64(time.Second))
	x.header("X-RateLimit-Remaining", remaining)
	x.header("X-RateLimit-Reset", reset)
}

// policyTexts are the headers that depend on a policy alone.
type policyTexts struct {
	policy       metering.Policy
	field, limit string
}

// policyTexts formats the texts again only if the policy differs from the last one.
func (s *server) policyTexts(p metering.Policy) *policyTexts {
	t := s.lastPolicy.Load()
	if t == nil || t.policy != p {
		t = &policyTexts{p, metering.PolicyField(p, policyName), decimal(int64(p.Limit))}
		s.lastPolicy.Store(t)
	}
	return t
}

// addressHeaders sets the state of the address's bucket if no key is known, or none that counts.
func (x *exchange) addressHeaders() {
	if x.caller == nil && x.limiter != nil {
		x.rateHeaders(x.address, metering.Policy{Limit: x.address.Limit})
	}
}

const policyName = "default"

// creditHeaders sets what a success cost and what is left.
func (x *exchange) creditHeaders(b metering.Balance, consumed int64) {
	limit, remaining := decimals(b.Limit, b.Remaining())
	x.header("X-Credits-Limit", limit)
	x.header("X-Credits-Remaining", remaining)
	x.header("X-Credits-Consumed", decimal(consumed))
	if over := b.Overage; over > 0 {
		x.header("X-Credits-Overage", decimal(over))
	}
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// decimals writes two numbers into one text, of which each is a part.
func decimals(a, b int64) (string, string) {
	var buf [40]byte // two numbers of 19 digits and a sign
	first := strconv.AppendInt(buf[:0], a, 10)
	both := string(strconv.AppendInt(first, b, 10))
	return both[:len(first)], both[len(first):]
}

// maxLoggedID bounds how much of a client's own request ID is logged.
const maxLoggedID = 100

// level returns the log level of the outcome. Neither a client that left nor remote servers that do not answer are a
// fault of ours. The unavailability of the store is logged once, by its outage.
func (x *exchange) level() slog.Level {
	switch {
	case x.seen.Status < 500, x.seen.Status == http.StatusBadGateway, x.seen.Status == http.StatusGatewayTimeout,
		errors.Is(x.fault, context.Canceled), errors.Is(x.fault, metering.ErrUnavailable):
		return slog.LevelDebug
	}
	return slog.LevelError
}

// logRequest logs the outcome: never a body, a query, a key's secret or any header but the client's own request ID.
// The error of a diagnostic names a customer's subject, so that only the level debug has its text.
func (x *exchange) logRequest(level slog.Level) {
	attrs := []slog.Attr{slog.String("request_id", x.id), slog.String("endpoint", x.seen.Endpoint),
		slog.Int("status", x.seen.Status), slog.String("code", x.seen.Code), slog.Duration("duration", x.seen.Duration),
		slog.Int64("credits", x.seen.Credits), slog.Bool("replay", x.seen.Replay)}
	if x.ip.IsValid() { // otherwise the request came from this process
		attrs = append(attrs, slog.String("ip", x.ip.String()))
	}
	if x.caller != nil {
		attrs = append(attrs, slog.String("key", string(x.caller.Key.ID)),
			slog.String("account", string(x.caller.Account.ID)), slog.String("plan", x.seen.Plan))
	}
	if theirs := x.r.Header.Get("X-Request-Id"); theirs != "" {
		attrs = append(attrs, slog.String("client_request_id", theirs[:min(len(theirs), maxLoggedID)]))
	}
	switch {
	case x.fault == nil:
	case x.private && !x.log.Enabled(x.r.Context(), slog.LevelDebug):
		attrs = append(attrs, slog.String("error", fmt.Sprintf("%T; its text is logged at level debug", x.fault)))
	default:
		attrs = append(attrs, slog.String("error", x.fault.Error()))
	}
	x.log.LogAttrs(x.r.Context(), level, "request", attrs...)
}

// bearer returns the credentials after the scheme (RFC 6750 section 2.1), or nothing.
func bearer(header []string) string {
	const scheme = "bearer "
	if len(header) != 1 || len(header[0]) < len(scheme) || !strings.EqualFold(header[0][:len(scheme)], scheme) {
		return ""
	}
	return strings.TrimLeft(header[0][len(scheme):], " ")
}

func (x *exchange) reply(result *Result) {
	if result.MediaType != jsonMedia {
		x.header("Content-Disposition", "inline")
	}
	x.write(http.StatusOK, result.MediaType, result.Body)
}

// countedBody is the size of a body up to which net/http counts it by itself, at less cost.
const countedBody = 2000

func (x *exchange) write(status int, media string, body []byte) {
	x.header("Content-Type", media)
	if len(body) > countedBody || x.r.Method == http.MethodHead {
		x.header("Content-Length", decimal(int64(len(body))))
	}
	if media != jsonMedia {
		x.header("X-Content-Type-Options", "nosniff")
	}
	x.seen.Status = status
	if status < 400 {
		x.seen.Code = "OK"
	}
	x.w.WriteHeader(status)
	if x.r.Method != http.MethodHead {
		x.w.Write(body) // an error means that the client has disconnected; the charge remains
	}
}
