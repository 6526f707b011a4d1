package mx_test

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/mx"
)

func ExampleLookup() {
	world, err := diagtest.New(diagtest.Config{Zone: `
		example.com.     MX 10 mx1.example.com.
		example.com.     MX 20 mx2.example.com.
		mx1.example.com. A  192.0.2.25`})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()

	// Pass nil instead of world.Env() to query the real Internet.
	report, err := mx.Lookup(context.Background(), world.Env(), mx.Request{Domain: diag.MustDomain("example.com")})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Headline)
	for _, host := range report.Hosts {
		fmt.Println(host.Preference, host.Host, host.Addresses)
	}
	for _, f := range report.Findings {
		fmt.Printf("%s: %s: %s\n", f.Severity, f.Code, f.Detail)
	}
	// Output:
	// MX host does not exist
	// 10 mx1.example.com [192.0.2.25]
	// 20 mx2.example.com []
	// error: mx.host.nxdomain: The MX host mx2.example.com does not exist (NXDOMAIN).
	// info: mx.redundancy.host: All mail to example.com goes to mx1.example.com: while it is down, mail waits at the senders.
	// info: mx.ipv6.missing: None of the MX hosts of example.com has a public IPv6 address.
}
