package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/diagkit/diagkit/httpapi/metrics"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/redis"
)

// sharedLimiter is what --redis names; its field is nil without it.
type sharedLimiter struct{ redis *redis.Limiter }

func (a *app) openLimiter(ctx context.Context, log *slog.Logger) (s sharedLimiter, err error) {
	if a.serving.redis == "" {
		return s, nil
	}
	redis.Silence()
	if s.redis, err = redis.Open(ctx, a.serving.redis, redis.Config{Log: log}); err != nil {
		err = usagef("--redis: %w", err)
	}
	return s, err
}

// limiter is what the gate is to use; nil means its own.
func (s sharedLimiter) limiter() metering.Limiter {
	if s.redis == nil {
		return nil
	}
	return s.redis
}

// count exposes whether Redis is away.
func (s sharedLimiter) count(counters *metrics.Metrics) {
	if s.redis != nil {
		counters.AskFlag(metrics.LimiterAway, func() bool { return s.redis.Health() != nil })
	}
}

// health tells the operator. A server without its Redis is ready all the same.
func (s sharedLimiter) health(w io.Writer) {
	if s.redis == nil {
		return
	}
	if err := s.redis.Health(); err != nil {
		fmt.Fprintf(w, "redis: away, this server limits by itself: %v\n", err)
		return
	}
	fmt.Fprintln(w, "redis: rate limits are shared")
}

func (s sharedLimiter) close() {
	if s.redis != nil {
		_ = s.redis.Close() // nothing is lost by it
	}
}
