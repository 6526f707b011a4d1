//go:build !race && linux

package headers

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/stretchr/testify/require"
)

// The race detector takes time of its own.

// maxTime bounds the judging of an answer, on one core: some four times the usual, since machines differ. Quadratic
// work takes minutes.
const maxTime = 2 * time.Second

// TestHostileHeaders judges answers whose head and page are as large as they may be.
func TestHostileHeaders(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	const head = 250 << 10
	many := func(format string, size int) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	const hash = "'sha256-hqBEA/HXB3aJU2FgOnYN8rkAgEVgyfi3Vs1j2/XMPBA=' "
	scripts := many(`<script src="https://a%d.example/"></script>`, MaxPage)
	inline := many(`<script>f(%d)</script>`, MaxPage)
	images := many(`<img src=a%d srcset="b c" style=d onclick=e>`, MaxPage)
	for _, tt := range []struct{ field, name, value, body string }{
		{fieldCSP, "sources", "default-src " + many("h%d.example ", head), scripts},
		{fieldCSP, "sources and images", "default-src " + many("h%d.example ", head), images},
		{fieldCSP, "policies", many("script-src https://h%d.example/a,", head), scripts},
		{fieldCSP, "hashes", "script-src " + strings.Repeat(hash, head/len(hash)), inline},
		{fieldCSP, "hashes of a long script", "script-src " + strings.Repeat(hash, head/len(hash)),
			"<script>" + strings.Repeat("x", MaxPage) + "</script>"},
		{fieldCSP, "nonces", "script-src " + many("'nonce-%d' ", head), scripts},
		{fieldCSP, "insecure", "script-src " + many("http://h%d ", head), scripts},
		{fieldCSP, "alike", strings.Repeat("img-src "+many("h%d ", 4000)+",", 60), images},
		{fieldCSP, "names", many("a%d;", head), inline},
		{"Set-Cookie", "attributes", many("a%d=b; ", head), goodBody},
		{"Permissions-Policy", "features", many("f%d=(self), ", head) + "x=()", goodBody},
		{"Feature-Policy", "old features", many("f%d 'self'; ", head), goodBody},
		{"Cache-Control", "directives", many("a%d=b, ", head), goodBody},
		{"X-Frame-Options", "options", many("a%d, ", head), goodBody},
	} {
		t.Run(tt.field+"/"+tt.name, func(t *testing.T) {
			header := http.Header{"Content-Type": {"text/html"}, tt.field: {tt.value}}
			hop := fetch.Hop{URL: "https://example.com/", StatusCode: 200, Header: header}
			page := &fetch.Result{Hops: []fetch.Hop{hop}, URL: diag.MustURL("https://example.com/"), Body: []byte(tt.body)}
			e := &evidence{req: Request{URL: page.URL, Method: "GET"}, follow: true, page: page, overHTTP: page, overHTTPS: page, probes: probes{page, page, page}}
			began := processorTime(t)
			e.digest()
			require.NotZero(t, e.report(time.Now()).Observatory)
			took := processorTime(t) - began
			t.Log(took)
			require.Less(t, took, maxTime)
		})
	}
}

// processorTime returns the CPU time that the process has used, independent of other load.
func processorTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
