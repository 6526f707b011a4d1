package hostedspftest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/mailauth/hostedspf"
)

const racers = 64

// race runs f in many goroutines concurrently, and returns how many calls succeeded. All others must return the
// expected error.
func race(t *testing.T, expected error, f func(i int) error) int64 {
	t.Helper()
	var won atomic.Int64
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range racers {
		wg.Go(func() {
			<-start
			switch err := f(i); {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, expected):
				t.Errorf("racer %d: %v", i, err)
			}
		})
	}
	close(start)
	wg.Wait()
	return won.Load()
}

func testRaceClaims(t *testing.T, f *fixture) {
	p := f.create("key_a", "example.com")
	for range 3 {
		won := race(t, hostedspf.ErrClaimed, func(int) error {
			_, err := f.store.Claim(f.ctx(), p.ID, lease)
			return err
		})
		require.EqualValues(t, 1, won)
		f.clock.Advance(lease)
	}
}

// Each finished claim leaves exactly one entry, and no two run concurrently.
func testRaceResolutions(t *testing.T, f *fixture) {
	p := f.create("key_a", "example.com")
	outcomes := make([]hostedspf.Outcome, racers)
	for i := range outcomes {
		outcomes[i] = f.outcome(p.ID, "192.0.2.0/24")
	}
	var running atomic.Int64
	won := race(t, hostedspf.ErrClaimed, func(i int) error {
		c, err := f.store.Claim(f.ctx(), p.ID, lease)
		if err != nil {
			return err
		}
		if running.Add(1) != 1 {
			t.Error("two claims run at once")
		}
		running.Add(-1)
		_, err = f.store.Finish(f.ctx(), c, outcomes[i])
		return err
	})
	require.Positive(t, won)
	require.Len(t, f.history(p.ID), int(won))
}

func testRaceCreate(t *testing.T, f *fixture) {
	profiles := make([]hostedspf.Profile, racers)
	for i := range profiles {
		profiles[i] = f.profile("key_a", "example.com")
		profiles[i].IncludeHost = profiles[0].IncludeHost
	}
	won := race(t, hostedspf.ErrTaken, func(i int) error { return f.store.Create(f.ctx(), profiles[i]) })
	require.EqualValues(t, 1, won)
	_, total := f.page(hostedspf.ProfileQuery{Owner: "key_a", Limit: 1})
	require.Equal(t, 1, total)
}

func testRaceUpdates(t *testing.T, f *fixture) {
	p := f.create("key_a", "example.com")
	won := race(t, nil, func(int) error {
		_, err := f.store.Update(f.ctx(), p.ID, func(p *hostedspf.Profile) error {
			p.IntervalSeconds++
			return nil
		})
		return err
	})
	require.EqualValues(t, racers, won)
	require.Equal(t, p.IntervalSeconds+racers, f.read(p.ID).IntervalSeconds, "no update may be lost")
}

// calls are all methods of a store but Close.
func (f *fixture) calls(ctx context.Context, p hostedspf.Profile, c hostedspf.Claim) map[string]error {
	s, errs := f.store, map[string]error{}
	errs["Create"] = s.Create(ctx, f.profile("key_a", "example.org"))
	_, errs["Profile"] = s.Profile(ctx, p.ID)
	_, errs["Profiles"] = s.Profiles(ctx, hostedspf.ProfileQuery{Owner: "key_a", Limit: 1})
	_, errs["Update"] = s.Update(ctx, p.ID, func(p *hostedspf.Profile) error { p.Name = "spoilt"; return nil })
	errs["Remove"] = s.Remove(ctx, p.ID)
	_, errs["Version"] = s.Version(ctx)
	_, errs["Due"] = s.Due(ctx, f.now(), 1)
	_, errs["Claim"] = s.Claim(ctx, p.ID, lease)
	_, errs["Finish"] = s.Finish(ctx, c, f.outcome(p.ID, "192.0.2.0/24"))
	errs["Release"] = s.Release(ctx, c)
	_, errs["Resolutions"] = s.Resolutions(ctx, hostedspf.HistoryQuery{ProfileID: p.ID, Limit: 1})
	return errs
}

func testEndedContext(t *testing.T, f *fixture) {
	p := f.create("key_a", "example.com")
	c := f.claim(p.ID)
	ctx, cancel := context.WithCancel(f.ctx())
	cancel()
	for call, err := range f.calls(ctx, p, c) {
		require.ErrorIs(t, err, context.Canceled, call)
	}
	require.Equal(t, p, f.read(p.ID))
	f.finish(c, f.outcome(p.ID, "192.0.2.0/24"))
}

func testClosed(t *testing.T, f *fixture) {
	p := f.create("key_a", "example.com")
	c := f.claim(p.ID)
	require.NoError(t, f.store.Close())
	for call, err := range f.calls(f.ctx(), p, c) {
		require.ErrorIs(t, err, hostedspf.ErrClosed, call)
	}
	require.NoError(t, f.store.Close(), "closing twice is no fault")
}

// Data in a store that outlives its process survives: profiles, history, and claims, so that two processes never
// resolve one profile at the same time.
func testSurvival(t *testing.T, f *fixture) {
	reopener, ok := f.store.(reopener)
	if !ok {
		return // a store in memory forgets
	}
	p := f.create("key_a", "example.com")
	r := f.resolve(p.ID, "192.0.2.0/24")
	want := f.read(p.ID)
	c := f.claim(p.ID)
	f.store = reopener.Reopen(t)
	require.Equal(t, want, f.read(p.ID))
	require.Equal(t, []string{r.ID}, f.history(p.ID))
	f.claimRefused(p.ID, hostedspf.ErrClaimed)
	f.clock.Advance(lease)
	next := f.claim(p.ID)
	require.Greater(t, next.Fence, c.Fence)
}
