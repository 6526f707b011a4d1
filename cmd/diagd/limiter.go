package main

import (
	"context"
	"fmt"
	"io"

	"github.com/diagkit/diagkit/httpapi/metrics"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/redis"
)

// shareLimiter has the gate limit by the Redis of --redis, if set. Health reports its state to the operator: a server
// without its Redis is ready all the same.
func (a *app) shareLimiter(
	ctx context.Context, gate *metering.GateConfig, counters *metrics.Metrics,
) (health func(io.Writer), stop func(), err error) {
	if a.serving.redis == "" {
		return func(io.Writer) {}, func() {}, nil
	}
	redis.Silence()
	l, err := redis.Open(ctx, a.serving.redis, redis.Config{Log: gate.Log})
	if err != nil {
		return nil, nil, usagef("--redis: %w", err)
	}
	gate.Limiter = l
	counters.FlagFunc(metrics.LimiterAway, func() bool { return l.Health() != nil })
	health = func(w io.Writer) {
		if err := l.Health(); err != nil {
			fmt.Fprintf(w, "redis: unreachable, this server limits by itself: %v\n", err)
			return
		}
		fmt.Fprintln(w, "redis: rate limits are shared")
	}
	return health, func() { _ = l.Close() }, nil // nothing is lost by it
}
