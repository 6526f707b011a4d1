package headers_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/webcheck/headers"
)

func ExampleCheck() {
	world, err := diagtest.New(diagtest.Config{}) // nil instead of world.Env() is the real Internet
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	world.HTTPS("example.com", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Security-Policy", "default-src 'self'; base-uri 'none'; frame-ancestors 'none'")
		w.Header().Set("X-Content-Type-Options", "nosniff")
	}))

	report, err := headers.Check(context.Background(), world.Env(), headers.Request{URL: diag.MustURL("example.com")})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Headline)
	fmt.Println(report.Recommendations[0].SuggestedValue)
	fmt.Println(*report.Score, "Observatory:", report.Observatory.Grade)
	// Output:
	// No Strict-Transport-Security
	// Strict-Transport-Security: max-age=300
	// 80 Observatory: B+
}

// A test of the caller's own handler.
func ExampleJudge() {
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Security-Policy", "script-src 'self' 'unsafe-inline'")
	})
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "https://example.com/", nil))

	report, err := headers.Judge(headers.Answer{
		URL: diag.MustURL("https://example.com/"), StatusCode: w.Code, Header: w.Header(), Body: w.Body.Bytes(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Headline)
	for _, f := range report.Findings {
		if f.Severity >= diag.Warning {
			fmt.Println(f.Code)
		}
	}
	// Output:
	// No Strict-Transport-Security
	// headers.hsts.missing
	// headers.csp.scripts.inline
	// headers.csp.objects
	// headers.frame_options.missing
	// headers.content_type_options.missing
}

// An answer that the caller's own client has fetched.
func ExampleJudge_client() {
	world, err := diagtest.New(diagtest.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	world.HTTPS("example.com", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Set-Cookie", "session=1")
	}))
	client := world.Env().HTTPClient() // or any other

	resp, err := client.Get("https://example.com/api")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, headers.MaxPage))
	if err != nil {
		fmt.Println(err)
		return
	}
	url, err := diag.ParseURL(resp.Request.URL.String()) // behind all redirects
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := headers.Judge(headers.Answer{URL: url, StatusCode: resp.StatusCode, Header: resp.Header, Body: body})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range report.Cookies {
		fmt.Println(c.Name, "secure:", c.Secure, "http_only:", c.HTTPOnly)
	}
	fmt.Println(report.Headline)
	// Output:
	// session secure: false http_only: false
	// Session cookie without Secure
}
