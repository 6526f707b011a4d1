package tlsrpt_test

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/tlsrpt"
)

func ExampleLookup() {
	world, err := diagtest.New(diagtest.Config{Zone: `
		example.com.            MX  10 mx.example.com.
		mx.example.com.         A   192.0.2.25
		_mta-sts.example.com.   TXT "v=STSv1; id=20260101T000000"
		_smtp._tls.example.com. TXT "v=TLSRPTv1; rua=tls@example.com"`})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()

	// Pass nil instead of world.Env() to query the real Internet.
	report, err := tlsrpt.Lookup(context.Background(), world.Env(), tlsrpt.Request{
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
	fmt.Println(report.Recommendations[0].SuggestedValue)
	// Output:
	// Report address in rua is not a valid mailto or https URI
	// error: tlsrpt.rua.invalid: "tls@example.com" in rua has no mailto: in front of the address. (RFC 8460 section 3)
	// v=TLSRPTv1; rua=mailto:tls@example.com
}

func ExampleParseRecord() {
	record, err := tlsrpt.ParseRecord("v=TLSRPTv1; rua=mailto:tls-reports@example.com,https://tls.example.com/v1")
	fmt.Println(record.RUA, err)
	_, err = tlsrpt.ParseRecord("v=TLSRPTv1; rua=tls-reports@example.com")
	fmt.Println(err)
	// Output:
	// [mailto:tls-reports@example.com https://tls.example.com/v1] <nil>
	// the TLSRPT record is not valid: "tls-reports@example.com" in rua has no mailto: in front of the address
}

func ExampleParseReport() {
	report, err := tlsrpt.ParseReport([]byte(`{"organization-name": "Receiver Inc.", "report-id": "1",
		"date-range": {"start-datetime": "2026-11-01T00:00:00Z", "end-datetime": "2026-11-01T23:59:59Z"},
		"policies": [{"policy": {"policy-type": "sts", "policy-domain": "example.com"},
			"summary": {"total-successful-session-count": 97, "total-failure-session-count": 3},
			"failure-details": [{"result-type": "certificate-expired", "failed-session-count": 3}]}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Organization, report.Successful, report.Failed, report.Policies[0].Failures[0].Result)
	// Output:
	// Receiver Inc. 97 3 certificate-expired
}
