package hostedspf_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
)

// run lets schedulers work for d, and waits for their ends.
func run(t *testing.T, d time.Duration, schedulers ...*hostedspf.Scheduler) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var wg sync.WaitGroup
	for _, s := range schedulers {
		wg.Go(func() {
			if err := s.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Run returned %v", err)
			}
		})
	}
	wg.Wait()
}

// all returns the history of a profile, oldest first.
func all(t *testing.T, a hostedspf.Access, id string) []hostedspf.Resolution {
	t.Helper()
	list, err := a.Store.Resolutions(t.Context(), hostedspf.HistoryQuery{ProfileID: id, Limit: 10_000})
	require.NoError(t, err)
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list
}

// Profiles are resolved at their intervals, which vary by a tenth.
func TestScheduler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, a := setUp(t)
		w.Latency(time.Second)
		p := create(t, w, a)
		run(t, 24*time.Hour, &hostedspf.Scheduler{Store: a.Store, Env: w.Env()})
		list := all(t, a, p.ID)
		require.InDelta(t, 25, len(list), 3)
		waits := map[time.Duration]bool{}
		for i, r := range list[1:] {
			require.Equal(t, hostedspf.Scheduled, r.Trigger)
			require.Equal(t, hostedspf.ResolutionUnchanged, r.Status)
			wait := r.ResolvedAt.Sub(list[i].ResolvedAt)
			require.GreaterOrEqual(t, wait, 54*time.Minute)
			require.LessOrEqual(t, wait, 66*time.Minute+hostedspf.DefaultPoll+time.Second)
			waits[wait.Truncate(time.Minute)] = true
		}
		require.Greater(t, len(waits), 3, "the waits vary")
	})
}

// A restart loses nothing, and profiles that came due meanwhile are resolved at a limited rate.
func TestSchedulerSpreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, a := setUp(t)
		ids := []string{}
		for range 200 {
			ids = append(ids, create(t, w, a).ID)
		}
		time.Sleep(24 * time.Hour) // all are long overdue
		began := w.Now()
		w.Latency(500 * time.Millisecond)
		w.Forget()
		run(t, 50*time.Minute, &hostedspf.Scheduler{Store: a.Store, Env: w.Env(), Workers: 3})
		perSecond := map[int]int{}
		var last time.Duration
		for _, id := range ids {
			list := all(t, a, id)
			require.Len(t, list, 2, "each is resolved once")
			at := list[1].ResolvedAt.Sub(began)
			perSecond[int(at.Seconds())]++
			last = max(last, at)
		}
		for second, n := range perSecond {
			require.LessOrEqual(t, n, 6, "in second %d", second)
		}
		require.Less(t, last, time.Minute)
	})
}

// gauge counts concurrent resolutions, by the claims that a store grants and gets back.
type gauge struct {
	hostedspf.Store
	mu       sync.Mutex
	running  map[string]int
	most     int
	overlaps int
}

func (g *gauge) Claim(ctx context.Context, id string, lease time.Duration) (hostedspf.Claim, error) {
	c, err := g.Store.Claim(ctx, id, lease)
	if err == nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.running[id]++; g.running[id] > 1 {
			g.overlaps++
		}
		sum := 0
		for _, n := range g.running {
			sum += n
		}
		g.most = max(g.most, sum)
	}
	return c, err
}

func (g *gauge) done(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running[id] = max(0, g.running[id]-1)
}

func (g *gauge) Finish(ctx context.Context, c hostedspf.Claim, o hostedspf.Outcome) (hostedspf.Profile, error) {
	g.done(c.ProfileID) // before it is free again
	return g.Store.Finish(ctx, c, o)
}

// Two nodes on one store resolve no profile twice, and each stays within its concurrency.
func TestTwoSchedulers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, a := setUp(t)
		ids := []string{}
		for range 20 {
			ids = append(ids, create(t, w, a).ID)
		}
		w.Latency(2 * time.Second)
		time.Sleep(2 * time.Hour)
		g := &gauge{Store: a.Store, running: map[string]int{}}
		one := &hostedspf.Scheduler{Store: g, Env: w.Env(), Workers: 2}
		two := &hostedspf.Scheduler{Store: g, Env: w.Env(), Workers: 2}
		run(t, 40*time.Minute, one, two)
		for _, id := range ids {
			require.Len(t, all(t, a, id), 2)
		}
		require.Equal(t, 4, g.most)
		require.Zero(t, g.overlaps)
	})
}

// Failures are tried again after a minute, two, four and so on, up to the interval; a success ends that.
func TestSchedulerBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, a := setUp(t)
		p := create(t, w, a)
		var events []hostedspf.EventType
		s := &hostedspf.Scheduler{
			Store: a.Store, Env: w.Env(), Random: func() float64 { return 0.5 },
			Notify: func(e hostedspf.Event) { events = append(events, e.Type) },
		}
		w.Fault("_spf.example.org", 0, diagtest.Fault{Rcode: dns.RcodeServerFailure})
		run(t, 5*time.Hour, s)
		list := all(t, a, p.ID)
		want := []int{1, 2, 4, 8, 16, 32, 60, 60}
		for i, minutes := range want {
			wait := list[i+2].ResolvedAt.Sub(list[i+1].ResolvedAt)
			require.InDelta(t, float64(minutes), wait.Minutes(), 0.2, "after failure %d", i+1)
		}
		service(w, "192.0.2.0/24")
		run(t, 3*time.Hour, s)
		list = all(t, a, p.ID)
		last := list[len(list)-1]
		require.Equal(t, hostedspf.ResolutionUnchanged, last.Status)
		require.InDelta(t, 60, last.ResolvedAt.Sub(list[len(list)-2].ResolvedAt).Minutes(), 0.2)
		require.Equal(t, []hostedspf.EventType{hostedspf.ProfileFailed, hostedspf.ProfileRecovered}, events)
	})
}

// Paused profiles are skipped, removed ones are dropped, and new ones are found.
func TestSchedulerFollowsAdministration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, a := setUp(t)
		paused, removed := create(t, w, a), create(t, w, a)
		_, err := hostedspf.Pause(t.Context(), w.Env(), a, paused.ID)
		require.NoError(t, err)
		var added *hostedspf.Profile
		time.AfterFunc(30*time.Minute, func() {
			added = create(t, w, a)
			if err := hostedspf.Remove(t.Context(), a, removed.ID); err != nil {
				t.Error(err)
			}
		})
		run(t, 3*time.Hour, &hostedspf.Scheduler{Store: a.Store, Env: w.Env()})
		require.Len(t, all(t, a, paused.ID), 1)
		require.Empty(t, all(t, a, removed.ID))
		require.GreaterOrEqual(t, len(all(t, a, added.ID)), 3)
	})
}

// A node that dies with a claim delays its profile by the lease, no longer.
func TestSchedulerAfterCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, a := setUp(t)
		p := create(t, w, a)
		time.Sleep(2 * time.Hour)
		_, err := a.Store.Claim(t.Context(), p.ID, hostedspf.Lease) // and it is never finished
		require.NoError(t, err)
		began := w.Now()
		run(t, 5*time.Minute, &hostedspf.Scheduler{Store: a.Store, Env: w.Env()})
		list := all(t, a, p.ID)
		require.Len(t, list, 2)
		require.WithinRange(t, list[1].ResolvedAt, began.Add(hostedspf.Lease),
			began.Add(hostedspf.Lease+hostedspf.DefaultPoll))
	})
}

// At the end no resolution starts, and pending ones are finished and stored.
func TestSchedulerDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, a := setUp(t)
		ids := []string{}
		for range 10 {
			ids = append(ids, create(t, w, a).ID)
		}
		time.Sleep(2 * time.Hour)
		w.Latency(5 * time.Second)
		began := time.Now()
		run(t, time.Second, &hostedspf.Scheduler{Store: a.Store, Env: w.Env(), Workers: 3})
		require.InDelta(t, 5.4, time.Since(began).Seconds(), 0.1, "the third began after 0.4 seconds")
		resolved := 0
		for _, id := range ids {
			resolved += len(all(t, a, id)) - 1
		}
		require.Equal(t, 3, resolved)
	})
}

// Even if no name server answers, Run ends in time.
func TestSchedulerDrainsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, a := setUp(t)
		p := create(t, w, a)
		time.Sleep(2 * time.Hour)
		w.Silence("_spf.example.org")
		w.Silence("example.com")
		began := time.Now()
		run(t, time.Second, &hostedspf.Scheduler{Store: a.Store, Env: w.Env()})
		require.Less(t, time.Since(began), 20*time.Second)
		require.Equal(t, hostedspf.ResolutionFailed, all(t, a, p.ID)[1].Status)
	})
}

// logbook collects log records.
type logbook struct {
	mu    sync.Mutex
	lines []string
}

func (l *logbook) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(line))
	return len(line), nil
}

func (l *logbook) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// panics is a resolver that panics on one name.
type panics struct{ diag.Resolver }

func (p panics) Exchange(ctx context.Context, m *dns.Msg) (*dns.Msg, error) {
	if m.Question[0].Name == "_spf.example.org." {
		panic("what is that?")
	}
	return p.Resolver.Exchange(ctx, m)
}

// A panic is a failure of one profile, and the others go on.
func TestSchedulerSurvivesPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, a := setUp(t)
		bad := create(t, w, a)
		good, err := hostedspf.Create(t.Context(), w.Env(), a,
			hostedspf.CreateRequest{Domain: domain, SourceRecord: "v=spf1 ip4:192.0.2.1 -all", Zone: zone})
		require.NoError(t, err)
		env := w.NewEnv()
		env.Resolver = panics{w}
		var book logbook
		run(t, 3*time.Hour, &hostedspf.Scheduler{Store: a.Store, Env: env, Log: book.logger()})
		failed := all(t, a, bad.ID)[1:]
		require.InDelta(t, 7, len(failed), 2, "it is tried later and later")
		require.Equal(t, "an internal error", failed[0].Error)
		require.GreaterOrEqual(t, len(all(t, a, good.ID)), 3)
		require.Contains(t, book.lines[0], "what is that?")
	})
}

// So is a panic in Notify, after the resolution was stored.
func TestSchedulerSurvivesItsListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, a := setUp(t)
		p := create(t, w, a)
		service(w, "203.0.113.77") // a change, which causes an event
		var book logbook
		s := &hostedspf.Scheduler{Store: a.Store, Env: w.Env(), Log: book.logger()}
		s.Notify = func(hostedspf.Event) { panic("nobody listens") }
		run(t, 3*time.Hour, s)
		require.GreaterOrEqual(t, len(all(t, a, p.ID)), 3)
		require.Len(t, book.lines, 1)
		require.Contains(t, book.lines[0], "nobody listens")
	})
}

// flaky is a store of which one method fails.
type flaky struct {
	hostedspf.Store
	due, finish error
	finished    atomic.Int64
}

func (f *flaky) Due(ctx context.Context, now time.Time, limit int) ([]hostedspf.Due, error) {
	if f.due != nil {
		return nil, f.due
	}
	return f.Store.Due(ctx, now, limit)
}

func (f *flaky) Finish(ctx context.Context, c hostedspf.Claim, o hostedspf.Outcome) (hostedspf.Profile, error) {
	f.finished.Add(1)
	if f.finish != nil {
		return hostedspf.Profile{}, f.finish
	}
	return f.Store.Finish(ctx, c, o)
}

// A failing store is retried, at a limited rate.
func TestSchedulerStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, a := setUp(t)
		create(t, w, a)
		time.Sleep(2 * time.Hour)
		var book logbook
		store := &flaky{Store: a.Store, due: errFull}
		run(t, time.Minute, &hostedspf.Scheduler{Store: store, Env: w.Env(), Log: book.logger()})
		require.InDelta(t, 12, len(book.lines), 1)
		require.Contains(t, book.lines[0], "the disk is full")

		store = &flaky{Store: a.Store, finish: errFull}
		run(t, 10*time.Minute, &hostedspf.Scheduler{Store: store, Env: w.Env(), Log: book.logger()})
		require.InDelta(t, 10, store.finished.Load(), 2, "once a lease")
		require.Contains(t, strings.Join(book.lines, ""), "storing the resolution")
	})
}

// A scheduler that lists a profile which another resolves meanwhile leaves it alone.
func TestSchedulerIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, a := setUp(t)
		p := create(t, w, a)
		time.Sleep(2 * time.Hour)
		paused := create(t, w, a)
		_, err := hostedspf.Pause(t.Context(), w.Env(), a, paused.ID)
		require.NoError(t, err)
		gone := fmt.Sprintf("spf_%026d", 1)
		store := &stale{Store: a.Store, list: []hostedspf.Due{{ID: p.ID}, {ID: paused.ID}, {ID: gone}}}
		resolve(t, w, a, p.ID)
		run(t, time.Minute, &hostedspf.Scheduler{Store: store, Env: w.Env()})
		require.Len(t, all(t, a, p.ID), 2)
		require.Len(t, all(t, a, paused.ID), 1)
	})
}

// stale is a store with an outdated list of due profiles.
type stale struct {
	hostedspf.Store
	list []hostedspf.Due
}

func (s *stale) Due(context.Context, time.Time, int) ([]hostedspf.Due, error) { return s.list, nil }
