package tlsrpt_test

import (
	"fmt"

	"github.com/diagkit/diagkit/mailauth/tlsrpt"
)

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
