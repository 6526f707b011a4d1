package spf_test

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/spf"
)

// exampleZone is the zone of the examples.
const exampleZone = `
	example.com.      TXT "v=spf1 mx include:_spf.example.net ptr -all exp=why.example.com"
	example.com.      MX  10 mx.example.com.
	mx.example.com.   A   192.0.2.25
	_spf.example.net. TXT "v=spf1 ip4:198.51.100.0/24 mx:old.example.net ~all"
	why.example.com.  TXT "%{i} does not send for %{d}"`

func ExampleLookup() {
	world, err := diagtest.New(diagtest.Config{Zone: exampleZone})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()

	// Pass nil instead of world.Env() to query the real Internet.
	report, err := spf.Lookup(context.Background(), world.Env(), spf.LookupRequest{
		Domain: diag.MustDomain("example.com"),
		IP:     diag.MustIP("198.51.100.7"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Headline)
	for _, f := range report.Findings {
		fmt.Printf("%s: %s: %s (%s)\n", f.Severity, f.Code, f.Detail, f.Reference)
	}
	fmt.Printf("%d of %d lookups, %d void\n", report.DNSLookups.Count, report.DNSLookups.Limit, report.VoidLookups.Count)
	fmt.Println(report.Authorized.IP4)
	fmt.Println(report.IPTest.Result, report.IPTest.MatchedTerm, report.IPTest.MatchedDomain)
	// Output:
	// SPF record uses the ptr mechanism
	// warning: spf.ptr: "ptr" should no longer be used. (RFC 7208 section 5.5)
	// warning: spf.mx.void: In the SPF record of _spf.example.net: old.example.net has no MX records, so that "mx:old.example.net" never matches. (RFC 7208 section 5.4)
	// 4 of 10 lookups, 1 void
	// [192.0.2.25/32 198.51.100.0/24]
	// pass ip4:198.51.100.0/24 _spf.example.net
}

func ExampleWalk() {
	world, err := diagtest.New(diagtest.Config{Zone: exampleZone})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	tree, err := spf.Walk(context.Background(), world.Env(), diag.MustDomain("example.com"), "")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, n := range tree.Nodes() {
		fmt.Println(n.Domain, n.CumulativeLookups)
		for _, t := range n.Terms {
			fmt.Println(" ", t.Raw, t.Networks)
		}
	}
	// Output:
	// example.com 4
	//   mx [192.0.2.25/32]
	//   include:_spf.example.net []
	//   ptr []
	//   -all []
	//   exp=why.example.com []
	// _spf.example.net 1
	//   ip4:198.51.100.0/24 [198.51.100.0/24]
	//   mx:old.example.net []
	//   ~all []
}
