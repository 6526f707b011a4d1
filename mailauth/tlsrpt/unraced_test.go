//go:build !race || nightly

package tlsrpt

// The race detector makes these tests many times slower, and other tests cover their concurrency.

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

func TestParseReportRefuses(t *testing.T) {
	tests := []struct {
		name, text, why string
	}{
		{"empty", "", "it is empty"},
		{"XML", "<?xml version=\"1.0\"?><feedback>", "aggregate reports of DMARC"},
		{"ZIP", "PK\x03\x04", "ZIP"},
		{"text", "hello", "no header fields"},
		{"other JSON", `{"a": 1}`, "none of the members"},
		{"damaged JSON", `{"a": `, "damaged JSON"},
		{"array", "\x1f\x8b", "gzip header"},
		{"other gzip", string(zipped("<feedback/>")), "aggregate reports of DMARC"},
		{"damaged gzip", string(zipped(daily)[:30]), "gzip data is damaged"},
		{"bomb", string(zipped(strings.Repeat(" ", maxExpandedBytes+1))), "expands to more than"},
		{"mail", "Subject: a\n\nb", "no part of the message"},
		{"too long", strings.Repeat(" ", maxReportBytes+1), "longer than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseReport([]byte(tt.text))
			require.ErrorContains(t, err, tt.why)
		})
	}
}
