package smtpcheck_test

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/smtpcheck"
)

func ExampleCheck() {
	world, err := diagtest.New(diagtest.Config{Zone: `
		example.com.     MX 10 mx1.example.com.
		mx1.example.com. A  192.0.2.25`})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	world.SMTP(diagtest.SMTP{
		Host: "mx1.example.com", Cert: diagtest.CertExpired, Replies: map[string]string{"RCPT": "550 5.7.1 relaying denied"},
	})

	// Pass nil instead of world.Env() to use the real Internet.
	report, err := smtpcheck.Check(context.Background(), world.Env(), smtpcheck.Request{
		Domain: diag.MustDomain("example.com"), HELO: diag.MustDomain("client.example.net"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Headline)
	for _, f := range report.Findings {
		fmt.Printf("%s: %s: %s\n", f.Severity, f.Code, f.Detail)
	}
	for _, line := range report.Servers[0].Transcript[:3] {
		fmt.Println(line.Direction, line.Line)
	}
	// Output:
	// Certificate of the mail server has expired
	// warning: smtp.certificate.expired: mx1.example.com (192.0.2.25) shows a certificate that is not trusted: the certificate expired on 2025-12-31.
	// info: smtp.ptr.missing: mx1.example.com (192.0.2.25) has no reverse DNS: 192.0.2.25 has no PTR record.
	// server 220 mx1.example.com ESMTP
	// client EHLO client.example.net
	// server 250-mx1.example.com
}
