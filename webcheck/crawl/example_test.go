package crawl_test

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/webcheck/crawl"
)

func ExampleCheck() {
	world, err := diagtest.New(diagtest.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	world.HTTPS("example.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			io.WriteString(w, "User-agent: *\nDisallow: /private/\n")
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, "<!doctype html><title>Offer</title>")
	}))

	// With nil instead of world.Env() the real Internet is asked.
	report, err := crawl.Check(context.Background(), world.Env(), crawl.Request{
		URL: diag.MustURL("https://example.com/private/offer"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Headline)
	fmt.Println(*report.Robots.Allowed, report.Robots.MatchedRule)
	fmt.Println(report.Recommendations[0].SuggestedValue)
	// Output:
	// robots.txt forbids crawling the page
	// false Disallow: /private/
	// Allow: /private/offer$
}
