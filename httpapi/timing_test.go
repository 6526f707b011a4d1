//go:build !race

package httpapi

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A new row adds lines to the document, and changes none but for the comma before them.
func TestNewRowChangesNoOther(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	lines := func(table []Endpoint) []string {
		return strings.Split(strings.ReplaceAll(string(openAPI(table, keptExample)), ",\n", "\n"), "\n")
	}
	all := lines(endpoints)
	for i, ep := range endpoints {
		if !diagtest.Sampled(ep.ID(), 6) {
			continue
		}
		rest, next := lines(slices.Concat(endpoints[:i], endpoints[i+1:])), 0
		for _, line := range all {
			if next < len(rest) && rest[next] == line {
				next++
			}
		}
		require.Equal(t, len(rest), next, "%s changes a line of others", ep.ID())
	}
}

// Malformed, mistyped, unknown and missing keys take the same time, as far as can be measured from outside: text that
// is not a secret has its lookup in the store too.
func TestInvalidKeysTakeAsLong(t *testing.T) {
	if testing.Short() {
		t.Skip("needs time to measure; runs without -short, as in .ci/run")
	}
	a := newAPIOn(t, inNewFile, "self", func(c *Config) { c.IPRate, c.Log, c.Observe = -1, nil, nil })
	unknown, err := metering.NewSecret(metering.Live, nil)
	require.NoError(t, err)
	text := unknown.Reveal()
	mistyped := text[:20] + map[bool]string{true: "b", false: "a"}[text[20] == 'a'] + text[21:]
	kinds := map[string]string{
		"unknown": "Bearer " + text, "mistyped": "Bearer " + mistyped, "malformed": "Bearer x",
		"other scheme": "Basic " + text, "none": "",
	}
	durations := map[string][]time.Duration{}
	for range 1500 { // in turn, so that other load of the machine affects all alike
		for kind, header := range kinds {
			c := attempt{"POST", Prefix + "/text/lower", "{}", http.Header{"Authorization": {header}}, "198.51.100.1:4000"}
			began := time.Now()
			r := a.do(c)
			durations[kind] = append(durations[kind], time.Since(began))
			require.Equal(t, 401, r.Code)
		}
	}
	median := func(kind string) time.Duration {
		slices.Sort(durations[kind])
		return durations[kind][len(durations[kind])/2]
	}
	for kind := range kinds {
		t.Logf("%s: %s", kind, median(kind))
		assert.Less(t, median(kind), median("unknown")*3/2, kind)
		assert.Less(t, median("unknown"), median(kind)*3/2, kind)
	}
}
