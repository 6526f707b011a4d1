package redis

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/diagkit/diagkit/metering"
)

const (
	// patience is how long a request waits for Redis, which normally answers within a millisecond.
	patience = 100 * time.Millisecond
	// retryPause is the time between two attempts to reach Redis again.
	retryPause = time.Second
	prefix     = "diag:rate:"
)

// Config is the configuration of a limiter. The zero value is that of a server.
type Config struct {
	Log     *slog.Logger  // logs when Redis goes away and when it is back; nil disables logging
	Prefix  string        // of the names of buckets; empty means "diag:rate:"
	Timeout time.Duration // after which Redis counts as away; 0 means 100 ms
}

// A Limiter is a [metering.Limiter] whose buckets are in Redis. It is safe for concurrent use. Make one with [Open].
type Limiter struct {
	client  goredis.UniversalClient
	log     *slog.Logger
	prefix  string
	timeout time.Duration
	pause   time.Duration // retryPause, or less in tests

	trouble atomic.Pointer[error] // why Redis is away; nil while it answers
	alone   atomic.Uint64
	lost    chan struct{} // signals the goroutine that Redis is away
	stop    context.CancelFunc
	done    sync.WaitGroup
}

var _ metering.Limiter = (*Limiter)(nil)

// Open prepares a limiter on the Redis that a URL names: redis://user:password@host:6379/0, rediss:// with TLS,
// or, for a cluster, redis://host:6379?addr=host2:6379. Errors do not contain the URL, which may hold a password.
// Redis need not answer yet: if it does not, it counts as away.
func Open(ctx context.Context, url string, c Config) (*Limiter, error) {
	l, err := newLimiter(url, c)
	if err != nil {
		return nil, err
	}
	l.start(ctx)
	return l, nil
}

func newLimiter(url string, c Config) (l *Limiter, err error) {
	l = &Limiter{
		log: cmp.Or(c.Log, slog.New(slog.DiscardHandler)), prefix: cmp.Or(c.Prefix, prefix),
		timeout: cmp.Or(c.Timeout, patience), pause: retryPause, lost: make(chan struct{}, 1),
	}
	l.client, err = connect(url, l.timeout)
	return l, err
}

// start checks whether Redis answers, and starts to monitor it.
func (l *Limiter) start(ctx context.Context) {
	if err := l.probe(ctx); err != nil {
		l.lose(err)
	}
	ctx, l.stop = context.WithCancel(context.WithoutCancel(ctx))
	l.done.Go(func() { l.watch(ctx) })
}

// Close closes the connections.
func (l *Limiter) Close() error {
	l.stop()
	l.done.Wait()
	return l.client.Close()
}

// Health returns why Redis is away; nil while it answers.
func (l *Limiter) Health() error {
	if err := l.trouble.Load(); err != nil {
		return *err
	}
	return nil
}

// Away returns how many decisions this server has made without Redis.
func (l *Limiter) Away() uint64 { return l.alone.Load() }

// Take implements [metering.Limiter]. It waits for Redis no longer than Config.Timeout, and not at all while that is
// away. The only error is the context's.
func (l *Limiter) Take(ctx context.Context, b *metering.Bucket, p metering.Policy, now time.Time) (
	metering.Decision, error,
) {
	if err := ctx.Err(); err != nil {
		return metering.Decision{}, err
	}
	if l.trouble.Load() == nil {
		d, err := l.take(ctx, b.ID, p, 1, now)
		switch {
		case err == nil:
			return d, nil
		case ctx.Err() != nil:
			return d, ctx.Err()
		case !errors.Is(err, errContended):
			l.lose(err)
		}
	}
	l.alone.Add(1)
	return b.Take(p, 1, now), nil
}

//go:embed take.lua
var source string

var script = goredis.NewScript(source)

// errContended means that a bucket was never the same for two round trips, though Redis answers: servers of which one
// does not know of a new plan yet take tokens in turn.
var errContended = errors.New("the bucket changes too fast to be converted to another plan")

// take takes tokens from a bucket in Redis.
func (l *Limiter) take(ctx context.Context, id string, p metering.Policy, cost int, now time.Time) (
	d metering.Decision, err error,
) {
	token, price, span := p.Cells(cost)
	if token == 0 {
		return p.Decide(0, cost), nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	keys := []string{l.prefix + "{" + id + "}"}
	args := []any{int64(token)}
	args = pair(args, time.Duration(now.UnixNano()))
	for _, t := range []time.Duration{price, span, metering.MaxSkew} {
		args = pair(args, t)
	}
	for converting := false; ; converting = true {
		r, err := answer(script.Run(ctx, l.client, keys, args...))
		if converting && ctx.Err() != nil {
			return d, errContended
		}
		if err != nil {
			return d, err
		}
		if r.taken {
			return p.Decide(r.debt, cost), nil
		}
		// The debt is of another plan's token. Its conversion needs 128-bit products, which Lua lacks.
		args = append(args[:9], r.bucket)
		args = pair(args, p.Convert(r.debt, r.token))
	}
}

// pair appends a time in the format of the script.
func pair(args []any, d time.Duration) []any {
	return append(args, int64(d/time.Second), int64(d%time.Second))
}

// reply is the result of the script.
type reply struct {
	taken  bool
	debt   time.Duration
	bucket string        // and
	token  time.Duration // that it was counted with, unless taken
}

func answer(cmd *goredis.Cmd) (r reply, err error) {
	list, err := cmd.Slice()
	if err != nil {
		return r, err
	}
	var numbers [3]int64
	for i := range numbers {
		if i < len(list) {
			numbers[i], _ = list[i].(int64)
		}
	}
	r.taken = numbers[0] == 1
	r.debt = time.Duration(numbers[1])*time.Second + time.Duration(numbers[2])
	if !r.taken && len(list) == 4 {
		r.bucket, _ = list[3].(string)
		r.token, err = tokenOf(r.bucket)
	} else if len(list) != 3 {
		err = fmt.Errorf("the script returned %d values", len(list))
	}
	return r, err
}

// tokenOf returns the token that a bucket was counted with.
func tokenOf(bucket string) (time.Duration, error) {
	_, text, _ := strings.Cut(bucket, "/")
	token, err := strconv.ParseInt(text, 10, 64)
	if err == nil && token <= 0 {
		err = strconv.ErrRange
	}
	if err != nil {
		return 0, fmt.Errorf("reading the bucket %q: %w", bucket, err)
	}
	return time.Duration(token), nil
}
