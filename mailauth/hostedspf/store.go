package hostedspf

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
)

// Sentinels that a caller branches on.
var (
	// ErrNotFound means that the profile does not exist or belongs to another owner: callers cannot tell which.
	ErrNotFound = errors.New("there is no such profile")

	// ErrTaken means that a profile with the id or the include host exists.
	ErrTaken = errors.New("there is a profile with this include host")

	// ErrClaimed means that another claim of the profile is running.
	ErrClaimed = errors.New("the profile is being resolved")

	// ErrLapsed means that a claim ended, was finished or released, or that its profile was removed.
	ErrLapsed = errors.New("the claim has lapsed")

	// ErrUnavailable means that the store cannot do its work at present: its disk is full or broken, another
	// process does not let go of it, or its file was removed. The caller may try again later.
	ErrUnavailable = errors.New("the store is unavailable")

	// ErrClosed means that the store has been closed.
	ErrClosed = errors.New("the store is closed")
)

// A Store keeps profiles and their history. It is safe for concurrent use, also by several processes where it lives
// outside of them. Times are stored in UTC to the microsecond. Returned values share no memory with stored ones.
// Every call returns the context's error if that has ended, and [ErrClosed] after Close. Every store must pass
// hostedspftest.TestStore.
type Store interface {
	// Create adds a profile. It returns [ErrTaken] if there is one with the same id or include host.
	Create(ctx context.Context, p Profile) error

	// Profile returns a profile with its records, or [ErrNotFound].
	Profile(ctx context.Context, id string) (Profile, error)

	// Profiles lists profiles with their records, by creation time and id.
	Profiles(ctx context.Context, q ProfileQuery) (ProfilePage, error)

	// Update lets change alter a profile in one transaction. Change may be called more than once, and must have no
	// other effects; it must not touch ID, Owner, IncludeHost and CreatedAt. If it returns an error nothing changes,
	// and Update returns that error. A claim of the profile remains valid. It returns [ErrNotFound] without the
	// profile.
	Update(ctx context.Context, id string, change func(p *Profile) error) (Profile, error)

	// Remove removes a profile with its history, and ends a claim of it. It returns [ErrNotFound] without the profile.
	Remove(ctx context.Context, id string) error

	// Version returns a number that differs after every Create, Update, Remove and Finish that changed something,
	// also by another process: a cached copy is stale when it differs. It is cheap.
	Version(ctx context.Context) (int64, error)

	// Due lists profiles that are not paused, whose NextResolveAt has come by the given time, and of which no claim is
	// running by the clock of the store: those that have been due for longest first, then by id, at most limit.
	Due(ctx context.Context, now time.Time, limit int) ([]Due, error)

	// Claim reserves a profile for one resolution. It returns [ErrClaimed] while another claim of it runs
	// and [ErrNotFound] without the profile. The claim lapses after the lease, by the clock of the
	// store: at its very end another may be had.
	Claim(ctx context.Context, id string, lease time.Duration) (Claim, error)

	// Finish ends a claim with an outcome: it applies the outcome to the profile (see [Outcome.Apply]), appends the
	// resolution to the history, from which it removes entries older than [HistoryAge], and frees the profile, all in
	// one transaction. It returns the profile as it then is. If the claim was finished or released, has lapsed, or
	// the profile was removed, it returns [ErrLapsed] and changes nothing.
	Finish(ctx context.Context, c Claim, o Outcome) (Profile, error)

	// Release ends a claim without an outcome. Releasing one that has ended does nothing.
	Release(ctx context.Context, c Claim) error

	// Resolutions lists the history of a profile, newest first: by time, then by id, both descending. It
	// is empty without the profile.
	Resolutions(ctx context.Context, q HistoryQuery) ([]Resolution, error)

	// Close finishes the work under way, makes it durable and releases the store.
	Close() error
}

// HistoryAge is how long the history of a profile is kept (CONTRACT 6).
const HistoryAge = 400 * 24 * time.Hour

// A Position is where a list continues: after the entry with this time and id. The zero Position is the beginning.
type Position struct {
	Time time.Time
	ID   string
}

// IsZero reports whether the position is the beginning.
func (p Position) IsZero() bool { return p.ID == "" && p.Time.IsZero() }

// A ProfileQuery selects profiles.
type ProfileQuery struct {
	Owner  Owner       // [AnyOwner] for all
	Domain diag.Domain // zero for all
	After  Position    // by CreatedAt
	Limit  int         // at most so many; above 0
}

// A ProfilePage is an answer to a [ProfileQuery].
type ProfilePage struct {
	Profiles []Profile
	Total    int // of owner and domain, wherever the page begins
}

// A HistoryQuery selects resolutions of a profile.
type HistoryQuery struct {
	ProfileID string
	Status    ResolutionStatus // empty for all
	Since     time.Time        // zero for all; the time itself is included
	Until     time.Time        // zero for all; the time itself is excluded
	Before    Position         // by ResolvedAt
	Limit     int              // at most so many; above 0
}

// A Due is a profile that is due for resolution.
type Due struct {
	ID string
	At time.Time // its NextResolveAt
}

// A Claim is the right to resolve a profile once.
type Claim struct {
	ProfileID string
	Fence     int64     // rises with each claim of a profile
	Until     time.Time // by the clock of the store
}

// An Outcome is the result of a resolution for a profile.
type Outcome struct {
	Resolution    Resolution
	Published     *Publication // nil if the resolution failed
	NextResolveAt time.Time
}

// A Publication holds the records that a source record was resolved to.
type Publication struct {
	FlattenedRecord string
	Records         []Record
	Sets            []Part // without an end; in the place of networks that do not fit into records
	LookupsBefore   int
	LookupsAfter    int
	IP4Count        int
	IP6Count        int
	RecordHash      string
}

// Apply writes the outcome into the profile. Stores call it in the transaction that ends a claim.
func (o Outcome) Apply(p *Profile) {
	at := o.Resolution.ResolvedAt
	p.UpdatedAt, p.LastError = at, o.Resolution.Error
	if f := o.Published; f != nil {
		p.Failures, p.LastResolvedAt = 0, at
		if f.RecordHash != p.RecordHash {
			p.LastChangedAt = at
		}
		p.replaceParts(f, at)
		p.FlattenedRecord, p.Records, p.RecordHash = f.FlattenedRecord, append([]Record{}, f.Records...), f.RecordHash
		p.LookupsBefore, p.LookupsAfter, p.IP4Count, p.IP6Count = f.LookupsBefore, f.LookupsAfter, f.IP4Count, f.IP6Count
	} else {
		p.Failures++
	}
	p.NextResolveAt = o.NextResolveAt
	if p.IsPaused {
		p.NextResolveAt = time.Time{}
	}
	p.Status = p.status()
}

// replaceParts sets the parts to those of a publication, and keeps the replaced ones for [Retention].
func (p *Profile) replaceParts(f *Publication, at time.Time) {
	parts, host := cloneParts(f.Sets), p.IncludeHost.String()
	named := func(name string) bool {
		return name != host && slices.ContainsFunc(f.Records, func(r Record) bool { return r.Name == name }) ||
			slices.ContainsFunc(f.Sets, func(s Part) bool { return s.Name == name })
	}
	for _, old := range p.Parts {
		if old.Until.IsZero() {
			old.Until = at.Add(Retention)
		}
		if !named(old.Name) && old.Until.After(at) {
			parts = append(parts, old)
		}
	}
	for _, r := range p.Records {
		switch {
		case r.Name != host && !named(r.Name):
			parts = append(parts, Part{Name: r.Name, Value: r.Value, Until: at.Add(Retention)})
		case r.Name == host && !slices.Contains(f.Records, r):
			parts = append(parts, Part{Name: host, Value: r.Value, Until: at.Add(Retention)})
		}
	}
	p.Parts = parts
}
