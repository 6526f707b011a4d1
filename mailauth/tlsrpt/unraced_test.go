//go:build !race || nightly

package tlsrpt

// The race detector makes these many times slower, and nothing in them runs at once but what other tests race.

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReportIsBounded(t *testing.T) {
	r, err := ParseReport([]byte(`{"policies": [` + strings.Repeat("{},", 2*maxPolicies) + `{}]}`))
	require.NoError(t, err)
	require.Len(t, r.Policies, maxPolicies)
	require.Len(t, r.Faults, maxFaults)
	many := strings.Replace(daily, `"failure-details": [`, `"failure-details": [`+strings.Repeat("{},", 2*maxFailures), 1)
	r, err = ParseReport([]byte(many))
	require.NoError(t, err)
	require.Len(t, r.Policies[0].Failures, maxFailures)
	require.Equal(t, int64(math.MaxInt64), add(math.MaxInt64, 1))
}
