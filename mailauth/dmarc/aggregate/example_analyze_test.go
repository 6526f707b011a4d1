package aggregate_test

import (
	"context"
	"fmt"
	"os"

	"github.com/diagkit/diagkit/mailauth/dmarc/aggregate"
)

func ExampleAnalyze() {
	file, err := os.ReadFile("testdata/newsletter.xml")
	if err != nil {
		fmt.Println(err)
		return
	}
	// With ResolvePTR the names of the largest sources are looked up; without it there are no DNS lookups.
	a, err := aggregate.Analyze(context.Background(), nil, aggregate.Request{Content: file})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(a.Headline)
	for _, s := range a.Sources {
		fmt.Printf("%s %s: %d of %d pass, %s (%s)\n", s.SourceIP, s.Service, s.PassCount, s.MessageCount, s.Classification, s.Reason)
	}
	for _, f := range a.Findings {
		if f.Target == "Mailchimp" {
			fmt.Println(f.Advice)
		}
	}
	// Output:
	// Sending service fails DMARC: not aligned with the domain
	// 192.0.2.25 : 600 of 600 pass, legitimate (spf_aligned)
	// 198.51.100.7 Mailchimp: 0 of 100 pass, unlisted (known_service)
	// 198.51.100.80 : 20 of 20 pass, forwarding (dkim_survived)
	// 203.0.113.200 : 0 of 5 pass, spoofing (spf_denied)
	// Set up Mailchimp for your domain. Under Domains, authenticate the domain and publish the two CNAME records k2._domainkey and k3._domainkey. Mailchimp keeps its own return path: DMARC passes by DKIM alone. See https://mailchimp.com/help/set-up-email-domain-authentication/. If nobody in your organization uses it, someone else does so in your name: report it to the service, and enforce the policy once all your own mail passes.
}
