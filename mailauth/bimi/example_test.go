package bimi_test

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/bimi"
)

func ExampleLookup() {
	world, err := diagtest.New(diagtest.Config{Zone: `
		example.com.               MX  10 mx.example.com.
		_dmarc.example.com.        TXT "v=DMARC1; p=none; rua=mailto:dmarc@example.com"
		default._bimi.example.com. TXT "v=BIMI1; l=https://brand.example.com/logo.svg; a=https://brand.example.com/mark.pem"`})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()

	// With nil instead of world.Env(), it queries the real Internet.
	report, err := bimi.Lookup(context.Background(), world.Env(), bimi.LookupRequest{
		Domain:    diag.MustDomain("example.com"),
		FetchLogo: new(false), FetchCertificate: new(false),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Headline)
	fmt.Println(report.LogoURL, *report.DMARC.Eligible)
	for _, f := range report.Findings {
		fmt.Printf("%s: %s: %s\n", f.Severity, f.Code, f.Detail)
	}
	// Output:
	// DMARC policy is none, so receivers show no logo
	// https://brand.example.com/logo.svg false
	// error: bimi.dmarc.none: The DMARC record at _dmarc.example.com has p=none.
}

func ExampleValidate() {
	report, err := bimi.Validate(bimi.ValidateRequest{Record: "v=BIMI1 l=https://example.com/logo.svg; a=self"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Headline)
	fmt.Println(report.Recommendations[0].SuggestedValue)
	// Output:
	// BIMI record does not begin with v=BIMI1;
	// v=BIMI1; l=https://example.com/logo.svg; a=;
}
