package diag

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Within returns a context for one step of a diagnostic: it ends after the limit, or after nine tenths
// of what is left of ctx, so that what has been learned by then can still be reported.
func Within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, TimeLeft(ctx, limit))
}

// TimeLeft is the time that [Within] grants.
func TimeLeft(ctx context.Context, limit time.Duration) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		return min(limit, time.Until(end)*9/10)
	}
	return limit
}

// Timing says when a diagnostic ran. Reports embed it.
type Timing struct {
	CheckedAt  time.Time `json:"checked_at" doc:"when the check began"`
	DurationMS int64     `json:"duration_ms" min:"0" doc:"how long it took"`
}

// NewTiming returns the timing of what began and ended at these times.
func NewTiming(began, ended time.Time) Timing {
	return Timing{CheckedAt: began.UTC(), DurationMS: max(0, ended.Sub(began).Milliseconds())}
}

// Sentence makes a sentence of the text of an error, which may begin with a name and therefore keeps
// its first letter unless its first word is a common one.
func Sentence(s string) string {
	first, _, _ := strings.Cut(s, " ")
	if slices.Contains([]string{"a", "an", "the", "there", "that", "this", "no", "its", "more", "white"}, first) {
		s = strings.ToUpper(s[:1]) + s[1:]
	}
	return s + "."
}

// maxQuoted bounds what a sentence quotes from a record, in bytes.
const maxQuoted = 200

// Quote makes a text of strangers fit for a sentence: valid UTF-8, at most 200 bytes and an ellipsis,
// and quoted as Go does if it has control characters.
func Quote(s string) string {
	if len(s) > maxQuoted {
		s = strings.ToValidUTF8(s[:maxQuoted], "") + "…"
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.ContainsFunc(s, unicode.IsControl) {
		return fmt.Sprintf("%q", s)
	}
	return s
}
