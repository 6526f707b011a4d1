//go:build !race

package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/webcheck/headers"
)

// Pages and their header fields are examined within the weight of the row, whatever their content.
func TestWeightOfHeaders(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	if !diagtest.InOwnProcess(t) {
		return
	}
	ep := rowOf(t, "/http/headers-check")
	const size = 230 << 10 // of a header, so that the head stays within its limit
	fill := func(piece string) string { return strings.Repeat(piece, headers.MaxPage/len(piece)) }
	inline := fill("<script>f()</script>")
	scripts := distinct(headers.MaxPage, `<script src="https://a.example/`, `"></script>`)
	const csp = "Content-Security-Policy"
	for _, tt := range []struct{ name, field, value, body string }{
		{"sources", csp, "script-src " + distinct(size, "", ".example "), scripts},
		{"directives", csp, distinct(size, "", ";"), scripts},
		{"cookies", "Set-Cookie", "a=b;" + distinct(size, "", ";"), inline},
		{"features", "Permissions-Policy", distinct(size, "", "=(self), ") + "x=()", inline},
		{"bytes", csp, strings.Repeat("\x80", size), fill("\x80")},
		{"attributes", csp, "default-src 'self'", "<p " + distinct(headers.MaxPage, "", " ") + ">"},
	} {
		w := diagtest.NewWorld(t)
		answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set(tt.field, tt.value)
			w.Write([]byte(tt.body))
		})
		w.HTTPS("example.com", answer)
		w.HTTP("example.com", answer) // not redirected, so that there are two pages
		withinWeight(t, ep, w, `{"url":"https://example.com/"}`, tt.name)
	}
}
