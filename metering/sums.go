package metering

import "time"

// A Total is the sum of some charges.
type Total struct {
	Credits int64
	Charges int64
}

// Plus is the total of both.
func (t Total) Plus(o Total) Total { return Total{t.Credits + o.Credits, t.Charges + o.Charges} }

// Sums are the totals of an account's charges in a period, by each of three names. A name without a charge is missing.
type Sums struct {
	Last      int64            // the greatest Seq among them; what the call began behind where there is no charge
	Days      map[string]Total // by the date, in UTC, on which they were completed: "2026-11-16"
	Endpoints map[string]Total
	Keys      map[KeyID]Total
}

// NewSums is the sums of no charge, behind a Seq.
func NewSums(after int64) Sums {
	return Sums{after, map[string]Total{}, map[string]Total{}, map[KeyID]Total{}}
}

// Add adds charges to the sums, which [NewSums] has made.
func (s *Sums) Add(o Sums) {
	s.Last = max(s.Last, o.Last)
	addAll(s.Days, o.Days)
	addAll(s.Endpoints, o.Endpoints)
	addAll(s.Keys, o.Keys)
}

func addAll[K comparable](to, from map[K]Total) {
	for name, t := range from {
		to[name] = to[name].Plus(t)
	}
}

// AddEntry adds a charge.
func (s *Sums) AddEntry(e *Entry) {
	one := Total{e.Credits, 1}
	s.Last = max(s.Last, e.Seq)
	day := DayOf(e.At, e.Period)
	s.Days[day] = s.Days[day].Plus(one)
	s.Endpoints[e.Endpoint] = s.Endpoints[e.Endpoint].Plus(one)
	s.Keys[e.Key] = s.Keys[e.Key].Plus(one)
}

// DayOf is the date under which a charge of a period is summed: that of its completion, or the last of the period for
// one that was admitted before midnight and completed after it.
func DayOf(at time.Time, p Period) string {
	if end := p.End(); !at.Before(end) {
		at = end.Add(-time.Nanosecond)
	}
	return at.UTC().Format(time.DateOnly)
}

// An HourSum is the total charged to a key in an hour.
type HourSum struct {
	Key     KeyID
	Hour    time.Time // when it began, in UTC
	Credits int64
}
