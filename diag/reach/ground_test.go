package reach

import (
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/stretchr/testify/require"
)

func TestEnds(t *testing.T) {
	now := time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name       string
		life, left time.Duration
		want       diag.Severity
	}{
		{"a year, 15 days left", 365 * day, 15 * day, diag.Info},
		{"a year, 14 days left", 365 * day, 14 * day, diag.Warning},
		{"a year, 8 days left", 365 * day, 8 * day, diag.Warning},
		{"a year, 7 days left", 365 * day, 7 * day, diag.Error},
		{"six days, two left", 6 * day, 2 * day, diag.Info},
		{"six days, 36 hours left", 6 * day, 36 * time.Hour, diag.Warning},
		{"six days, 18 hours left", 6 * day, 18 * time.Hour, diag.Error},
		{"ended", 90 * day, -time.Hour, diag.Error},
	} {
		t.Run(tt.name, func(t *testing.T) {
			end := now.Add(tt.left)
			require.Equal(t, tt.want, Ends(end.Add(-tt.life), end, now))
		})
	}
}
