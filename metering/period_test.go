package metering

import (
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
)

func TestConformancePeriods(t *testing.T) {
	t.Run("calendar-month-utc", func(t *testing.T) {
		type month struct {
			At      time.Time
			Period  string
			Start   time.Time
			End     time.Time
			Seconds int64
		}
		cases, passed := diagtest.Cases[month](t, diagtest.Vectors(t, "platform/periods/calendar-month-utc.json")), 0
		zone := time.FixedZone("UTC+13", 13*3600) // the month is that of UTC wherever the server runs
		for _, c := range cases {
			p := PeriodOf(c.At.In(zone))
			got := month{c.At, p.String(), p.Start(), p.End(), int64(p.End().Sub(p.Start()) / time.Second)}
			var again Period
			if err := again.UnmarshalText([]byte(c.Period)); got != c || err != nil || again != p {
				t.Errorf("got %+v, want %+v (%v, %v)", got, c, again, err)
				continue
			}
			passed++
		}
		t.Logf("platform/periods/calendar-month-utc: %d/%d", passed, len(cases))
	})
	t.Run("anniversary-no-drift", func(t *testing.T) {
		type anniversary struct {
			Anchor string
			N      int
			Start  string
		}
		cases, passed := diagtest.Cases[anniversary](t, diagtest.Vectors(t, "platform/periods/anniversary-no-drift.json")), 0
		for _, c := range cases {
			anchor, err := time.Parse(time.DateOnly, c.Anchor)
			noError(t, err)
			if got := Anniversary(anchor, c.N).Format(time.DateOnly); got != c.Start {
				t.Errorf("%s and %d months: got %s, want %s", c.Anchor, c.N, got, c.Start)
				continue
			}
			passed++
		}
		t.Logf("platform/periods/anniversary-no-drift: %d/%d", passed, len(cases))
	})
}

func TestAnniversary(t *testing.T) {
	anchor := time.Date(2024, 1, 31, 23, 59, 58, 7, time.FixedZone("", -3600))
	for n, want := range map[int]string{
		0:   "2024-01-31T23:59:58.000000007-01:00",
		1:   "2024-02-29T23:59:58.000000007-01:00",
		13:  "2025-02-28T23:59:58.000000007-01:00",
		-1:  "2023-12-31T23:59:58.000000007-01:00",
		-2:  "2023-11-30T23:59:58.000000007-01:00",
		-11: "2023-02-28T23:59:58.000000007-01:00",
		14:  "2025-03-31T23:59:58.000000007-01:00",
	} {
		equal(t, want, Anniversary(anchor, n).Format(time.RFC3339Nano), "n = %d", n)
	}
}

func TestPeriodText(t *testing.T) {
	for _, text := range []string{"", "2026", "2026-1", "2026-13", "2026-01-01", "26-01", " 2026-01"} {
		var p Period
		err := p.UnmarshalText([]byte(text))
		isTrue(t, err != nil && strings.Contains(err.Error(), "2026-01"), "%q: %v", text, err)
	}
	text, err := Period{2026, time.March}.MarshalText()
	noError(t, err)
	equal(t, "2026-03", string(text))
}
