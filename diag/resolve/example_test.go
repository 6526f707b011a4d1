package resolve_test

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/miekg/dns"
)

func ExampleLookup() {
	world, err := diagtest.New(diagtest.Config{Zone: `
		www.example.com. 300 CNAME example.com.
		example.com.     300 MX    10 mx.example.com.`})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	name, err := diag.ParseName("www.example.com")
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := resolve.Lookup(context.Background(), world.Env(), resolve.Request{Name: name, Type: resolve.Type(dns.TypeMX)})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Rcode, report.CNAMEChain)
	for _, record := range report.Answers {
		fmt.Println(record.Name, record.TTL, record.Type, record.Data, record.Fields)
	}
	// Output:
	// NOERROR [example.com]
	// www.example.com 300 CNAME example.com. map[target:example.com]
	// example.com 300 MX 10 mx.example.com. map[exchange:mx.example.com preference:10]
}

// With a trace, the report shows how the answer comes about.
func ExampleLookup_trace() {
	world, err := diagtest.New(diagtest.Config{Zone: `
		example.com.     SOA   ns.example.com. hostmaster.example.com. 1 7200 3600 1209600 300
		example.com.     NS    ns.example.com.
		ns.example.com.  A     192.0.2.53
		www.example.com. A     192.0.2.80`})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	world.ServeZones()
	name, err := diag.ParseName("www.example.com")
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := resolve.Lookup(context.Background(), world.Env(), resolve.Request{
		Name: name, Type: resolve.Type(dns.TypeA), Resolver: resolve.Authoritative, Trace: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, step := range report.Trace {
		fmt.Println(step.Zone, step.ReferralNS, len(step.Answers))
	}
	fmt.Println(report.Resolver.Name, report.Answers[0].Data)
	// Output:
	// . [ns.com] 0
	// com [ns.example.com] 0
	// example.com [] 1
	// Authoritative servers of example.com 192.0.2.80
}

func ExampleReverse() {
	world, err := diagtest.New(diagtest.Config{Zone: `
		1.2.0.192.in-addr.arpa. 300 PTR mail.example.com.
		mail.example.com.       300 A   192.0.2.1`})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	report, err := resolve.Reverse(context.Background(), world.Env(), resolve.ReverseRequest{IP: diag.MustIP("192.0.2.1")})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.PTRName, report.Hostnames, report.ForwardConfirmed)
	// Output: 1.2.0.192.in-addr.arpa [mail.example.com] true
}
