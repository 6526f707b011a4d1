package hostedspf

import (
	"context"
	"errors"
	"time"

	"github.com/diagkit/diagkit/diag"
)

// List returns a page of the owner's profiles, without their records. Profiles that are created or removed
// between two pages move no others. The error is a *[diag.InputError] or one of the store.
func List(ctx context.Context, _ *diag.Env, a Access, req ListRequest) (*ListReport, error) {
	limit, err := pageSize(req.Limit, defaultListLimit)
	if err != nil {
		return nil, err
	}
	after, err := parseCursor(profilePrefix, req.Cursor)
	if err != nil {
		return nil, err
	}
	page, err := a.Store.Profiles(ctx, ProfileQuery{Owner: a.Owner, Domain: req.Domain, After: after, Limit: limit + 1})
	if err != nil {
		return nil, err
	}
	report := &ListReport{Profiles: []Profile{}, Total: page.Total, HasMore: len(page.Profiles) > limit}
	for _, p := range page.Profiles[:min(limit, len(page.Profiles))] {
		p.Records = nil
		report.Profiles = append(report.Profiles, p)
	}
	if report.HasMore {
		last := report.Profiles[limit-1]
		report.NextCursor = Position{last.CreatedAt, last.ID}.cursor()
	}
	return report, nil
}

// pageSize returns the number of entries of a page.
func pageSize(limit, byDefault int) (int, error) {
	switch {
	case limit == 0:
		return byDefault, nil
	case limit < 0 || limit > maxLimit:
		return 0, diag.Invalid("limit", "must be from 1 to %d", maxLimit)
	default:
		return limit, nil
	}
}

// Show returns a profile. The error is [ErrNotFound] for an id that is malformed, unknown or another
// owner's, or one of the store.
func Show(ctx context.Context, _ *diag.Env, a Access, req ShowRequest) (*Profile, error) {
	return a.profile(ctx, req.ID)
}

// profile returns a profile that the owner may see, or [ErrNotFound].
func (a Access) profile(ctx context.Context, id string) (*Profile, error) {
	if !isID(profilePrefix, id) {
		return nil, ErrNotFound
	}
	p, err := a.Store.Profile(ctx, id)
	if err != nil {
		return nil, err
	}
	if a.Owner != AnyOwner && a.Owner != p.Owner {
		return nil, ErrNotFound
	}
	if p.Records == nil {
		p.Records = []Record{}
	}
	return &p, nil
}

// History returns a page of the resolutions of a profile, newest first. Resolutions that come between two pages move no
// others. The error is one of *[diag.InputError] or several joined, [ErrNotFound] as for [Show], or one of the store.
func History(ctx context.Context, _ *diag.Env, a Access, req HistoryRequest) (*HistoryReport, error) {
	limit, badLimit := pageSize(req.Limit, defaultHistoryLimit)
	before, badCursor := parseCursor(resolutionPrefix, req.Cursor)
	since, badSince := parseTime("since", req.Since)
	until, badUntil := parseTime("until", req.Until)
	if err := errors.Join(badLimit, badCursor, badSince, badUntil, checkStatus(req.Status)); err != nil {
		return nil, err
	}
	q := HistoryQuery{
		ProfileID: req.ID, Status: req.Status, Since: since, Until: until, Before: before, Limit: limit + 1,
	}
	if _, err := a.profile(ctx, req.ID); err != nil {
		return nil, err
	}
	items, err := a.Store.Resolutions(ctx, q)
	if err != nil {
		return nil, err
	}
	report := &HistoryReport{ProfileID: req.ID, Items: items, HasMore: len(items) > limit}
	if items == nil {
		report.Items = []Resolution{}
	}
	if report.HasMore {
		report.Items = items[:limit]
		last := items[limit-1]
		report.NextCursor = Position{last.ResolvedAt, last.ID}.cursor()
	}
	return report, nil
}

func checkStatus(s ResolutionStatus) error {
	switch s {
	case "", ResolutionChanged, ResolutionUnchanged, ResolutionFailed:
		return nil
	default:
		return diag.Invalid("status", "must be one of changed, unchanged, failed")
	}
}

// parseTime reads an optional time (RFC 3339). What is finer than stored times is rounded up: then since and
// until mean what they say.
func parseTime(field, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, diag.Invalid(field, "%.60q is not a time as in RFC 3339, such as 2026-01-15T12:00:00Z", s)
	}
	whole := t.UTC().Truncate(precision)
	if whole.Before(t) {
		whole = whole.Add(precision)
	}
	return whole, nil
}

// precision is that of stored times.
const precision = time.Microsecond

// now returns the present time as it is stored.
func now(env *diag.Env) time.Time { return env.Now().UTC().Truncate(precision) }
