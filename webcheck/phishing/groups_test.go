package phishing

import (
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/stretchr/testify/require"
)

// Each rule with a weight has one cause.
func TestGroups(t *testing.T) {
	count := map[diag.Code]int{}
	for _, g := range groups {
		for _, code := range g.list() {
			count[code]++
			require.Positive(t, describe()[code].Weight, code)
		}
	}
	for code, info := range describe() {
		if info.Weight > 0 {
			require.Equal(t, 1, count[code], code)
		}
	}
}

// Signals of one group are counted once, whatever their number.
func TestRisk(t *testing.T) {
	require.Equal(t, 17, risk([]Signal{{Group: GroupMachineMade, Weight: 17}, {Group: GroupMachineMade, Weight: 13}}))
	require.Equal(t, 75, risk([]Signal{{Group: GroupMachineMade, Weight: 50}, {Group: GroupHosting, Weight: 50}}))
	require.Equal(t, 75, risk([]Signal{{Group: GroupHosting, Weight: 50}, {Group: GroupMachineMade, Weight: 20},
		{Group: GroupMachineMade, Weight: 50}}))
	require.Zero(t, risk(nil))
}
