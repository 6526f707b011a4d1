package hsts_test

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/webcheck/hsts"
)

func ExampleParse() {
	h := hsts.Parse(`max-age="31536000"; includeSubDomain`)
	fmt.Println(h.Valid(), h.Age().Hours()/24, h.IncludeSubdomains, h.Unknown)
	fmt.Println(hsts.Preloadable(h.Text).Errors)
	// Output:
	// true 365 false [includeSubDomain]
	// [header.parse.max_age.non_digit_characters header.preloadable.include_sub_domains.missing header.preloadable.preload.missing header.preloadable.max_age.missing]
}

func ExampleCheck() {
	w, err := diagtest.New(diagtest.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close()
	w.HTTPS("example.com", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Strict-Transport-Security", "max-age=300")
	}))
	w.HTTP("example.com", http.RedirectHandler("https://example.com/", http.StatusMovedPermanently))

	r, err := hsts.Check(context.Background(), w.Env(), hsts.Request{Domain: diag.MustDomain("example.com")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Grade, "-", r.Headline)
	fmt.Println(r.Recommendations[0].SuggestedValue)
	// Output:
	// weak - max-age is shorter than 180 days
	// max-age=604800
}
