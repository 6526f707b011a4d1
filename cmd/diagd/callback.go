package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/diagkit/diagkit/metering/budget"
	"github.com/diagkit/diagkit/metering/notify"
)

const (
	callbackPath = "/billing/callback"
	// maxCallbackBytes is well above the size of a callback about a payment.
	maxCallbackBytes = 16 << 10
)

// callbacks receives what a payment service reports of payments after their attempt.
type callbacks struct {
	secret  notify.Secret
	settle  func(context.Context, billing.PaymentReport) (billing.Invoice, error)
	clock   func() time.Time
	proxies []netip.Prefix      // whose callers cannot be distinguished, and are not counted
	limiter *metering.IPLimiter // of callers without a good signature
	log     *slog.Logger
}

// serveCallbacks starts the listener for them, if --callback-listen is set. Stop waits a moment for requests under
// way.
func (a *app) serveCallbacks(
	ctx context.Context, s checkedFlags, b billing.Billing, bounds *budget.Budget, log *slog.Logger,
) (stop func(), err error) {
	address := a.serving.maintenance.callbackListen
	if address == "" {
		return func() {}, nil
	}
	l, err := listen(ctx, "--callback-listen", address)
	if err != nil {
		return nil, err
	}
	c := &callbacks{secret: s.maintenance.callbackSecret, settle: b.Settle, clock: b.Clock, proxies: s.proxies,
		limiter: bounds.Callbacks, log: log}
	server := c.server(s, bounds)
	log.Info("listening for payment callbacks", "url", a.url(l, s.security != nil)+callbackPath)
	go server.Serve(s.boundListener(l, bounds.CallbackConnections)) // which returns that the server was closed
	return func() {
		runWithin(closeTime, func(ctx context.Context) { _ = server.Shutdown(ctx) })
		server.Close()
	}, nil
}

func (c *callbacks) server(s checkedFlags, bounds *budget.Budget) *http.Server {
	return newServer(s, httpapi.Front{
		API: c.handler(), Log: c.log, Requests: bounds.Requests, Exempt: s.sharedPeers(),
	})
}

func (c *callbacks) handler() *httpapi.Mux {
	mux := &httpapi.Mux{}
	mux.HandleFunc("POST "+callbackPath, func(w http.ResponseWriter, r *http.Request) {
		status, text := c.receive(w, r)
		if status == http.StatusNoContent {
			w.WriteHeader(status)
			return
		}
		c.log.Debug("refused a payment callback", "status", status, "reason", text)
		http.Error(w, text, status)
	})
	return mux
}

// receive verifies a callback and passes it on. A caller without a good signature learns no more than that.
func (c *callbacks) receive(w http.ResponseWriter, r *http.Request) (status int, text string) {
	now := c.clock()
	peer, _ := netip.ParseAddrPort(r.RemoteAddr)
	ip := peer.Addr().Unmap()
	proxied := slices.ContainsFunc(c.proxies, func(p netip.Prefix) bool { return p.Contains(ip) })
	if !proxied {
		if d := c.limiter.Take(ip, now); !d.Allowed {
			w.Header().Set("Retry-After", strconv.FormatInt(int64(math.Ceil(d.RetryAfter.Seconds())), 10))
			return http.StatusTooManyRequests, "too many requests without a good signature"
		}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxCallbackBytes))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is longer than %d bytes", maxCallbackBytes)
	} else if errors.Is(err, os.ErrDeadlineExceeded) {
		return http.StatusRequestTimeout, "the body did not arrive in time"
	} else if err != nil {
		return http.StatusBadRequest, "the body could not be read"
	}
	if err := notify.Verify(r.Header, body, now, c.secret); err != nil {
		return http.StatusUnauthorized, err.Error()
	}
	c.limiter.Refund(ip, now)
	word, err := billing.ParsePaymentReport(body)
	if err != nil {
		return http.StatusBadRequest, err.Error()
	}
	return c.settleOutcome(w, r, word)
}

func (c *callbacks) settleOutcome(
	w http.ResponseWriter, r *http.Request, word billing.PaymentReport,
) (status int, text string) {
	_, err := c.settle(r.Context(), word)
	refused, isRefused := errors.AsType[*billing.RefusedError](err)
	switch {
	case err == nil:
		return http.StatusNoContent, ""
	case errors.Is(err, metering.ErrNotFound):
		return http.StatusNotFound, "the account has no such invoice"
	case isRefused:
		c.log.Error("a payment callback contradicts the invoice and must be reviewed", "reason", refused)
		return http.StatusConflict, refused.Error()
	case errors.Is(err, billing.ErrBusy):
		w.Header().Set("Retry-After", "300")
		return http.StatusServiceUnavailable, err.Error()
	}
	c.log.Error("recording a payment callback", "account", word.Account, "invoice", word.Invoice, "error", err)
	w.Header().Set("Retry-After", "60")
	return http.StatusServiceUnavailable, "the callback could not be recorded; retry later"
}
