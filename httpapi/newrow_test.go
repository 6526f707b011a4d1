//go:build !race

package httpapi

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A new row adds lines to the document, and changes none but for the comma before them.
func TestNewRowChangesNoOther(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	lines := func(table []Endpoint) []string {
		return strings.Split(strings.ReplaceAll(string(openAPI(table, embeddedExample)), ",\n", "\n"), "\n")
	}
	all := lines(endpoints)
	for i, ep := range endpoints {
		rest, next := lines(slices.Concat(endpoints[:i], endpoints[i+1:])), 0
		for _, line := range all {
			if next < len(rest) && rest[next] == line {
				next++
			}
		}
		require.Equal(t, len(rest), next, "%s changes a line of others", ep.ID())
	}
}
