package diagtest_test

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
)

func Example() {
	world, err := diagtest.New(diagtest.Config{Zone: `
		example.com.      MX  10 mx.example.com.
		mx.example.com.   A   192.0.2.25
	`})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	world.Break("example.net", dns.RcodeServerFailure)

	ctx, env := context.Background(), world.Env()
	for _, domain := range []string{"example.com", "mx.example.com", "example.org", "example.net"} {
		mx := diag.Lookup[*dns.MX](ctx, env, domain)
		fmt.Println(domain, len(mx.Records), mx.RcodeName())
	}
	// Output:
	// example.com 1 NOERROR
	// mx.example.com 0 NOERROR
	// example.org 0 NXDOMAIN
	// example.net 0 SERVFAIL
}

func ExampleWorld_Sign() {
	world, err := diagtest.New(diagtest.Config{Zone: `
		example.com.  TXT  "v=spf1 -all"
		example.net.  TXT  "v=spf1 -all"
	`})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	world.Sign("example.com", diagtest.Signing{})
	world.Sign("example.net", diagtest.Signing{Broken: []diagtest.Broken{{Fault: diagtest.SigExpired}}})

	for _, domain := range []string{"example.com", "example.net"} {
		txt := diag.Lookup[*dns.TXT](context.Background(), world.Env(), domain)
		fmt.Println(domain, txt.RcodeName(), txt.DNSSEC())
	}
	// Output:
	// example.com NOERROR secure
	// example.net SERVFAIL bogus
}
