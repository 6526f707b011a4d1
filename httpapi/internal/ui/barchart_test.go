package ui

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The scale ends at a number above all bars, half of which is a number.
func TestBarChartScale(t *testing.T) {
	for most, want := range map[int64]int64{
		0: 2, 1: 2, 2: 2, 3: 4, 5: 6, 9: 10, 10: 10, 11: 20, 21: 40, 99: 100, 100: 100, 101: 200, 4_001: 6_000, 999_999: 1_000_000,
	} {
		c := BarChart{Series: []Series{{}, {}}, Bars: []Bar{{Values: []int64{most / 2, most - most/2}}}}
		require.Equal(t, want, c.Top(), most)
		require.Equal(t, want, 2*c.Half(), most)
	}
	require.EqualValues(t, 2, BarChart{}.Top())
}

// A layer that is small beside the others is seen, none leaves the drawing, and titles are escaped.
func TestBarChartDrawing(t *testing.T) {
	c := BarChart{Series: []Series{{"charged", ""}, {"failed", "error"}}, Bars: []Bar{
		{"<16 Nov>", "<b>", []int64{100_000, 1}}, {"17 Nov", "", []int64{0, 0}},
	}}
	drawing := string(c.Drawing())
	require.Contains(t, drawing, "<title>&lt;16 Nov&gt;: 100,000 charged, 1 failed</title>")
	require.Contains(t, drawing, "<title>17 Nov: 0 charged</title>")
	require.Contains(t, drawing, `<rect class="error" x="6.2%" y="49.5%" width="37.5%" height="0.5%"/>`)
	require.NotContains(t, drawing, "-")
	require.NotContains(t, drawing, "<b>")
	require.Equal(t, 4, strings.Count(drawing, "<rect"), "two that can be pointed at, and two layers")
}
