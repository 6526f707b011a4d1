package hold_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering/internal/hold"
)

func TestBodies(t *testing.T) {
	var b hold.Bodies[string, int]
	day := noon.Add(24 * time.Hour)
	require.Empty(t, b.Add("a", 1, 10, noon, day, 25))
	require.Empty(t, b.Add("a", 2, 10, noon, day, 25))
	require.Empty(t, b.Add("b", 3, 25, noon, day, 25), "another line has room of its own")
	require.Empty(t, b.Add("a", 4, 0, noon, day, 25), "no body")
	require.Equal(t, []int{1}, b.Add("a", 5, 10, noon, day.Add(time.Hour), 25), "the oldest goes")
	require.Equal(t, []int{2, 5, 6}, b.Add("a", 6, 30, noon, day, 25), "one that is larger than the bound too")
	require.Empty(t, b.Add("a", 7, 1000, noon, day, 0), "no bound")

	// Expired bodies do not count.
	require.Empty(t, b.Add("a", 8, 25, day, day.Add(time.Hour), 25))
	b.Sweep(day.Add(time.Hour))
	require.Equal(t, hold.Bodies[string, int]{}, emptied(b))

	// What was kept before a restart is learnt late.
	var old hold.Bodies[string, int]
	old.Add("a", 1, 10, time.Time{}, noon, 0)
	old.Add("a", 2, 10, time.Time{}, day, 0)
	old.Add("c", 9, 10, time.Time{}, day, 0)
	b.Add("a", 3, 10, noon, day, 25)
	b.Add("b", 4, 10, noon, day, 25)
	b.Precede(old)
	b.Precede(hold.Bodies[string, int]{})
	require.Equal(t, []int{2}, b.Add("a", 5, 10, noon, day, 25))
	require.Equal(t, []int{4}, b.Add("b", 6, 20, noon, day, 25))
	require.Equal(t, []int{9}, b.Add("c", 7, 20, noon, day, 25))
}

// emptied is the zero value if nothing is left.
func emptied(b hold.Bodies[string, int]) hold.Bodies[string, int] {
	for _, line := range []string{"a", "b"} {
		if len(b.Add(line, 0, 1, time.Time{}, noon, 1)) > 0 {
			return b
		}
	}
	return hold.Bodies[string, int]{}
}
