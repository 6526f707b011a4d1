package header_test

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/mailauth/header"
)

func ExampleAudit() {
	report, err := header.Audit(context.Background(), nil, header.AuditRequest{Headers: `Received: from vps77.example.net (vps77.example.net [203.0.113.77])
	by mx.example.com (Postfix) with ESMTP id 4XcR500001
	for <bob@example.com>; Sun, 01 Nov 2026 09:00:04 +0000
Authentication-Results: mx.example.com; spf=fail smtp.mailfrom=service@example.org;
	dmarc=fail (p=reject) header.from=example.org
From: Service <service@example.org>
Date: Sun, 01 Nov 2026 09:00:00 +0000
`})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Headline)
	for _, hop := range report.Hops {
		fmt.Println(hop.From, hop.IP, "to", hop.By)
	}
	fmt.Println(report.Findings[0].Detail)
	// Output:
	// DMARC failed: the sender is not authenticated
	// vps77.example.net 203.0.113.77 to mx.example.com
	// The receiving server recorded dmarc=fail for example.org, whose policy is reject (SPF: fail).
}
