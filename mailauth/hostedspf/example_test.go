package hostedspf_test

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/mailauth/hostedspf/memory"
)

// A profile is created from the published record, and holds the records to publish instead.
func Example() {
	world, err := diagtest.New(diagtest.Config{Zone: `
		example.com.      TXT "v=spf1 include:_spf.example.org a:mail.example.com -all"
		_spf.example.org. TXT "v=spf1 ip4:192.0.2.0/25 include:_more.example.org -all"
		_more.example.org. TXT "v=spf1 ip4:192.0.2.128/25 ip6:2001:db8::/32 -all"
		mail.example.com. A 198.51.100.25
	`})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	ctx, env := context.Background(), world.Env()
	access := hostedspf.Access{Store: memory.New(memory.Config{}), Owner: "key_1"}

	profile, err := hostedspf.Create(ctx, env, access, hostedspf.CreateRequest{
		Domain: diag.MustDomain("example.com"), IncludeHost: diag.MustName("_flat.example.net"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("lookups:", profile.LookupsBefore, "before,", profile.LookupsAfter, "after")
	for _, r := range profile.Records {
		fmt.Println(r.Name, r.Value)
	}
	// Output:
	// lookups: 3 before, 1 after
	// _flat.example.net v=spf1 ip4:192.0.2.0/24 ip4:198.51.100.25 ip6:2001:db8::/32 -all
}

// Flatten shows the flattened record without storing it.
func ExampleFlatten() {
	world, err := diagtest.New(diagtest.Config{Zone: `
		_spf.example.org. TXT "v=spf1 ip4:192.0.2.0/24 exists:%{i}._spf.example.org ~all"
	`})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	report, err := hostedspf.Flatten(context.Background(), world.Env(), hostedspf.FlattenRequest{
		Domain: diag.MustDomain("example.com"), SourceRecord: "v=spf1 include:_spf.example.org -all",
		IncludeHost: diag.MustName("_flat.example.net"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Published.FlattenedRecord)
	for _, f := range report.Findings {
		fmt.Println(f.Code, f.Detail)
	}
	// Output:
	// v=spf1 ip4:192.0.2.0/24 exists:%{i}._spf.example.org -all
	// spf.hosted.domain.unused The SPF record of example.com does not lead to _flat.example.net.
	// spf.hosted.stays.macro exists:%{i}._spf.example.org of _spf.example.org is kept as it is, and costs 1 DNS lookup.
}
