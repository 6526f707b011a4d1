package aggregate

import (
	"net/netip"
	"testing"

	"github.com/diagkit/diagkit/diag/view"
	"github.com/stretchr/testify/require"
)

// Similar addresses of one service are one bar with the sum of their messages; the largest comes first.
func TestBars(t *testing.T) {
	r := Analysis{Sources: []Source{
		{SourceIP: netip.MustParseAddr("192.0.2.1"), MessageCount: 50, PassCount: 50, Classification: Legitimate},
		{SourceIP: netip.MustParseAddr("192.0.2.2"), MessageCount: 40, PassCount: 39, Classification: Legitimate, Service: "Post"},
		{SourceText: "::g", MessageCount: 30, Classification: Spoofing, Dispositions: Dispositions{Reject: 30}},
		{SourceIP: netip.MustParseAddr("192.0.2.3"), MessageCount: 20, PassCount: 20, Classification: Legitimate, Service: "Post"},
		{MessageCount: 3, Classification: UnknownSource},
	}}
	var v view.View
	r.draw(&v)
	require.Equal(t, []view.Row{
		{Cells: []string{"Post (2)", "60", "98%", "legitimate"}, Mark: view.Error, Amount: 60},
		{Cells: []string{"192.0.2.1", "50", "100%", "legitimate"}, Mark: view.Good, Amount: 50},
		{Cells: []string{"::g", "30", "0%", "spoofing"}, Amount: 30},
		{Cells: []string{"no address", "3", "0%", "unknown"}, Mark: view.Unknown, Amount: 3},
	}, v.Drawing.Rows)
}
