package hostedspf

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/diagkit/diagkit/diag"
)

// The defaults of a [Scheduler].
const (
	// defaultWorkers is how many profiles are resolved at once. Each asks up to a hundred questions.
	defaultWorkers = 4
	// defaultGap lies between the beginnings of two resolutions: five a second, or 18,000 profiles an hour.
	defaultGap = 200 * time.Millisecond
	// DefaultPoll is how often the store is asked what is due. It is short beside the shortest interval.
	DefaultPoll = 5 * time.Second
)

const maxDue = 64

// A Scheduler resolves profiles when they are due. When that is stands in the store, so that a restart forgets
// nothing; profiles that came due while no scheduler ran are resolved in turn, the oldest first, no faster than
// Gap allows. Any number of schedulers may work on one store: claims of the store keep them apart.
//
// After a success a profile is due after its refresh interval. After a failure it is due after a minute, then
// two, four and so on up to the interval. Both vary by a tenth.
type Scheduler struct {
	Store   Store
	Env     *diag.Env
	Workers int            // resolutions at once; 0 means DefaultWorkers
	Gap     time.Duration  // between the beginnings of two; 0 means DefaultGap
	Poll    time.Duration  // between questions to the store; 0 means DefaultPoll
	Random  func() float64 // from 0 to 1, for the variation; nil means crypto/rand
	Zone    diag.Name      // as that of [Access]
	Notify  func(Event)    // if set, is called with what happened, from several goroutines at once
	Log     *slog.Logger   // of what goes wrong; nil means slog.Default()
}

// Run resolves profiles until the context ends. It then begins nothing, waits for the resolutions under way, which
// takes no longer than [Timeout] and a moment for the store, and returns the context's error. That the store
// fails is logged, and it is asked again.
func (s *Scheduler) Run(ctx context.Context) error {
	var g diag.Group
	free := make(chan struct{}, cmp.Or(s.Workers, defaultWorkers))
	for ctx.Err() == nil {
		due, err := s.Store.Due(ctx, now(s.Env), maxDue)
		if err != nil && ctx.Err() == nil {
			s.log().Error("listing profiles that are due", "error", err)
		}
		for _, d := range due {
			select {
			case free <- struct{}{}:
			case <-ctx.Done():
			}
			if ctx.Err() != nil {
				break
			}
			g.Go(func() {
				defer func() { <-free }()
				s.resolve(context.WithoutCancel(ctx), d.ID)
			})
			_ = sleep(ctx, cmp.Or(s.Gap, defaultGap))
		}
		if len(due) < maxDue {
			_ = sleep(ctx, cmp.Or(s.Poll, DefaultPoll))
		}
	}
	g.Wait()
	return ctx.Err()
}

func (s *Scheduler) log() *slog.Logger {
	if s.Log != nil {
		return s.Log
	}
	return slog.Default()
}

func (s *Scheduler) logPanic(profile string, v any) {
	s.log().Error("panic in a resolution", "profile", profile, "panic", v, "stack", string(debug.Stack()))
}

func (s *Scheduler) work() *job {
	vary := s.Random
	if vary == nil {
		vary = random
	}
	return &job{s.Store, s.Env, s.Notify, vary, s.Zone}
}

const storeTimeout = 4 * time.Second

// resolve claims a profile that is due and resolves it. A panic in Notify or the store ends this resolution alone,
// and is logged when it happens; a claim that was open lapses.
func (s *Scheduler) resolve(ctx context.Context, id string) {
	defer func() {
		if v := recover(); v != nil {
			s.logPanic(id, v)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, Timeout+storeTimeout)
	defer cancel()
	claim, err := s.Store.Claim(ctx, id, Lease)
	if errors.Is(err, ErrClaimed) || errors.Is(err, ErrNotFound) {
		return // another was first
	}
	if err == nil {
		err = s.claimed(ctx, claim)
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		s.log().Error("resolving a hosted SPF profile", "profile", id, "error", err)
	}
}

// claimed resolves a profile that was claimed, if it is due still. Where the store fails at the end, the claim is
// left to lapse, so that the profile is not resolved over and over meanwhile.
func (s *Scheduler) claimed(ctx context.Context, claim Claim) error {
	j := s.work()
	p, err := s.Store.Profile(ctx, claim.ProfileID)
	if err != nil {
		return err
	}
	if p.IsPaused || p.NextResolveAt.After(now(s.Env)) { // another was faster
		j.release(ctx, claim)
		return nil
	}
	began := s.Env.Now()
	report, err := s.flatten(ctx, j, &p)
	if err != nil {
		return err
	}
	_, err = j.finish(ctx, claim, p, report, Scheduled, began)
	return err
}

// flatten resolves the source record of a profile. A panic is a failure of this profile alone: it is tried again
// later and later, and the others go on.
func (s *Scheduler) flatten(ctx context.Context, j *job, p *Profile) (report *FlattenReport, err error) {
	defer func() {
		if v := recover(); v != nil {
			s.logPanic(p.ID, v)
			report, err = &FlattenReport{Error: "an internal error"}, nil
		}
	}()
	return j.flatten(ctx, p)
}
