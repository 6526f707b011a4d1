package diag

import "time"

// Timing records when a diagnostic ran. Reports embed it.
type Timing struct {
	CheckedAt  time.Time `json:"checked_at" doc:"when the check began"`
	DurationMS int64     `json:"duration_ms" min:"0" doc:"how long it took"`
}

// Began returns when the check began.
func (t Timing) Began() time.Time { return t.CheckedAt }

// NewTiming returns the timing of an operation. The start is truncated to whole seconds.
func NewTiming(began, ended time.Time) Timing {
	return Timing{CheckedAt: began.UTC().Truncate(time.Second), DurationMS: max(0, ended.Sub(began).Milliseconds())}
}
