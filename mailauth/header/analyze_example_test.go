package header_test

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/header"
)

func ExampleAnalyze() {
	world, err := diagtest.New(diagtest.Config{Zone: `
		bank.example.              TXT "v=spf1 ip4:192.0.2.60 -all"
		_dmarc.bank.example.       TXT "v=DMARC1; p=reject"
		vps.example.net.           A   203.0.113.77
		77.113.0.203.in-addr.arpa. PTR vps.example.net.
	`})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	report, err := header.Analyze(context.Background(), world.Env(), header.AnalyzeRequest{Headers: `Return-Path: <service@bank.example>
Received: from vps.example.net (vps.example.net [203.0.113.77])
	by mx.example.com (Postfix) with ESMTPS id 1; Thu, 01 Jan 2026 00:00:00 +0000
From: Bank <service@bank.example>
To: bob@example.com
Subject: Confirm your account
Date: Thu, 01 Jan 2026 00:00:00 +0000
Message-ID: <1@vps.example.net>
`})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Headline)
	fmt.Println(report.Conclusion.Authentic)
	for _, reason := range report.Conclusion.Reasons {
		fmt.Println("-", reason)
	}
	// Output:
	// DMARC fails: the author is not authenticated
	// unlikely
	// - DMARC fails: neither SPF nor DKIM authenticates bank.example, the domain in From.
	// - The server 203.0.113.77 is not authorized to send for bank.example (SPF: fail).
	// - The message is not signed with DKIM.
}
