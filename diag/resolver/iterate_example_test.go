package resolver_test

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
)

// A walk shows how an answer comes about. The Internet of this example is in memory.
func ExampleIterator() {
	world, err := diagtest.New(diagtest.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	world.Server("ns.root.example", "192.0.2.1",
		". SOA . . 1 1 1 1 1\nexample. NS ns.nic.example.\nns.nic.example. A 192.0.2.2")
	world.Server("ns.nic.example", "192.0.2.2",
		"example. SOA . . 1 1 1 1 1\nshop.example. NS ns.shop.example.\nns.shop.example. A 192.0.2.3")
	world.Server("ns.shop.example", "192.0.2.3",
		"shop.example. SOA . . 1 1 1 1 1\nwww.shop.example. A 192.0.2.80")

	client := &resolver.Client{Dial: world.Dial, AsIs: true, Attempts: 1}
	iterator := &resolver.Iterator{
		Ask:   client.Ask,
		Roots: []resolver.NameServer{{Name: "ns.root.example.", Addrs: []netip.Addr{netip.MustParseAddr("192.0.2.1")}}},
	}
	walk := iterator.Find(context.Background(), "www.shop.example.", dns.TypeA, false)
	for _, hop := range walk.Hops {
		fmt.Println(hop.Zone, hop.Server, hop.NS)
	}
	fmt.Println(walk.Reply.Answer[0].(*dns.A).A, walk.Err)
	// Output:
	// . ns.root.example. [ns.nic.example.]
	// example. ns.nic.example. [ns.shop.example.]
	// shop.example. ns.shop.example. []
	// 192.0.2.80 <nil>
}
