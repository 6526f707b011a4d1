package dmarc_test

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/dmarc"
)

func ExampleLookup() {
	world, err := diagtest.New(diagtest.Config{Zone: `
		example.com.        MX  10 mx.example.com.
		mx.example.com.     A   192.0.2.1
		_dmarc.example.com. TXT "v=DMARC1; p=none; rua=mailto:dmarc@example.com"
	`})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	report, err := dmarc.Lookup(context.Background(), world.Env(), dmarc.LookupRequest{Domain: diag.MustDomain("example.com")})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Headline)
	fmt.Println(report.Recommendations[0].Detail)
	// Output:
	// DMARC policy is none: forged mail is delivered
	// Read the aggregate reports for some weeks, and set up SPF and DKIM for every service of yours that fails, subdomains included. When all of them pass, publish p=quarantine.
}

func ExampleValidate() {
	analysis, err := dmarc.Validate(dmarc.ValidateRequest{Record: "v=DMARC1; p=reject; rua=dmarc@example.com"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(analysis.Errors[0])
	fmt.Println(analysis.Recommendations[0].SuggestedValue)
	// Output:
	// "dmarc@example.com" in rua has no mailto: in front of the address.
	// v=DMARC1; p=reject; rua=mailto:dmarc@example.com
}
