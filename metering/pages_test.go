package metering_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/require"
)

// What was completed since an instant has a higher number, also where numbers are missing and where the order of commits
// is not quite that of completion; and few charges are looked at.
func TestSeqSince(t *testing.T) {
	began := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	type charge struct {
		seq int64
		at  time.Time
	}
	var list []charge
	for i := range int64(10_000) {
		if i%1000 < 10 || i > 5000 && i < 6000 { // of others, or pruned
			continue
		}
		at := began.Add(time.Duration(i) * time.Minute)
		if i%7 == 0 {
			at = at.Add(-20 * time.Minute)
		}
		list = append(list, charge{i + 1, at})
	}
	for _, hours := range []time.Duration{-10, 0, 1, 24, 80, 83, 84, 90, 100, 160, 166, 167, 1000} {
		since := began.Add(hours * time.Hour)
		looks := 0
		found, err := metering.SeqSince(list[len(list)-1].seq, since, func(seq int64) (time.Time, error) {
			looks++
			i, _ := slices.BinarySearchFunc(list, seq, func(c charge, seq int64) int { return int(c.seq - seq) })
			if i == len(list) {
				return time.Time{}, nil
			}
			return list[i].at, nil
		})
		require.NoError(t, err)
		require.LessOrEqual(t, looks, 15)
		for _, c := range list {
			if !c.at.Before(since) {
				require.Greater(t, c.seq, found, "%d hours", hours)
			} else if c.at.Before(since.Add(-2 * time.Hour)) {
				require.LessOrEqual(t, c.seq, found, "%d hours", hours)
			}
		}
	}
	none, err := metering.SeqSince(0, began, nil)
	require.NoError(t, err)
	require.Zero(t, none)
	broken := errors.New("broken")
	_, err = metering.SeqSince(1, began, func(int64) (time.Time, error) { return time.Time{}, broken })
	require.ErrorIs(t, err, broken)
}
