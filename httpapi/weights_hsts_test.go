//go:build !race

package httpapi

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
)

// Sites are examined for HSTS within the weight of the row, whatever their responses contain.
func TestWeightOfHSTS(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	if !diagtest.InOwnProcess(t) {
		return
	}
	const size = 230 << 10 // of the header, so that the head stays within its limit
	for name, header := range map[string]string{
		"directives": strings.Repeat("a;", size/2),
		"faults":     strings.Repeat("a a;", size/4),
		"names":      distinct(size, "", ";"),
		"one":        strings.Repeat("a", size),
		"quoted":     `max-age="` + strings.Repeat(`\1`, size/2) + `"`,
	} {
		w := diagtest.NewWorld(t)
		for _, host := range []string{"example.com", "www.example.com"} {
			hops := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Strict-Transport-Security", header)
				w.Header().Set("Location", fmt.Sprintf("https://%s%sa", host, r.URL.Path))
				w.WriteHeader(http.StatusFound)
			})
			w.HTTPS(host, hops)
			w.HTTP(host, hops)
		}
		withinWeight(t, rowOf(t, "/http/hsts-check"), w, `{"domain":"example.com"}`, name)
	}
}
