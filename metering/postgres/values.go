package postgres

import (
	"time"

	"github.com/diagkit/diagkit/metering"
)

// micros returns an instant as it is stored.
func micros(t time.Time) int64 { return t.UnixMicro() }

func instant(us int64) time.Time { return time.UnixMicro(us).UTC() }

// optional stores an instant that may be missing.
func optional(t *time.Time) *int64 {
	if t == nil || t.IsZero() {
		return nil
	}
	return new(micros(*t))
}

func optionalInstant(us *int64) *time.Time {
	if us == nil {
		return nil
	}
	return new(instant(*us))
}

// monthNumber returns a period as it is stored: months since the year 0.
func monthNumber(p metering.Period) int32 { return int32(p.Number()) }

func periodOf(number int32) metering.Period { return metering.PeriodNumbered(int64(number)) }

// chainOf returns a stored link; NULL is the zero Chain.
func chainOf(b []byte) (c metering.Chain) { copy(c[:], b); return c }
