package redirect_test

import (
	"context"
	"fmt"
	"net/http"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/webcheck/redirect"
)

func ExampleCheck() {
	world, err := diagtest.New(diagtest.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	world.HTTP("example.com", http.RedirectHandler("https://www.example.com/", http.StatusMovedPermanently))
	world.HTTPS("www.example.com", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<title>Example</title>")
	}))

	report, err := redirect.Check(context.Background(), world.Env(), redirect.Request{URL: "http://example.com/"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, hop := range report.Hops {
		fmt.Println(hop.StatusCode, hop.URL)
	}
	fmt.Println(report.Headline)
	// Output:
	// 301 http://example.com/
	// 200 https://www.example.com/
	// URL leads to a working page
}
