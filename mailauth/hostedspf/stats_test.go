package hostedspf

import (
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/view"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestSumUp(t *testing.T) {
	to := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	from := to.Add(-day)
	at := func(before time.Duration, s ResolutionStatus, ms int64, lookups, added, removed, v4, v6 int) sample {
		return sample{to.Add(-before), s, ms, lookups, added, removed, v4 + v6}
	}
	samples := []sample{
		at(-time.Microsecond, ResolutionChanged, 9000, 99, 99, 99, 99, 99), // after the end
		at(0, ResolutionChanged, 100, 12, 5, 2, 20, 4),
		at(time.Hour, ResolutionUnchanged, 300, 11, 0, 0, 17, 8),
		at(2*time.Hour, ResolutionFailed, 15000, 4, 0, 0, 17, 4),
		at(day, ResolutionChanged, 200, 12, 17, 0, 17, 4),
		at(day+time.Microsecond, ResolutionFailed, 9000, 99, 99, 99, 99, 99), // before the beginning
	}
	require.Equal(t, Window{
		From: from, To: to, Resolutions: 4, Successes: 3, Failures: 1, Changes: 2,
		SuccessPercent: new(75.0), AverageDurationMS: new(3900.0), P95DurationMS: new(int64(15000)),
		IPsAdded: 22, IPsRemoved: 2, MaxDNSLookups: new(12), MaxIPCount: new(25),
	}, sumUp(samples, from, to))
	require.Equal(t, Window{From: from, To: to}, sumUp(nil, from, to), "nothing is divided by nothing")
	require.Equal(t, new(33.33), sumUp([]sample{
		at(0, ResolutionFailed, 0, 0, 0, 0, 0, 0), at(0, ResolutionFailed, 0, 0, 0, 0, 0, 0),
		at(0, ResolutionUnchanged, 1, 0, 0, 0, 0, 0),
	}, from, to).SuccessPercent)
}

// A profile whose resolutions all fail is not shown as a good one.
func TestStatsViewOfFailures(t *testing.T) {
	for name, c := range map[string]struct {
		day, month Window
		want       view.Mark
	}{
		"none":               {Window{}, Window{}, view.Optional},
		"all failed today":   {Window{Resolutions: 3, Failures: 3}, Window{Resolutions: 9, Successes: 6, Failures: 3}, view.Error},
		"all failed earlier": {Window{}, Window{Resolutions: 3, Failures: 3}, view.Error},
		"some failed":        {Window{Resolutions: 3, Successes: 1, Failures: 2}, Window{Resolutions: 3, Successes: 1, Failures: 2}, view.Good},
	} {
		report := &StatsReport{}
		report.Windows.Last24h, report.Windows.Last30d = c.day, c.month
		require.Equal(t, c.want, report.View().Mark(), name)
	}
}

func TestPercentile(t *testing.T) {
	numbers := func(n int) []int64 {
		var list []int64
		for i := n; i > 0; i-- {
			list = append(list, int64(i))
		}
		return list
	}
	for n, want := range map[int]int64{1: 1, 2: 2, 19: 19, 20: 19, 21: 20, 40: 38, 100: 95, 101: 96} {
		require.Equal(t, want, percentile(numbers(n), 95), "of %d", n)
	}
	// The nearest rank is the smallest value that enough others do not exceed.
	rapid.Check(t, func(r *rapid.T) {
		list := rapid.SliceOfN(rapid.Int64Range(0, 30), 1, 60).Draw(r, "list")
		percent := rapid.IntRange(1, 100).Draw(r, "percent")
		reached := func(v int64) bool {
			count := 0
			for _, x := range list {
				if x <= v {
					count++
				}
			}
			return 100*count >= percent*len(list)
		}
		got := percentile(list, percent)
		require.Contains(r, list, got)
		require.True(r, reached(got))
		require.False(r, reached(got-1))
	})
}

// Cursors lead back to where they were made, and nothing else is one.
func FuzzCursor(f *testing.F) {
	good := Position{time.UnixMicro(1768478400000001).UTC(), newID(profilePrefix)}
	f.Add(*good.cursor())
	f.Add("")
	f.Add("MSxzcGZfYQ")
	f.Add("LTAsc3BmX2FhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := parseCursor(profilePrefix, s)
		if err != nil {
			require.True(t, p.IsZero())
			return
		}
		if s == "" {
			require.True(t, p.IsZero())
			return
		}
		require.Equal(t, s, *p.cursor())
		require.True(t, isID(profilePrefix, p.ID))
	})
}

func TestCursor(t *testing.T) {
	for _, at := range []time.Time{time.UnixMicro(0), time.Date(2026, 1, 15, 12, 0, 0, 123456000, time.UTC),
		time.UnixMicro(-1)} {
		p := Position{at.UTC(), newID(profilePrefix)}
		got, err := parseCursor(profilePrefix, *p.cursor())
		require.NoError(t, err)
		require.Equal(t, p, got)
		_, err = parseCursor(resolutionPrefix, *p.cursor())
		require.Error(t, err, "a cursor is for its own list")
		require.LessOrEqual(t, len(*p.cursor()), maxCursor)
	}
}

func TestNewID(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		id := newID(profilePrefix)
		require.Regexp(t, `^spf_[a-z2-7]{26}$`, id)
		require.True(t, isID(profilePrefix, id))
		require.False(t, seen[id])
		seen[id] = true
	}
}
