//go:build !race

package phishing

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// The race detector takes memory of its own.

// maxTime bounds the worst pages, on a busy machine.
const maxTime = 20 * time.Second

// Pages as big as are read, after as many redirects as are followed, each filled with the elements that pages are
// read for.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	if !diagtest.InOwnProcess(t) {
		return
	}
	for name, unit := range map[string]string{
		"text": "x ", "elements": "<p>", "deep": "<b>", "links": "<a href=//a.b/>x</a>", "icons": "<link rel=icon href=//paypal.com/>",
		"forms": "<form action=//a.b><input type=password></form>", "frames": `<iframe width=0 src=//a.b></iframe>`,
		"attributes": "<a b c d e f g h i j k l>", "refreshes": `<meta http-equiv=refresh content="9;url=/">`,
		"titles": "<title>PayPal</title>", "scripts": `<script>eval(x)</script>`,
	} {
		if !diagtest.Sampled(name, 3) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			fill := strings.Repeat(unit, maxPage/len(unit))
			hops := 0
			w.HTTPS("shop.example", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				if hops++; hops <= 9 {
					fmt.Fprintf(w, `<meta http-equiv=refresh content="0;url=/%d">`, hops)
				}
				io.WriteString(w, fill)
			}))
			began := diagtest.ProcessorTime()
			held := diagtest.LiveBytes(Memory, func() {
				_, r := examined(t, w, Request{URL: "https://shop.example/"})
				hold(t, r)
			})
			t.Logf("%d MiB of %d, %v", held>>20, Memory>>20, diagtest.ProcessorTime()-began.Round(time.Millisecond))
			require.LessOrEqual(t, held, int64(Memory))
			require.Less(t, diagtest.ProcessorTime()-began, maxTime)
		})
	}
}
