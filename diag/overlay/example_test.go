package overlay_test

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/overlay"
	"github.com/miekg/dns"
)

func Example() {
	world, err := diagtest.New(diagtest.Config{Zone: `www.example.com. A 192.0.2.1`}) // leave this out for the Internet
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()

	zone, err := overlay.Parse("; a snippet for review\n_dmarc TXT \"v=DMARC1; p=none\"\n", "", "example.com.zone")
	if err != nil {
		fmt.Println(err)
		return
	}
	env := world.Env().WithResolver(overlay.New(world.Env().DNS(), zone))
	for _, r := range diag.Lookup[*dns.TXT](context.Background(), env, "_dmarc.example.com").Records {
		fmt.Println(dnsmsg.TXT(r), "in line", zone.Line(r.Hdr.Name, dns.TypeTXT))
	}
	www := diag.Lookup[*dns.A](context.Background(), env, "www.example.com")
	fmt.Println(len(www.Records), "address as the world has it")
	// Output:
	// v=DMARC1; p=none in line 2
	// 1 address as the world has it
}
