package hostedspf

import (
	"math"
	"slices"
	"time"
)

// The spans of the statistics.
const (
	day   = 24 * time.Hour
	week  = 7 * day
	month = 30 * day
)

// maxSamples bounds the resolutions that statistics look at, the newest first: every five minutes for thirty
// days is 8640.
const maxSamples = 100_000

func sumUp(samples []Sample, from, to time.Time) Window {
	w := Window{From: from, To: to}
	var durations []int64
	var sum int64
	for _, s := range samples {
		if s.ResolvedAt.Before(from) || s.ResolvedAt.After(to) {
			continue
		}
		w.Resolutions++
		switch s.Status {
		case ResolutionFailed:
			w.Failures++
		case ResolutionChanged:
			w.Changes++
		}
		w.IPsAdded += s.Added
		w.IPsRemoved += s.Removed
		w.MaxDNSLookups = larger(w.MaxDNSLookups, s.DNSLookups)
		w.MaxIPCount = larger(w.MaxIPCount, s.IP4Count+s.IP6Count)
		durations = append(durations, s.DurationMS)
		sum += s.DurationMS
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
