package metering_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
)

// timed is a store that knows something of the time.
type timed struct {
	metering.Store
	now    func() time.Time
	newest time.Time
}

type clocked struct{ timed }

func (c clocked) Now() time.Time { return c.now() }

type dated struct{ timed }

func (d dated) Newest() time.Time { return d.newest }

func TestTimekeeper(t *testing.T) {
	begin := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	type step struct {
		passes, jumps time.Duration
		want          string
	}
	const day = 24 * time.Hour
	shared := begin
	for name, tt := range map[string]struct {
		store metering.Store
		steps []step
	}{
		"steady":            {nil, []step{{}, {passes: day}, {passes: 400 * day}}},
		"small corrections": {nil, []step{{}, {jumps: 4 * time.Second}, {jumps: 4 * time.Second}, {jumps: -4 * time.Second}}},
		"ahead for a minute": {nil, []step{
			{}, {jumps: 10 * day, want: "jumped by 240h"}, {passes: time.Minute, want: "jumped"}, {jumps: -10 * day}, {passes: day},
		}},
		"behind for a minute": {nil, []step{{}, {jumps: -day, want: "jumped by -24h"}, {passes: time.Minute, want: "jumped"}, {jumps: day}}},
		"set right": {nil, []step{
			{}, {jumps: time.Hour, want: "jumped by 1h"}, {passes: day - time.Second, want: "jumped"}, {passes: time.Second}, {passes: day},
			{jumps: time.Hour, want: "jumped by 1h"},
		}},
		"two jumps": {nil, []step{
			{}, {jumps: time.Hour, want: "1h"}, {passes: day - time.Second, want: "1h"}, {jumps: time.Hour, want: "2h"},
			{passes: day - time.Second, want: "2h"}, {passes: time.Second},
		}},
		"behind the store": {dated{timed{newest: begin.Add(day)}}, []step{
			{want: "24h0m0s behind what the store has seen"}, {jumps: 3 * day}, {passes: day}, {jumps: day, want: "jumped"},
		}},
		"behind a store that was ahead": {dated{timed{newest: begin.Add(10 * day)}}, []step{
			{want: "behind"}, {passes: day - time.Second, want: "behind"}, {passes: time.Second}, {jumps: day, want: "jumped"},
		}},
		"with a shared store": {clocked{timed{now: func() time.Time { return shared }}}, []step{
			{}, {jumps: 3 * day, want: "72h0m0s apart"}, {jumps: -3 * day}, {jumps: -6 * time.Second, want: "-6s apart"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			wall, steady := begin, time.Duration(0)
			k := &metering.Timekeeper{
				Clock: func() time.Time { return wall }, Steady: func() time.Duration { return steady },
				Log: slog.New(slog.NewTextHandler(&log, nil)),
			}
			if tt.store != nil {
				k.Follow(tt.store)
			}
			changes, doubting := 0, false
			for i, s := range tt.steps {
				wall, steady = wall.Add(s.passes+s.jumps), steady+s.passes
				for range 3 { // repeated calls change nothing
					if err := k.Doubt(); s.want == "" {
						require.NoError(t, err, i)
					} else {
						require.ErrorContains(t, err, s.want, i)
					}
				}
				if doubting != (s.want != "") {
					changes, doubting = changes+1, !doubting
				}
			}
			require.Equal(t, changes, strings.Count(log.String(), "\n"), log.String())
		})
	}
	require.NoError(t, new(metering.Timekeeper).Doubt())
}

// The reported time continues steadily, whatever the wall clock says, until that is trusted.
func TestTimekeeperNow(t *testing.T) {
	const second, day = time.Second, 24 * time.Hour
	begin := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	type step struct{ passes, jumps, want time.Duration } // want is since the beginning
	for name, tt := range map[string]struct {
		store metering.Store
		steps []step
	}{
		"steady":         {nil, []step{{0, 0, 0}, {day, 0, day}, {0, 4 * second, day + 4*second}}},
		"minutes ahead":  {nil, []step{{0, 0, 0}, {second, 3 * time.Minute, second}, {time.Minute, 0, 61 * second}}},
		"minutes behind": {nil, []step{{0, 0, 0}, {second, -3 * time.Minute, second}, {0, 3 * time.Minute, second}}},
		"months ahead":   {nil, []step{{0, 0, 0}, {second, 90 * day, second}, {second, -90 * day, 2 * second}}},
		"months behind":  {nil, []step{{0, 0, 0}, {second, -90 * day, second}, {second, 90 * day, 2 * second}}},
		"set right":      {nil, []step{{0, 0, 0}, {0, 90 * day, 0}, {day - 1, 0, day - 1}, {1, 0, 91 * day}}},
		"behind the store": {dated{timed{newest: begin.Add(day)}}, []step{
			{0, 0, day}, {time.Hour, 0, day + time.Hour}, {0, 2 * day, 2*day + time.Hour},
		}},
		"behind for a day":  {dated{timed{newest: begin.Add(9 * day)}}, []step{{0, 0, 9 * day}, {day, 0, day}}},
		"ahead of the rest": {clocked{timed{now: func() time.Time { return begin }}}, []step{{0, 0, 0}, {0, 3 * day, 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			wall, steady := begin, time.Duration(0)
			k := &metering.Timekeeper{
				Clock: func() time.Time { return wall }, Steady: func() time.Duration { return steady },
			}
			if tt.store != nil {
				k.Follow(tt.store)
			}
			for i, s := range tt.steps {
				wall, steady = wall.Add(s.passes+s.jumps), steady+s.passes
				for range 2 {
					require.Equal(t, s.want, k.Now().Sub(begin), i)
				}
			}
		})
	}
}
