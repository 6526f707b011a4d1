//go:build !race

package httpapi

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/bimi/svg"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Logos are fetched and examined within the weight of the rows, whatever the web server serves.
func TestWeightOfLogo(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	if !diagtest.InOwnProcess(t) {
		return
	}
	const head = `<svg xmlns="http://www.w3.org/2000/svg" version="1.2" baseProfile="tiny-ps" viewBox="0 0 9 9"><title>a</title>`
	fill := func(before, piece, after string) string {
		return before + strings.Repeat(piece, (svg.MaxBytes-len(before)-len(after))/len(piece)) + after
	}
	bodies := map[string]string{
		"/bimi/logo/lookup": `{"url":"https://brand.example.com/a.svg","include_svg":true}`,
		"/bimi/lookup":      `{"domain":"example.com"}`,
	}
	for name, image := range map[string]string{
		"references":  fill(head, `<g id="a" fill="url(#b)"/>`, "</svg>"),
		"identifiers": head + distinct(svg.MaxBytes-len(head)-10, `<g id="`, `"/>`) + "</svg>",
		"faults":      fill(head, `<a b="c"/>`, "</svg>"),
		"words":       fill(head+`<g fill-rule="`, "a ", `"/></svg>`),
		"text":        fill(head+`<g>`, "a ", `</g></svg>`),
		"title":       fill(`<svg><title>`, "a ", `</title></svg>`),
		"commas":      fill(head+`<g fill="rgb(`, ",", `)"/></svg>`),
		"lengths":     fill(head+`<g stroke-dasharray="`, "1,", `1"/></svg>`),
		"entities":    fill(head+`<g class="`, "&#65; ", `"/></svg>`),
		"bytes":       fill(`<?xml version="1.0" encoding="windows-1252"?>`+head+"<desc>", "\x80", `</desc></svg>`),
		"UTF-16":      fill("\xff\xfe<\x00a\x00>\x00", "\x20\x20", ""),
	} {
		for _, ep := range endpoints {
			body, ok := bodies[ep.Path]
			if !ok {
				continue
			}
			w := diagtest.NewWorld(t)
			w.Zone("example.com. A 192.0.2.7\n" +
				`default._bimi.example.com. TXT "v=BIMI1; l=https://brand.example.com/a.svg; a="`)
			w.HTTPS("brand.example.com", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "image/svg+xml")
				w.Write([]byte(image))
			}))
			withinWeight(t, ep, w, body, name)
		}
	}
}

// withinWeight compares the memory that an operation keeps alive in a world with the weight of its row.
func withinWeight(t *testing.T, ep Endpoint, w *diagtest.World, body, name string) {
	t.Helper()
	req, err := ep.Operation.decode([]byte(body))
	require.NoError(t, err)
	weight := ep.Operation.memory(req, len(body))
	live := diagtest.LiveBytes(weight, func() {
		_, err = ep.Operation.execute(t.Context(), w.Env(), req)
	})
	require.NoError(t, err)
	t.Logf("%s, %s: %d KiB of %d", ep.Path, name, live>>10, weight>>10)
	assert.LessOrEqual(t, live, weight, "%s, %s", ep.Path, name)
}

// rowOf returns the row of a path.
func rowOf(t *testing.T, path string) Endpoint {
	t.Helper()
	i := slices.IndexFunc(endpoints, func(ep Endpoint) bool { return ep.Path == path })
	require.GreaterOrEqual(t, i, 0, path)
	return endpoints[i]
}

// distinct repeats an element with another identifier each time, up to n bytes.
func distinct(n int, before, after string) string {
	var b strings.Builder
	for i := 0; b.Len() < n-40; i++ {
		b.WriteString(before + "i" + strconv.Itoa(i) + after)
	}
	return b.String()
}
