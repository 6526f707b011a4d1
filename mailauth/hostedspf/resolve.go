package hostedspf

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

const (
	// Timeout bounds a resolution (CONTRACT 1.9). What name servers have not said by then counts as not said.
	Timeout = 15 * time.Second
	// Lease is how long a claim lasts: a node that has not stored its result a good while after [Timeout]
	// is taken for dead, and the profile is resolved by another.
	Lease = time.Minute
	// leastTime is what a resolution on demand must have left when its turn comes. With less, name servers that
	// are slow would be taken for silent, and the profile for failed.
	leastTime = 3 * time.Second
	// claimPoll is how often who waits for a claim looks whether it can be had.
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
	zone   diag.Name      // that the bundled name server serves; zero if it serves none
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

// releaseTimeout bounds the wait for a store when nobody waits for its answer.
const releaseTimeout = time.Second

// flatten resolves the source record of a profile. It is a failure, and no error, that this takes too long.
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
	default:
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
	return &ResolveReport{Profile: after, Resolution: o.Resolution.Clone(), Partial: report.Partial, Verdict: report.Verdict}, nil
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
			before, after := authorised(p.FlattenedRecord), authorised(f.FlattenedRecord)
			r.Status, r.Added, r.Removed = ResolutionChanged, difference(after, before), difference(before, after)
		}
		r.IP4Count, r.IP6Count, r.RecordHash = f.IP4Count, f.IP6Count, f.RecordHash
	}
	vary := time.Duration((2*j.random() - 1) * jitter * float64(wait))
	return Outcome{Resolution: r, Published: report.Published,
		NextResolveAt: r.ResolvedAt.Add(wait + vary).Truncate(precision)}
}

const (
	// jitter is by which part of itself a wait varies, either way, so that profiles that were made together
	// drift apart.
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
