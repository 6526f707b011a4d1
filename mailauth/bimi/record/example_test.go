package record_test

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/bimi/record"
)

func ExampleDiscover() {
	world, err := diagtest.New(diagtest.Config{Zone: `
		default._bimi.example.com. TXT "v=BIMI1; l=https://example.com/logo.svg; a=https://example.com/mark.pem"`})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()

	// With nil instead of world.Env(), it queries the real Internet.
	discovery, err := record.Discover(context.Background(), world.Env(), diag.MustDomain("news.example.com"), diag.Selector{})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, domain, err := discovery.Record()
	fmt.Println(r.Location.URL, r.Authority.URL, domain, err)
	// Output:
	// https://example.com/logo.svg https://example.com/mark.pem example.com <nil>
}

func ExampleParse() {
	r := record.Parse("v=BIMI1; l=http://example.com/logo.svg; a=self")
	for _, fault := range r.Errors() {
		fmt.Println(fault)
	}
	// Output:
	// "http://example.com/logo.svg" in l uses http, but receivers fetch over https only
	// "self" in a has no https:// in front
}
