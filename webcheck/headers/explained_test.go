package headers

import (
	"net/http"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/stretchr/testify/require"
)

// TestConformanceScore judges the sites that the HTTP Observatory has graded: its score is the score, below the caps, and
// whatever it takes has its finding.
func TestConformanceScore(t *testing.T) {
	type vector struct {
		ID, Host string
		Input    struct {
			Headers map[string]any
			Cookies []string
			HTML    string
		}
	}
	vectors, graded := diagtest.Cases[vector](t, diagtest.Vectors(t, "web/headers/observatory.json")), 0
	for _, v := range vectors {
		t.Run(v.ID, func(t *testing.T) {
			header := http.Header{}
			for name, value := range v.Input.Headers {
				switch value := value.(type) {
				case string:
					header.Add(name, value)
				case []any:
					for _, one := range value {
						header.Add(name, one.(string))
					}
				}
			}
			for _, line := range v.Input.Cookies {
				header.Add("Set-Cookie", line)
			}
			at := diag.MustURL("https://" + v.Host + "/")
			hop := fetch.Hop{URL: at.String(), StatusCode: 200, Header: header, TLS: &pki.TLS{}}
			page := &fetch.Result{Hops: []fetch.Hop{hop}, URL: at, Body: []byte(v.Input.HTML)}
			closed := &fetch.Result{URL: diag.MustURL("http://" + v.Host + "/"), Err: &fetch.Error{Code: fetch.Connect}}
			e := &evidence{
				req: Request{URL: at, Method: http.MethodGet}, follow: true, page: page, overHTTP: closed, overHTTPS: page,
				probes: probes{closed, closed, closed},
			}
			e.digest()
			r := e.report(time.Now())
			if r.Observatory.Grade == "" {
				return
			}
			graded++
			requireExplained(t, r)
			for _, q := range e.quirks { // "nosniff, nosniff" in one field
				require.Equal(t, "x-content-type-options-header-invalid", q.Result)
			}
		})
	}
	t.Logf("scores: %d of %d pages", graded, len(vectors))
}
