package spf_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/miekg/dns"
)

// Many domains are looked up by a bounded number of goroutines that share one cache: a record that all of them
// include is queried once.
func ExampleLookup_batch() {
	const domains, atOnce = 1000, 50
	var zone strings.Builder
	zone.WriteString("_spf.example.net. TXT \"v=spf1 ip4:198.51.100.0/24 ~all\"\n")
	for i := range domains {
		fmt.Fprintf(&zone, "d%d.example.com. TXT \"v=spf1 include:_spf.example.net -all\"\n", i)
	}
	world, err := diagtest.New(diagtest.Config{Zone: zone.String()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	env := world.Env()
	env = env.WithResolver(&resolver.Cache{Upstream: env.DNS(), Clock: env.Now})

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	names, states := make(chan string, domains), make(chan diag.State, domains)
	for i := range domains {
		names <- fmt.Sprintf("d%d.example.com", i)
	}
	close(names)
	var group diag.Group
	for range atOnce {
		group.Go(func() {
			for name := range names {
				state := diag.Unknown
				if domain, err := diag.ParseDomain(name); err == nil {
					if report, err := spf.Lookup(ctx, env, spf.LookupRequest{Domain: domain}); err == nil {
						state = report.State
					}
				}
				states <- state
			}
		})
	}
	group.Wait()
	close(states)
	counts := map[diag.State]int{}
	for state := range states {
		counts[state]++
	}
	fmt.Println(counts)
	fmt.Println("questions for the included record:", world.Asked("_spf.example.net.", dns.TypeTXT))
	// Output:
	// map[valid:1000]
	// questions for the included record: 1
}
