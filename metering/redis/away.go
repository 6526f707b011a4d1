package redis

import (
	"context"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// lose notes that Redis does not answer. Of many requests that notice at once, one logs it.
func (l *Limiter) lose(err error) {
	if !l.trouble.CompareAndSwap(nil, &err) {
		return
	}
	l.log.Warn("Redis is away; each server now limits the rate of a key by itself", "error", err)
	select {
	case l.lost <- struct{}{}:
	default: // it is known already
	}
}

// watch tries to reach Redis again whenever it is away, until the context ends.
func (l *Limiter) watch(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.lost:
		}
		for l.trouble.Load() != nil {
			select {
			case <-ctx.Done():
				return
			case <-time.After(l.pause):
			}
			if err := l.probe(ctx); err == nil {
				l.trouble.Store(nil)
				l.log.Info("Redis is back; servers share the rate of a key again", "decided_alone", l.Away())
			} else if ctx.Err() == nil {
				l.trouble.Store(&err)
			}
		}
	}
}

// probe asks Redis for what a request would: a Redis that answers but cannot write is away too.
func (l *Limiter) probe(ctx context.Context) error {
	_, err := l.take(ctx, "probe", metering.Policy{Limit: 1, Window: time.Second, Burst: 1 << 30}, 1, time.Now())
	return err
}
