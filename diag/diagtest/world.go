package diagtest

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
)

// A World is a simulated Internet. It may be used by several goroutines concurrently.
type World struct {
	t      testing.TB // nil outside tests
	clock  *clock
	bubble bool
	ctx    context.Context // ends with the world
	end    context.CancelFunc
	net    *network
	pki    *authorities
	dns    *names
	env    *diag.Env

	queries     journal[Query]
	connections journal[Connection]

	mu         sync.Mutex
	err        error // the first mistake in the configuration of the world
	latency    Latency
	webServers map[netip.AddrPort]*webServer
	resolvers  map[netip.Addr]*Server
}

// Config configures the world of a program; see [New].
type Config struct {
	Zone    string    // records in master file format
	Time    time.Time // initial time of the world; zero means 2026-01-01
	Running bool      // the clock advances; in a testing/synctest bubble it always does
}

// NewWorld returns an empty world for a test or benchmark. It ends with t, and a mistake in its configuration, such
// as in the text of a zone, fails t.
func NewWorld(t testing.TB) *World {
	w := newWorld(t, Config{})
	t.Cleanup(w.Close)
	return w
}

// New returns a world for a program, which must call [World.Close]. Methods of the world do not report
// configuration errors; check [World.Err].
func New(c Config) (*World, error) {
	w := newWorld(nil, c)
	w.Zone(c.Zone)
	if err := w.Err(); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

func newWorld(t testing.TB, c Config) *World {
	w := &World{
		t: t, bubble: inBubble(), net: newNetwork(), dns: newNames(),
		webServers: map[netip.AddrPort]*webServer{}, resolvers: map[netip.Addr]*Server{},
	}
	w.clock = newClock(cmp.Or(c.Time, epoch), c.Running || w.bubble)
	w.ctx, w.end = context.WithCancel(context.Background())
	w.pki = newAuthorities(w.Now)
	w.env = w.NewEnv()
	w.servePublicResolvers()
	return w
}

// Close stops the servers of the world, breaks all connections, and waits for their goroutines.
func (w *World) Close() {
	w.end()
	w.net.close()
}

// Err returns the first error in the configuration of the world.
func (w *World) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

func (w *World) check(err error) {
	if err == nil {
		return
	}
	err = fmt.Errorf("diagtest: %w", err)
	if w.t != nil {
		w.t.Helper()
		w.t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
}

// Env returns the environment with which a diagnostic runs in the world, the same on each call. Its guard
// allows the documentation addresses that the world assigns, and refuses all other special-purpose ones.
func (w *World) Env() *diag.Env { return w.env }

// NewEnv returns a new Env of the world, for tests that change its fields or need new connections of its
// resolvers.
func (w *World) NewEnv() *diag.Env {
	return &diag.Env{
		Resolver: w, Dial: w.Dial, Roots: w.pki.roots(), Clock: w.Now, Guard: diag.Guard{AllowNetworks: testNets()},

		TrustAnchors: w.anchors(),
	}
}

// epoch is when every world begins.
var epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// A clock is stopped, or runs with the time of the process.
type clock struct {
	mu    sync.Mutex
	base  time.Time // the time shown at start
	start time.Time // of the process or bubble; zero if the clock is stopped
}

func newClock(base time.Time, running bool) *clock {
	c := &clock{base: base.Round(0)}
	if running {
		c.start = time.Now()
	}
	return c
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.start.IsZero() {
		return c.base
	}
	return c.base.Add(time.Since(c.start))
}

func (c *clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.base = t.Round(0)
	if !c.start.IsZero() {
		c.start = time.Now()
	}
}

// inBubble reports whether the caller runs in a bubble of testing/synctest. The time of a bubble
// begins at midnight UTC 2000-01-01, which is part of its documented behavior, and no machine that
// runs this has a clock which shows that decade.
func inBubble() bool { return time.Now().Year() < 2010 }

// Now returns the time in the world.
func (w *World) Now() time.Time { return w.clock.now() }

// SetTime sets the clock of the world.
func (w *World) SetTime(t time.Time) { w.clock.set(t) }

// Advance moves the clock of the world, backward if d is negative. It does not wake anything that waits.
func (w *World) Advance(d time.Duration) { w.clock.set(w.clock.now().Add(d)) }

// wait lasts for d, or until the context or the world ends.
func (w *World) wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-w.ctx.Done():
		return w.ctx.Err()
	}
}
