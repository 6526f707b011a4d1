package metering

import "time"

// A Total is the sum of some charges.
type Total struct {
	Credits int64
	Charges int64
}

// Plus returns the total of both.
func (t Total) Plus(o Total) Total { return Total{t.Credits + o.Credits, t.Charges + o.Charges} }

// Sums are the totals of charges, by each of three names. A name without a charge is missing.
type Sums struct {
	Last      int64               // the greatest Seq among them; After of the filter if there is no charge
	Hours     map[time.Time]Total // by the hour in which they were completed: its beginning, in UTC; see [HourOf]
	Endpoints map[string]Total
	Keys      map[KeyID]Total
}

// NewSums returns the sums of no charges, which begin after a Seq.
func NewSums(after int64) Sums {
	return Sums{after, map[time.Time]Total{}, map[string]Total{}, map[KeyID]Total{}}
}

// Add adds charges to the sums, which [NewSums] has made.
func (s *Sums) Add(o Sums) {
	s.Last = max(s.Last, o.Last)
	addAll(s.Hours, o.Hours)
	addAll(s.Endpoints, o.Endpoints)
	addAll(s.Keys, o.Keys)
}

func addAll[K comparable](to, from map[K]Total) {
	for name, t := range from {
		to[name] = to[name].Plus(t)
	}
}

// AddEntry adds a charge that was selected from a period, or where that is nil from all.
func (s *Sums) AddEntry(e *Entry, p *Period) {
	one := Total{e.Credits, 1}
	s.Last = max(s.Last, e.Seq)
	hour := HourOf(e.At, p)
	s.Hours[hour] = s.Hours[hour].Plus(one)
	s.Endpoints[e.Endpoint] = s.Endpoints[e.Endpoint].Plus(one)
	s.Keys[e.Key] = s.Keys[e.Key].Plus(one)
}

// HourOf returns the hour under which a charge is summed: that of its completion. In the sums of a period, a charge
// that was admitted in the period and completed after it counts to its last hour.
func HourOf(at time.Time, p *Period) time.Time {
	at = at.UTC().Truncate(time.Hour)
	if p == nil || at.Before(p.End()) {
		return at
	}
	return p.End().Add(-time.Hour)
}

// An HourSum is the total charged to a key in an hour.
type HourSum struct {
	Key     KeyID
	Hour    time.Time // when it began, in UTC
	Credits int64
}
