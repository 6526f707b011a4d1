package registry_test

import (
	"context"
	"fmt"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/registry"
)

func ExampleLookupDomain() {
	world, err := diagtest.New(diagtest.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	world.RDAP("rdap.verisign.com", map[string]string{"/com/v1/domain/example.com": `{
		"objectClassName": "domain", "ldhName": "EXAMPLE.COM", "status": ["client transfer prohibited"],
		"events": [{"eventAction": "expiration", "eventDate": "2026-01-13T04:00:00Z"}],
		"nameservers": [{"ldhName": "NS1.EXAMPLE.NET"}, {"ldhName": "NS2.EXAMPLE.NET"}]}`})

	request := registry.DomainRequest{Domain: diag.MustDomain("www.example.com")}
	report, err := registry.LookupDomain(context.Background(), world.Env(), request)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.RegisteredDomain, *report.Registered, report.Dates.ExpiresAt.Format(time.DateOnly))
	for _, status := range report.Statuses {
		fmt.Println(status.Code, status.Impact)
	}
	for _, finding := range report.Findings {
		fmt.Println(finding.Code)
	}
	// Output:
	// example.com true 2026-01-13
	// clientTransferProhibited protective
	// rdap.expiry.expiring
}

func ExampleLookupIP() {
	// Unregistered addresses are answered without a query.
	report, err := registry.LookupIP(context.Background(), nil, registry.IPRequest{IP: diag.MustIP("192.0.2.1")})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Purpose.Name, report.Purpose.RFC, report.Network.CIDRs)
	// Output: Documentation (TEST-NET-1) RFC 5737 [192.0.2.0/24]
}

func ExampleClient() {
	world, err := diagtest.New(diagtest.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	world.Whois("whois.example", map[string]string{"www.example": "No match for \"www.example\".\n"})

	servers, err := registry.ParseServers([]byte(`{"example": "whois.example"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	client := registry.Client{WhoisServers: servers}
	request := registry.DomainRequest{Domain: diag.MustDomain("www.example")}
	report, err := client.LookupDomain(context.Background(), world.Env(), request)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(*report.Registered, report.Protocol, report.Servers)
	// Output: false whois [whois.example]
}
