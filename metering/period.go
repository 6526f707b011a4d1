package metering

import (
	"cmp"
	"fmt"
	"time"
)

// A Period is a UTC calendar month. It is comparable; its text form is "2026-01".
type Period struct {
	Year  int
	Month time.Month
}

// PeriodOf returns the month of an instant, in UTC.
func PeriodOf(t time.Time) Period {
	y, m, _ := t.UTC().Date()
	return Period{y, m}
}

// Start returns the first instant of the month.
func (p Period) Start() time.Time { return time.Date(p.Year, p.Month, 1, 0, 0, 0, 0, time.UTC) }

// End returns the first instant after the month.
func (p Period) End() time.Time { return time.Date(p.Year, p.Month+1, 1, 0, 0, 0, 0, time.UTC) }

// Previous returns the preceding month.
func (p Period) Previous() Period { return PeriodOf(p.Start().AddDate(0, -1, 0)) }

// Next returns the following month.
func (p Period) Next() Period { return PeriodOf(p.End()) }

// Before reports whether the month is earlier than another.
func (p Period) Before(other Period) bool { return p.Compare(other) < 0 }

// Compare returns a negative number if the month is earlier than another, a positive one if it is later, and 0 if both
// are equal.
func (p Period) Compare(other Period) int {
	return cmp.Or(cmp.Compare(p.Year, other.Year), cmp.Compare(p.Month, other.Month))
}

// Number returns the month as stores keep it: in months since the year 0.
func (p Period) Number() int64 { return int64(p.Year)*12 + int64(p.Month) - 1 }

// PeriodNumbered returns the month with a number, see [Period.Number].
func PeriodNumbered(n int64) Period { return Period{int(n / 12), time.Month(n%12 + 1)} }

func (p Period) String() string { return fmt.Sprintf("%04d-%02d", p.Year, int(p.Month)) }

// MarshalText implements [encoding.TextMarshaler].
func (p Period) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (p *Period) UnmarshalText(text []byte) error {
	if string(text) == (Period{}).String() {
		*p = Period{}
		return nil
	}
	t, err := time.Parse("2006-01", string(text))
	if err != nil {
		return fmt.Errorf("a period is a year and a month, such as 2026-01, not %q", text)
	}
	*p = PeriodOf(t)
	return nil
}

// Anniversary returns the n-th monthly anniversary of an instant, in its location and at its time of
// day. It is counted from the anchor and never from the anniversary before: so the 31st becomes the
// 30th in a month of 30 days and the 31st again in the next. n may be negative.
func Anniversary(anchor time.Time, n int) time.Time {
	year, month, day := anchor.Date()
	first := month + time.Month(n) // time.Date normalises a month beyond December
	last := time.Date(year, first+1, 0, 0, 0, 0, 0, time.UTC).Day()
	hour, minute, second := anchor.Clock()
	return time.Date(year, first, min(day, last), hour, minute, second, anchor.Nanosecond(), anchor.Location())
}
