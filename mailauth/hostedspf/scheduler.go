package hostedspf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// The defaults of a [Scheduler].
const (
	// defaultWorkers is how many profiles are resolved concurrently. Each sends up to a hundred queries.
	defaultWorkers = 4
	// defaultGap lies between the beginnings of two resolutions: five a second, or 18,000 profiles an hour.
	defaultGap = 200 * time.Millisecond
	// DefaultPoll is how often the store is polled for due profiles. It is short compared to the shortest interval.
	DefaultPoll = 5 * time.Second
)

const maxDue = 64

// A Scheduler resolves profiles when they are due. The due times are in the store, so a restart loses nothing;
// profiles that came due while no scheduler ran are resolved in turn, the oldest first, no faster than Gap allows.
// Any number of schedulers may work on one store: claims of the store keep them apart.
//
// After a success a profile is due after its refresh interval. After a failure it is due after a minute, then
// two, four and so on up to the interval. Both vary by a tenth.
type Scheduler struct {
	Store   Store
	Env     *diag.Env
	Workers int            // concurrent resolutions; 0 means 4
	Gap     time.Duration  // between the beginnings of two; 0 means 200 ms
	Poll    time.Duration  // between questions to the store; 0 means DefaultPoll
	Random  func() float64 // from 0 to 1, for the variation; nil means crypto/rand
	Zone    diag.Name      // as that of [Access]
	Notify  func(Event)    // if set, is called with each event, concurrently from several goroutines
	Log     *slog.Logger   // for errors; nil means slog.Default()
}

// Run resolves profiles until the context ends. It then starts no more, waits for pending resolutions, which takes no
// longer than [Timeout] and a moment for the store, and returns the context's error. Failures of the store are logged
// and retried.
func (s *Scheduler) Run(ctx context.Context) error {
	if s.Store == nil {
		panic("hostedspf: Scheduler.Store is nil")
	}
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

const (
	// Timeout bounds a resolution (CONTRACT 1.9). Queries without an answer by then count as unanswered.
	Timeout = 15 * time.Second
	// Lease is how long a claim lasts: a node that has not stored its result well after [Timeout] is assumed dead,
	// and another resolves the profile.
	Lease = time.Minute
	// leastTime is the remaining time that a resolution on demand needs to start. With less, slow name servers would
	// be mistaken for silent ones, and the resolution would fail.
	leastTime = 3 * time.Second
	// claimPoll is how often a waiting caller retries a claim.
	claimPoll = 200 * time.Millisecond
)

// The waits after resolutions that failed: the first is retryAfter, and each is twice the one before, up to
// the refresh interval. Most name servers that are silent are back in minutes.
const retryAfter = time.Minute

type job struct {
	store  Store
	env    *diag.Env
	notify func(Event)
	random func() float64 // from 0 to 1, for the variation of the next moment
	zone   diag.Name      // that the bundled name server serves; zero without one
}

func (a Access) work(env *diag.Env) *job { return &job{a.Store, env, a.Notify, random, a.Zone} }

func (j *job) resolveNow(ctx context.Context, id string) (*ResolveReport, error) {
	claim, err := j.wait(ctx, id)
	if err != nil {
		return nil, err
	}
	finished := false
	defer func() {
		if !finished {
			j.release(ctx, claim)
		}
	}()
	if end, ok := ctx.Deadline(); ok && time.Until(end) < leastTime {
		return nil, fmt.Errorf("resolving %s: no time is left: %w", id, context.DeadlineExceeded)
	}
	p, err := j.store.Profile(ctx, id)
	if err != nil {
		return nil, err
	}
	began := j.env.Now()
	report, err := j.flatten(ctx, &p)
	if err != nil {
		return nil, err
	}
	resolved, err := j.finish(ctx, claim, p, report, Manual, began)
	finished = err == nil // a release would cost another transaction
	return resolved, err
}

// wait claims a profile as soon as no other claim of it runs.
func (j *job) wait(ctx context.Context, id string) (Claim, error) {
	for {
		c, err := j.store.Claim(ctx, id, Lease)
		if !errors.Is(err, ErrClaimed) {
			return c, err
		}
		if err := sleep(ctx, claimPoll); err != nil {
			return Claim{}, fmt.Errorf("waiting for another resolution of %s: %w", id, err)
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// release ends a claim, also where the context has ended; if that fails, the claim lapses by itself.
func (j *job) release(ctx context.Context, c Claim) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	_ = j.store.Release(ctx, c)
}

// releaseTimeout bounds a call of the store whose result no caller needs.
const releaseTimeout = time.Second

// flatten resolves the source record of a profile. A timeout is a failed resolution, not an error.
func (j *job) flatten(ctx context.Context, p *Profile) (*FlattenReport, error) {
	bounded, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	report, err := Flatten(bounded, j.env, FlattenRequest{p.Domain, p.SourceRecord, p.IncludeHost,
		!j.zone.IsZero() && dns.IsSubDomain(j.zone.FQDN(), p.IncludeHost.FQDN()), len(p.Records) > 0})
	switch {
	case err == nil:
		return report, nil
	case ctx.Err() != nil:
		return nil, err
	case bounded.Err() != nil:
		return &FlattenReport{Error: fmt.Sprintf("the lookups took longer than %v", Timeout)}, nil
	default: // the profile is at fault
		return &FlattenReport{Error: err.Error()}, nil
	}
}

func (j *job) finish(
	ctx context.Context, c Claim, before Profile, report *FlattenReport, trigger Trigger, began time.Time,
) (*ResolveReport, error) {
	o := j.outcome(&before, report, trigger, began)
	after, err := j.store.Finish(ctx, c, o)
	if errors.Is(err, ErrLapsed) {
		if _, gone := j.store.Profile(ctx, before.ID); errors.Is(gone, ErrNotFound) {
			return nil, ErrNotFound
		}
	}
	if err != nil {
		return nil, fmt.Errorf("storing the resolution of %s: %w", before.ID, err)
	}
	if after.Records == nil {
		after.Records = []Record{}
	}
	j.tell(before, after, o.Resolution)
	return &ResolveReport{
		Profile: after, Resolution: o.Resolution.Clone(), Partial: report.Partial, Verdict: report.Verdict,
	}, nil
}

func (j *job) outcome(p *Profile, report *FlattenReport, trigger Trigger, began time.Time) Outcome {
	ended := j.env.Now()
	r := Resolution{
		ID: newID(resolutionPrefix), ProfileID: p.ID, ResolvedAt: ended.UTC().Truncate(precision), Trigger: trigger,
		Status: ResolutionFailed, DurationMS: max(0, ended.Sub(began).Milliseconds()), DNSLookups: report.DNSLookups,
		Added: []string{}, Removed: []string{}, IP4Count: p.IP4Count, IP6Count: p.IP6Count, RecordHash: p.RecordHash,
		Error: report.Error,
	}
	wait := time.Duration(p.IntervalSeconds) * time.Second
	if f := report.Published; f == nil {
		wait = min(wait, retryAfter<<min(p.Failures, maxDoublings))
	} else {
		r.Status = ResolutionUnchanged
		if f.RecordHash != p.RecordHash {
			before, after := authorized(p.FlattenedRecord), authorized(f.FlattenedRecord)
			r.Status, r.Added, r.Removed = ResolutionChanged, difference(after, before), difference(before, after)
		}
		r.IP4Count, r.IP6Count, r.RecordHash = f.IP4Count, f.IP6Count, f.RecordHash
	}
	vary := time.Duration((2*j.random() - 1) * jitter * float64(wait))
	return Outcome{Resolution: r, Published: report.Published,
		NextResolveAt: r.ResolvedAt.Add(wait + vary).Truncate(precision)}
}

const (
	// jitter is the fraction by which a wait varies, in both directions, so that profiles created together drift
	// apart.
	jitter = 0.1
	// maxDoublings bounds the waits after failures: 2048 minutes are more than any refresh interval.
	maxDoublings = 11
)

func (j *job) tell(before, after Profile, r Resolution) {
	if j.notify == nil {
		return
	}
	send := func(t EventType) { j.notify(Event{t, after.Clone(), r.Clone()}) }
	failing := before.LastError != ""
	switch {
	case r.Status == ResolutionFailed && !failing:
		send(ProfileFailed)
	case r.Status != ResolutionFailed && failing:
		send(ProfileRecovered)
	}
	if r.Status == ResolutionChanged {
		send(ProfileChanged)
	}
}
