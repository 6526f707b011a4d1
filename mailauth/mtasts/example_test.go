package mtasts_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/mtasts"
)

func ExampleLookup() {
	world, err := diagtest.New(diagtest.Config{Zone: `
		_mta-sts.example.com. TXT "v=STSv1; id=20260101T000000;"
		example.com.          MX  10 mx.example.com.
		mx.example.com.       A   192.0.2.25`})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	world.HTTPS("mta-sts.example.com", nil) // a web server without a policy

	// Pass nil instead of world.Env() to query the real Internet.
	report, err := mtasts.Lookup(context.Background(), world.Env(), mtasts.Request{
		Domain: diag.MustDomain("example.com"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Headline)
	for _, f := range report.Findings {
		fmt.Printf("%s: %s: %s (%s)\n", f.Severity, f.Code, f.Detail, f.Reference)
	}
	fmt.Print(report.Recommendations[0].SuggestedValue)
	// Output:
	// Policy is not served with status 200
	// critical: mtasts.policy.status: The policy host answered 404 Not Found. (RFC 8461 section 3.3)
	// warning: mtasts.tls_rpt.missing: There is no TLSRPT record at _smtp._tls.example.com. (RFC 8460 section 3)
	// version: STSv1
	// mode: testing
	// mx: mx.example.com
	// max_age: 604800
}

func ExampleParsePolicy() {
	_, err := mtasts.ParsePolicy("version: STSv1\nmode: Enforce\nmx: mx.example.com.\nmax_age: 604800\n")
	if syntax, ok := errors.AsType[*mtasts.SyntaxError](err); ok {
		for _, fault := range syntax.Faults {
			fmt.Println(fault)
		}
	}
	// Output:
	// the mode is "Enforce", not enforce, testing or none
	// mx is "mx.example.com.": it ends with a dot
}
