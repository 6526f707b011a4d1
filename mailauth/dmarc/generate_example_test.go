package dmarc_test

import (
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/dmarc"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
)

func ExampleGenerate() {
	report, err := dmarc.Generate(dmarc.GenerateRequest{
		Policy:           policy.Reject,
		Domain:           diag.MustDomain("example.com"),
		AggregateReports: []string{"dmarc@reports.example.net"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.ZoneLine)
	for _, a := range report.ExternalAuthorizations {
		fmt.Printf("%s %s %q\n", a.Name, a.Type, a.Value)
	}
	for _, s := range report.Rollout {
		fmt.Println(s.Step, s.DurationDays, s.Record)
	}
	// Output:
	// _dmarc.example.com. 3600 IN TXT "v=DMARC1; p=reject; rua=mailto:dmarc@reports.example.net"
	// example.com._report._dmarc.reports.example.net TXT "v=DMARC1"
	// 1 30 v=DMARC1; p=none; rua=mailto:dmarc@reports.example.net
	// 2 14 v=DMARC1; p=quarantine; rua=mailto:dmarc@reports.example.net; t=y
	// 3 30 v=DMARC1; p=quarantine; rua=mailto:dmarc@reports.example.net
	// 4 0 v=DMARC1; p=reject; rua=mailto:dmarc@reports.example.net
}
