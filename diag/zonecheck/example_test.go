package zonecheck_test

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/zonecheck"
)

func ExampleCheck() {
	world, err := diagtest.New(diagtest.Config{Zone: `
		example.com.      3600 SOA ns1.example.com. hostmaster.example.com. 2026010101 14400 3600 1209600 3600
		example.com.      3600 NS   ns1.example.com.
		example.com.      3600 NS   ns2.example.net.
		ns1.example.com.  3600 A    192.0.2.53
		ns1.example.com.  3600 AAAA 2001:db8:1::53
		ns2.example.net.  3600 A    198.51.100.53
		example.com.      3600 MX   10 mail.example.com.
		mail.example.com. 3600 CNAME www.example.com.
		www.example.com.  3600 A    203.0.113.80`})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	world.ServeZones()
	world.Server("ns2.example.net", "").Configure(diagtest.ServerConfig{Recursive: true})

	// With nil instead of world.Env() the real Internet is asked.
	report, err := zonecheck.Check(context.Background(), world.Env(), zonecheck.Request{
		Domain: diag.MustDomain("example.com"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Headline)
	for _, f := range report.Findings {
		if f.Severity > diag.Info {
			fmt.Printf("%s: %s\n  %s\n  %s\n", f.Severity, f.Title, f.Detail, f.Reference)
		}
	}
	// Output:
	// Open recursion on a name server
	// error: Open recursion on a name server
	//   ns2.example.net (198.51.100.53) resolved com, which it does not serve, for any client.
	//   Zonemaster NAMESERVER01, RFC 5358 section 4
	// error: MX record points to a CNAME
	//   mail.example.com is an alias of www.example.com.
	//   Zonemaster ZONE08, RFC 2181 section 10.3
}
