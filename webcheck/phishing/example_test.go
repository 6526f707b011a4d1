package phishing_test

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/webcheck/phishing"
)

func ExampleCheck() {
	world, err := diagtest.New(diagtest.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()

	// With nil instead of world.Env() the real Internet is asked.
	fetch := false // judge URL and registration, and do not visit the site
	report, err := phishing.Check(context.Background(), world.Env(), phishing.Request{URL: "http://www.paypa1.com/",
		Fetch: &fetch})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Verdict, report.RiskScore)
	fmt.Println(report.Headline)
	fmt.Println(report.Lookalike.Brand, report.Lookalike.Technique)
	// Output:
	// suspicious 71
	// Host looks like PayPal but is not
	// PayPal homoglyph
}
