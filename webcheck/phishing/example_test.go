package phishing_test

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/webcheck/phishing"
)

func ExampleCheck() {
	fetch := false // judge the URL alone, and ask nobody
	report, err := phishing.Check(context.Background(), nil, phishing.Request{URL: "http://www.paypa1.com/",
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
