package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
)

// background is the work that runs concurrently with serving, from begin until end.
type background struct {
	cancel  context.CancelFunc // nil before it has begun
	running sync.WaitGroup
}

// panicPause is how long work pauses after a panic, before it begins again.
const panicPause = 10 * time.Second

// start starts work that ends with the context, or with shutdown. A panic is logged, and the work begins again.
func (b *background) start(ctx context.Context, log *slog.Logger, work ...func(context.Context)) {
	ctx, b.cancel = context.WithCancel(ctx)
	for _, f := range work {
		b.running.Go(func() {
			for p := diag.Catch(func() { f(ctx) }); p != nil; p = diag.Catch(func() { f(ctx) }) {
				log.Error("panic", "panic", p.Value, "stack", string(p.Stack))
				if !sleep(ctx, panicPause) {
					return
				}
			}
		})
	}
}

// shutdown ends all work, and waits for it until the context ends. It reports whether all has ended.
func (b *background) shutdown(ctx context.Context) bool {
	if b.cancel == nil {
		return true
	}
	b.cancel()
	ended := make(chan struct{})
	go func() { b.running.Wait(); close(ended) }()
	select {
	case <-ended:
		return true
	case <-ctx.Done():
		return false
	}
}

// close has all work end, and waits for it.
func (b *background) close() { b.shutdown(context.Background()) }

// repeat calls a function immediately, and again after each pause, until the context ends.
func repeat(ctx context.Context, pause time.Duration, do func()) {
	for ok := ctx.Err() == nil; ok; ok = sleep(ctx, pause) {
		do()
	}
}

// sleep waits, and reports whether to continue.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return ctx.Err() == nil
}

// closeTime is how long the background work of a server that was never able to drain may take to end.
const closeTime = time.Second

// runWithin gives work that must end a moment to do so.
func runWithin(d time.Duration, end func(context.Context)) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	end(ctx)
}

// listen takes connections at the address that a flag names.
func listen(ctx context.Context, flag, address string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return l, nil
}
