package metrics_test

import (
	"bufio"
	"fmt"
	"net/http/httptest"
	"strings"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/metrics"
)

// The API reports each request to Observe, and Prometheus reads Handler.
func Example() {
	m := metrics.New()
	m.Observe(httpapi.Observation{Endpoint: "POST /public/v1/text/upper", Code: "OK", Status: 200, Plan: "free", Credits: 1})

	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for lines := bufio.NewScanner(w.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "diagkit_requests_total{") {
			fmt.Println(lines.Text())
		}
	}
	// Output: diagkit_requests_total{code="OK",endpoint="POST /public/v1/text/upper",plan="free"} 1
}
