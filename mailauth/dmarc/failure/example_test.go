package failure_test

import (
	"fmt"

	"github.com/diagkit/diagkit/mailauth/dmarc/failure"
)

func ExampleParse() {
	report, err := failure.Parse([]byte(`Subject: FW: Offer
Content-Type: multipart/report; report-type=feedback-report; boundary=b

--b
Content-Type: message/feedback-report

Feedback-Type: auth-failure
User-Agent: Receiver/1.0
Version: 1
Auth-Failure: dmarc
Identity-Alignment: none
Source-IP: 192.0.2.1
Reported-Domain: example.com

--b
Content-Type: text/rfc822-headers

From: Alice <alice@example.com>
Subject: Offer
--b--
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Type, report.Failure, report.SourceIP, report.ReportedDomain)
	fmt.Println(report.Original.Header.Value("Subject"))
	// Output:
	// auth-failure dmarc 192.0.2.1 example.com
	// Offer
}
