package hostedspf

import (
	"context"
	"math"
	"net/netip"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
)

// An Owner identifies the owner of a profile. With rotated keys it is the id of the first key of the line; here it is
// any text that is not empty.
type Owner string

// AnyOwner means all owners: administration sees all profiles. No profile belongs to it.
const AnyOwner Owner = "*"

// A Status is the state of a profile.
type Status string

// The statuses.
const (
	Active Status = "active" // resolved on schedule
	Paused Status = "paused" // resolved on demand only; the published records remain
	Failed Status = "error"  // the last resolution failed; the last good records remain published
)

// Values lists the statuses.
func (Status) Values() []string { return kit.Values(Active, Paused, Failed) }

// DefaultInterval is the refresh interval of a profile that sets none, in seconds.
const DefaultInterval = 3600

// The bounds of a refresh interval, in seconds. Services announce new addresses days ahead, and their
// records live for 5 minutes at least.
const (
	minInterval = 300
	maxInterval = 86400
)

// A Profile is a source record and its resolution. Times are in UTC, in whole microseconds; a zero optional time is
// not yet reached.
type Profile struct {
	ID     string      `json:"id" doc:"name of the profile: spf_ and 26 characters" example:"spf_mn4zq2vtw6k7y3cx5hbd2jfgla"`
	Domain diag.Domain `json:"domain" doc:"the domain whose senders it lists" example:"example.com"`
	Name   string      `json:"name" doc:"what its owner calls it"`
	Status Status      `json:"status" doc:"error: the last resolution failed, and the last good records stay published"`
	// SourceRecord is the record that is resolved. It may differ from the published record.
	SourceRecord string `json:"source_record" doc:"the record that is resolved" example:"v=spf1 include:_spf.example.net -all"`
	// FlattenedRecord is the whole set as one record, which may be longer than one that can be published.
	// It is empty until a resolution succeeds.
	FlattenedRecord string `json:"flattened_record" doc:"the flattened record, as one text; empty until a resolution succeeds"`
	// IncludeHost is the name of the first record of the set.
	IncludeHost diag.Name `json:"include_host" doc:"the name to which the domain's own record leads" example:"k3v2.spf.example.net"`
	// Records are published; the first is that of IncludeHost. They are nil in lists of profiles.
	Records []Record `json:"records,omitzero" maxitems:"9" doc:"the TXT records that are published; absent in lists of profiles"`

	LookupsBefore int    `json:"dns_lookups_before" min:"0" doc:"terms that need the DNS, behind the source record"`
	LookupsAfter  int    `json:"dns_lookups_after" min:"0" doc:"those of a record that leads to include_host, with that term itself"`
	IP4Count      int    `json:"ip4_count" min:"0" doc:"number of IPv4 networks that the flattened record authorizes"`
	IP6Count      int    `json:"ip6_count" min:"0" doc:"number of IPv6 networks that the flattened record authorizes"`
	RecordHash    string `json:"record_hash" doc:"SHA-256 of the published records, in hexadecimal; empty until a resolution succeeds"`

	IntervalSeconds int `json:"refresh_interval_seconds" min:"300" max:"86400" doc:"how often it is resolved; the moment varies by a tenth of that"`

	LastResolvedAt time.Time `json:"last_resolved_at,omitzero" doc:"when a resolution last succeeded"`
	LastChangedAt  time.Time `json:"last_changed_at,omitzero" doc:"when the published records last changed"`
	NextResolveAt  time.Time `json:"next_resolve_at,omitzero" doc:"when it is due; absent while it is paused"`
	LastError      string    `json:"last_error,omitempty" doc:"why the last resolution failed"`
	CreatedAt      time.Time `json:"created_at" doc:"when it was created"`
	UpdatedAt      time.Time `json:"updated_at" doc:"when anything about it last changed"`

	// Use is set where a profile is shown for itself.
	Use Use `json:"use,omitzero" doc:"whether the domain uses the records; only where one profile is asked for"`

	Owner    Owner `json:"-"` // its owner
	Failures int   `json:"-"` // resolutions that failed since the last that succeeded
	IsPaused bool  `json:"-"` // whether it was paused, whatever the last resolution did
	// Parts are served beside the records: the sets that the records name, and those that earlier records named.
	Parts []Part `json:"-"`
}

// MaxTTL is the longest time for which a resolver may cache published records, and Retention is how long parts are
// served after the record that named them was replaced: two such lifetimes, and the four hours after which a
// secondary name server checks for changes at the latest.
//
// A resolver that caches the old record for one more lifetime may look up its parts at the end, so without them a
// change would refuse mail (RFC 7208 section 5.2: an include of nothing is a permerror).
const (
	MaxTTL    = time.Hour
	Retention = 2*MaxTTL + 4*time.Hour
)

// A Part is something that is served below an include host beside its records. Its name derives from its content. One
// with the name of the include host itself is a first record that was replaced, [Retention] before its end: a name
// server that has secondaries serves it until these have the parts that the new one names.
type Part struct {
	Name     string         `json:"name"`
	Value    string         `json:"value,omitempty"`    // text of a TXT record; empty for a set
	Networks []netip.Prefix `json:"networks,omitempty"` // of a set: an address in it has an A record below the name
	Until    time.Time      `json:"until,omitzero"`     // end of its service; zero while a record names it
}

// A Record is one TXT record of the published set.
type Record struct {
	Name        string `json:"name" doc:"name of the record, without a final dot" example:"k3v2.spf.example.net"`
	Value       string `json:"value" doc:"its text; where it is longer than 255 bytes it is published in several character-strings" example:"v=spf1 ip4:192.0.2.0/24 -all"`
	LengthBytes int    `json:"length_bytes" min:"0" max:"449" doc:"length of the text"`
}

// Clone returns a copy that shares no memory with p.
func (p Profile) Clone() Profile {
	p.Records, p.Parts = slices.Clone(p.Records), cloneParts(p.Parts)
	return p
}

func cloneParts(parts []Part) []Part {
	parts = slices.Clone(parts)
	for i := range parts {
		parts[i].Networks = slices.Clone(parts[i].Networks)
	}
	return parts
}

func (p *Profile) status() Status {
	switch {
	case p.IsPaused:
		return Paused
	case p.LastError != "":
		return Failed
	default:
		return Active
	}
}

// A Trigger is the reason for a resolution.
type Trigger string

// The triggers.
const (
	Scheduled Trigger = "scheduled" // it was due
	Manual    Trigger = "manual"    // on request, or when the profile was created
)

// Values lists the triggers.
func (Trigger) Values() []string { return kit.Values(Scheduled, Manual) }

// A ResolutionStatus is the outcome of a resolution.
type ResolutionStatus string

// The ways a resolution ends.
const (
	ResolutionChanged   ResolutionStatus = "changed"   // other records are published now
	ResolutionUnchanged ResolutionStatus = "unchanged" // the records are as before
	ResolutionFailed    ResolutionStatus = "failed"    // the records are unchanged, because nothing else is known
)

// Values lists the ways.
func (ResolutionStatus) Values() []string {
	return kit.Values(ResolutionChanged, ResolutionUnchanged, ResolutionFailed)
}

// maxDifferences bounds each of the lists of networks in a [Resolution]. A set of records holds fewer than
// 400 networks, but the difference of two can fall into more.
const maxDifferences = 1000

// A Resolution is one entry of the history of a profile.
type Resolution struct {
	ID         string           `json:"id" doc:"name of the entry: res_ and 26 characters"`
	ProfileID  string           `json:"profile_id" doc:"the profile"`
	ResolvedAt time.Time        `json:"resolved_at" doc:"when it ended"`
	Trigger    Trigger          `json:"trigger" doc:"why it was made"`
	Status     ResolutionStatus `json:"status" doc:"how it ended"`
	DurationMS int64            `json:"duration_ms" min:"0" doc:"how long it took"`
	DNSLookups int              `json:"dns_lookups" min:"0" doc:"terms that need the DNS, behind the source record, as far as they were seen"`
	Added      []string         `json:"added" maxitems:"1000" doc:"networks that are authorized now and were not before, the first 1000"`
	Removed    []string         `json:"removed" maxitems:"1000" doc:"networks that were authorized before and are not now, the first 1000"`
	IP4Count   int              `json:"ip4_count" min:"0" doc:"number of IPv4 networks that are authorized now"`
	IP6Count   int              `json:"ip6_count" min:"0" doc:"number of IPv6 networks that are authorized now"`
	RecordHash string           `json:"record_hash" doc:"SHA-256 of the records that are published now; empty if there are none"`
	Error      string           `json:"error,omitempty" doc:"why it failed"`
}

// Clone returns a copy that shares no memory with r. Its lists are not nil.
func (r Resolution) Clone() Resolution {
	r.Added = append([]string{}, r.Added...)
	r.Removed = append([]string{}, r.Removed...)
	return r
}

const (
	day   = 24 * time.Hour
	week  = 7 * day
	month = 30 * day
)

// maxSamples bounds the resolutions that statistics read, the newest first: every five minutes for thirty days is
// 8640.
const maxSamples = 100_000

// A sample is the part of a resolution that statistics need.
type sample struct {
	at             time.Time
	status         ResolutionStatus
	durationMS     int64
	lookups        int
	added, removed int // networks
	addresses      int
}

// samples reads the resolutions of a profile since a time, the newest first.
func (a Access) samples(ctx context.Context, id string, since time.Time) (list []sample, err error) {
	q := HistoryQuery{ProfileID: id, Since: since, Limit: maxLimit}
	for len(list) < maxSamples {
		page, err := a.Store.Resolutions(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, r := range page {
			list = append(list, sample{r.ResolvedAt, r.Status, r.DurationMS, r.DNSLookups, len(r.Added), len(r.Removed),
				r.IP4Count + r.IP6Count})
			q.Before = Position{r.ResolvedAt, r.ID}
		}
		if len(page) < q.Limit {
			break
		}
	}
	return list, nil
}

func sumUp(samples []sample, from, to time.Time) Window {
	w := Window{From: from, To: to}
	var durations []int64
	var sum int64
	for _, s := range samples {
		if s.at.Before(from) || s.at.After(to) {
			continue
		}
		w.Resolutions++
		switch s.status {
		case ResolutionFailed:
			w.Failures++
		case ResolutionChanged:
			w.Changes++
		}
		w.IPsAdded += s.added
		w.IPsRemoved += s.removed
		w.MaxDNSLookups = larger(w.MaxDNSLookups, s.lookups)
		w.MaxIPCount = larger(w.MaxIPCount, s.addresses)
		durations = append(durations, s.durationMS)
		sum += s.durationMS
	}
	w.Successes = w.Resolutions - w.Failures
	if n := len(durations); n > 0 {
		w.SuccessPercent = new(twoDigits(100 * float64(w.Successes) / float64(n)))
		w.AverageDurationMS = new(twoDigits(float64(sum) / float64(n)))
		w.P95DurationMS = new(percentile(durations, 95))
	}
	return w
}

func larger(most *int, n int) *int {
	if most == nil || n > *most {
		return &n
	}
	return most
}

func twoDigits(f float64) float64 { return math.Round(f*100) / 100 }

// percentile returns the nearest rank: the smallest value of which at least the given percentage of all
// values are no larger. It sorts the list, which must not be empty.
func percentile(list []int64, percent int) int64 {
	slices.Sort(list)
	rank := (len(list)*percent + 99) / 100
	return list[rank-1]
}
