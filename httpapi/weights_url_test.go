//go:build !race

package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/webcheck/redirect"
)

// Pages at the end of a chain are read within the weight of the row, whatever their content.
func TestWeightOfURL(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	if !diagtest.InOwnProcess(t) {
		return
	}
	ep := rowOf(t, "/url/check")
	fill := func(piece string) string { return strings.Repeat(piece, redirect.MaxBytes/len(piece)) }
	for name, text := range map[string]string{
		"elements":   fill("<p>"),
		"attributes": "<p " + fill("a ") + ">",
		"links":      fill("<a href=b>c</a>"),
		"nested":     fill("<b><p>"),
		"text":       fill("word "),
		"bytes":      fill("\x80"),
		"scripts":    fill("<script>location</script>"),
		"slashes":    "<script>" + fill(`\/`),
		"entities":   fill("&amp;"),
		"json":       fill(`<script type="application/ld+json">{}</script>`),
		"tables":     fill("<table>a"),
	} {
		w := diagtest.NewWorld(t)
		w.HTTPS("example.com", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.Write([]byte(text))
		}))
		withinWeight(t, ep, w, `{"url":"https://example.com/"}`, name)
	}
}
