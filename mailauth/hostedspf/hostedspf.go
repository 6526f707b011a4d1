package hostedspf

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/input"
)

// Access is the context of an operation on profiles.
type Access struct {
	Store Store
	Owner Owner // whose profiles are visible; [AnyOwner] sees all, and the empty owner none
	// Zone is the zone that the bundled name server serves, without secondaries: terms published there that do not
	// fit into records become sets of addresses for which it answers. If zero, there are no such sets.
	Zone diag.Name
	// Notify, if set, is called with each event of a profile, after it was stored.
	Notify func(Event)
}

const (
	defaultListLimit    = 50
	defaultHistoryLimit = 20
	maxLimit            = 100
)

// ListRequest requests the profiles of an owner.
type ListRequest struct {
	Limit  int         `json:"limit,omitempty" in:"query" default:"50" min:"1" max:"100" doc:"how many profiles at most"`
	Cursor string      `json:"cursor,omitempty" in:"query" maxlen:"200" doc:"next_cursor of the page before; if absent, the first page"`
	Domain diag.Domain `json:"domain,omitempty" in:"query" doc:"if given, only profiles of this domain" example:"example.com"`
}

// ListReport is a page of profiles, by creation time and id.
type ListReport struct {
	Profiles   []Profile `json:"profiles" maxitems:"100" doc:"the profiles, without their records"`
	NextCursor *string   `json:"next_cursor" doc:"cursor of the next page; null on the last"`
	HasMore    bool      `json:"has_more" doc:"whether there is another page"`
	Total      int       `json:"total" min:"0" doc:"number of profiles on all pages"`
}

// ShowRequest requests one profile.
type ShowRequest struct {
	ID string `json:"id" in:"path" doc:"the profile" example:"spf_mn4zq2vtw6k7y3cx5hbd2jfgla"`
}

// HistoryRequest requests the resolutions of a profile.
type HistoryRequest struct {
	ID     string           `json:"id" in:"path" doc:"the profile" example:"spf_mn4zq2vtw6k7y3cx5hbd2jfgla"`
	Limit  int              `json:"limit,omitempty" in:"query" default:"20" min:"1" max:"100" doc:"how many entries at most"`
	Cursor string           `json:"cursor,omitempty" in:"query" maxlen:"200" doc:"next_cursor of the page before; if absent, the first page"`
	Status ResolutionStatus `json:"status,omitempty" in:"query" doc:"if given, only resolutions that ended so"`
	Since  string           `json:"since,omitempty" in:"query" maxlen:"40" doc:"if given, only resolutions at or after this time (RFC 3339)" example:"2026-01-15T00:00:00Z"`
	Until  string           `json:"until,omitempty" in:"query" maxlen:"40" doc:"if given, only resolutions before this time (RFC 3339)" example:"2026-01-16T00:00:00Z"`
}

// HistoryReport is a page of resolutions, newest first.
type HistoryReport struct {
	ProfileID  string       `json:"profile_id" doc:"the profile"`
	Items      []Resolution `json:"items" maxitems:"100" doc:"the resolutions, newest first"`
	NextCursor *string      `json:"next_cursor" doc:"cursor of the next page; null on the last"`
	HasMore    bool         `json:"has_more" doc:"whether there is another page"`
}

// StatsRequest requests statistics of a profile.
type StatsRequest struct {
	ID string `json:"id" in:"path" doc:"the profile" example:"spf_mn4zq2vtw6k7y3cx5hbd2jfgla"`
}

// StatsReport has the statistics of a profile.
type StatsReport struct {
	ProfileID   string    `json:"profile_id" doc:"the profile"`
	GeneratedAt time.Time `json:"generated_at" doc:"when the statistics were made"`
	Windows     Windows   `json:"windows" doc:"statistics by span of time"`
}

// Windows are the spans of time of the statistics; each ends when they were made.
type Windows struct {
	Last24h Window `json:"last_24h" doc:"the last 24 hours"`
	Last7d  Window `json:"last_7d" doc:"the last 7 times 24 hours"`
	Last30d Window `json:"last_30d" doc:"the last 30 times 24 hours"`
}

// A Window sums up the resolutions in a span of time. What cannot be computed without any is nil.
type Window struct {
	From              time.Time `json:"from" doc:"start of the span, included"`
	To                time.Time `json:"to" doc:"end of the span, included"`
	Resolutions       int       `json:"resolutions_count" min:"0" doc:"number of resolutions"`
	Successes         int       `json:"success_count" min:"0" doc:"number of those that succeeded"`
	Failures          int       `json:"failure_count" min:"0" doc:"number of those that failed"`
	Changes           int       `json:"change_count" min:"0" doc:"number of those after which other records were published"`
	SuccessPercent    *float64  `json:"success_percent" min:"0" max:"100" doc:"share of those that succeeded, to two digits"`
	AverageDurationMS *float64  `json:"average_duration_ms" min:"0" doc:"mean duration, to two digits"`
	P95DurationMS     *int64    `json:"p95_duration_ms" min:"0" doc:"the shortest duration that 95 percent of all do not exceed (nearest rank)"`
	IPsAdded          int       `json:"ips_added_count" min:"0" doc:"networks that were added, in all resolutions together"`
	IPsRemoved        int       `json:"ips_removed_count" min:"0" doc:"networks that were removed, in all resolutions together"`
	MaxDNSLookups     *int      `json:"max_dns_lookups" min:"0" doc:"most terms that needed the DNS, behind the source record"`
	MaxIPCount        *int      `json:"max_ip_count" min:"0" doc:"most networks of both families that were authorized"`
}

// ResolveRequest requests a resolution of a profile.
type ResolveRequest struct {
	ID string `json:"id" in:"path" doc:"the profile" example:"spf_mn4zq2vtw6k7y3cx5hbd2jfgla"`
}

// ResolveReport holds the outcome of a resolution. If it failed, the profile is as it was published before.
type ResolveReport struct {
	Profile    Profile    `json:"profile" doc:"the profile as it is now"`
	Resolution Resolution `json:"resolution" doc:"the entry in its history"`
	Partial    bool       `json:"partial" doc:"whether a name server left a question unanswered"`
	diag.Verdict
}

// CreateRequest describes a new profile.
type CreateRequest struct {
	Domain diag.Domain `json:"domain" doc:"the domain whose senders it lists" example:"example.com"`
	Name   string      `json:"name,omitempty" maxlen:"100" doc:"what its owner calls it; if absent, the domain"`
	// SourceRecord is the record to resolve. If empty it is that which the domain publishes now.
	SourceRecord string `json:"source_record,omitempty" maxlen:"8192" doc:"the record to resolve; if absent, that which the domain publishes now"`
	// Exactly one of IncludeHost and Zone is given. With a zone, the include host is a new name in it.
	IncludeHost diag.Name `json:"include_host,omitempty" oneof:"host" doc:"the name of the first published record" example:"_flat.example.net"`
	Zone        diag.Name `json:"zone,omitempty" oneof:"host" doc:"the zone in which a name is chosen" example:"spf.example.net"`

	IntervalSeconds int `json:"refresh_interval_seconds,omitempty" default:"3600" min:"300" max:"86400" doc:"how often it is resolved"`
}

// An EventType is the type of an event of a profile.
type EventType string

// The events.
const (
	ProfileCreated   EventType = "spf.profile_created"
	ProfileChanged   EventType = "spf.profile_changed"   // other records are published
	ProfileFailed    EventType = "spf.profile_failed"    // the first failure after a success
	ProfileRecovered EventType = "spf.profile_recovered" // the first success after a failure
	ProfileRemoved   EventType = "spf.profile_removed"
)

// An Event is a change that the owner of a profile may want to know.
type Event struct {
	Type       EventType
	Profile    Profile    // as it is then
	Resolution Resolution // of changed, failed and recovered, and of created
}

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

func pageSize(limit, byDefault int) (int, error) {
	switch {
	case limit == 0:
		return byDefault, nil
	case limit < 0 || limit > maxLimit:
		return 0, input.Invalid("limit", "must be from 1 to %d", maxLimit)
	default:
		return limit, nil
	}
}

// Show returns a profile, with whether its domain uses it. The error is [ErrNotFound] for an id that is malformed,
// unknown or another owner's, or one of the store.
func Show(ctx context.Context, env *diag.Env, a Access, req ShowRequest) (*Profile, error) {
	p, err := a.Profile(ctx, req.ID)
	if err == nil {
		p.Use = p.LookupUse(ctx, env)
	}
	return p, err
}

// Profile returns a profile as it is stored. The error is [ErrNotFound] as for [Show], or one of the store.
func (a Access) Profile(ctx context.Context, id string) (*Profile, error) {
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
	if _, err := a.Profile(ctx, req.ID); err != nil {
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

// Stats sums up the resolutions of a profile in the last 24 hours, 7 days and 30 days. The error is
// [ErrNotFound] as for [Show], or one of the store.
func Stats(ctx context.Context, env *diag.Env, a Access, req StatsRequest) (*StatsReport, error) {
	if _, err := a.Profile(ctx, req.ID); err != nil {
		return nil, err
	}
	at := now(env)
	samples, err := a.samples(ctx, req.ID, at.Add(-month))
	if err != nil {
		return nil, err
	}
	return &StatsReport{
		ProfileID: req.ID, GeneratedAt: at,
		Windows: Windows{
			Last24h: sumUp(samples, at.Add(-day), at), Last7d: sumUp(samples, at.Add(-week), at),
			Last30d: sumUp(samples, at.Add(-month), at),
		},
	}, nil
}

// Resolve resolves a profile now, whether or not it is due or paused, and waits for that. If it is being
// resolved, it waits for the end of that first.
//
// Unanswered queries or a broken source record are not an error: the report says so, and the published records
// remain. The error is [ErrNotFound] as for [Show], that of the context if it ended or leaves less than three
// seconds, or one of the store; then nothing has changed.
func Resolve(ctx context.Context, env *diag.Env, a Access, req ResolveRequest) (*ResolveReport, error) {
	if _, err := a.Profile(ctx, req.ID); err != nil {
		return nil, err
	}
	return a.work(env).resolveNow(ctx, req.ID)
}

func checkStatus(s ResolutionStatus) error {
	if s != "" && !slices.Contains(s.Values(), string(s)) {
		return input.Invalid("status", "must be one of %s", strings.Join(s.Values(), ", "))
	}
	return nil
}

// parseTime reads an optional time (RFC 3339). Precision beyond stored times is rounded up, so that since and until
// are exact.
func parseTime(field, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, input.Invalid(field, "%.60q is not a time as in RFC 3339, such as 2026-01-15T12:00:00Z", s)
	}
	whole := t.UTC().Truncate(precision)
	if whole.Before(t) {
		whole = whole.Add(precision)
	}
	return whole, nil
}

// precision is that of stored times.
const precision = time.Microsecond

func now(env *diag.Env) time.Time { return env.Now().UTC().Truncate(precision) }

// The names of profiles and of entries in their histories are a prefix and 26 characters of lower-case base32: 130
// bits, so that no two collide.
const (
	profilePrefix    = "spf_"
	resolutionPrefix = "res_"
	idLength         = 26
	alphabet         = "abcdefghijklmnopqrstuvwxyz234567"
)

func newID(prefix string) string { return prefix + strings.ToLower(rand.Text()[:idLength]) }

// random returns a number from 0 up to 1. It is drawn where ids are drawn, so that a test which seeds
// that one source repeats a resolution to the byte.
func random() float64 {
	var bits [8]byte
	_, _ = rand.Read(bits[:]) // never fails
	const precision = 53      // bits that a float64 holds without rounding
	return float64(binary.BigEndian.Uint64(bits[:])>>(64-precision)) / (1 << precision)
}

func isID(prefix, s string) bool {
	rest, ok := strings.CutPrefix(s, prefix)
	return ok && len(rest) == idLength && strings.Trim(rest, alphabet) == ""
}

// cursor encodes a position for a client, as an opaque text.
func (p Position) cursor() *string {
	return new(base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.Time.UnixMicro(), 10) + "," + p.ID)))
}

// parseCursor reads a cursor of a list of entries whose ids have the prefix. The empty cursor is the
// beginning. The error is a *[diag.InputError].
func parseCursor(prefix, s string) (Position, error) {
	if s == "" {
		return Position{}, nil
	}
	bad := input.Invalid("cursor", "is not one that this list gave out")
	if len(s) > maxCursor {
		return Position{}, bad
	}
	text, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil {
		return Position{}, bad
	}
	micros, id, _ := strings.Cut(string(text), ",")
	n, err := strconv.ParseInt(micros, 10, 64)
	if err != nil || !isID(prefix, id) {
		return Position{}, bad
	}
	p := Position{time.UnixMicro(n).UTC(), id}
	if *p.cursor() != s {
		return Position{}, bad
	}
	return p, nil
}

// maxCursor bounds a cursor, in bytes: a number of 20 digits, a comma and an id have 51, and a third more in base64.
const maxCursor = 80
