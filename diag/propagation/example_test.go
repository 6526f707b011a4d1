package propagation_test

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/propagation"
)

// One of three resolvers still has the old address. The Internet of this example is in memory.
func ExampleCheck() {
	world, err := diagtest.New(diagtest.Config{Zone: `
		example.com.     300  SOA ns.example.com. hostmaster.example.com. 2 7200 900 1209600 300
		example.com.     300  NS  ns.example.com.
		ns.example.com.  300  A   192.0.2.53
		www.example.com. 3600 A   192.0.2.80`})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	world.ServeZones()
	world.Resolver("9.9.9.9", "www.example.com. 1800 A 192.0.2.1")

	report, err := propagation.Check(context.Background(), world.Env(), propagation.Request{
		Name: diag.MustName("www.example.com"), Resolvers: []string{"google", "cloudflare", "quad9"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Authoritative.Values, report.Summary.Status, report.Summary.PropagationPercent)
	for _, finding := range report.Findings {
		fmt.Println(finding.Code, finding.Detail)
	}
	// Output:
	// [192.0.2.80] partial 66
	// propagation.resolver.stale Quad9 answers 192.0.2.1; its cached answer expires in 30 minutes.
}
