package nameserver_test

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/mailauth/hostedspf/memory"
	"github.com/diagkit/diagkit/mailauth/hostedspf/nameserver"
	"github.com/miekg/dns"
)

// A profile is published as soon as it is in the store.
func Example() {
	ctx := context.Background()
	store := memory.New(memory.Config{})
	defer store.Close()
	err := store.Create(ctx, hostedspf.Profile{
		ID: "spf_mn4zq2vtw6k7y3cx5hbd2jfgla", Owner: "key_a", IntervalSeconds: 3600, CreatedAt: time.Now(),
		IncludeHost: diag.MustName("abc.spf.example.net"),
		Records:     []hostedspf.Record{{Name: "abc.spf.example.net", Value: "v=spf1 ip4:192.0.2.0/24 -all"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	server, err := nameserver.Listen(ctx, "127.0.0.1:0", nameserver.Config{
		Store: store,
		Zone: nameserver.Zone{
			Name: diag.MustName("spf.example.net"),
			Nameservers: []nameserver.Nameserver{
				{Name: diag.MustName("ns1.spf.example.net"), Addrs: []netip.Addr{netip.MustParseAddr("192.0.2.53")}},
			},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Shutdown(ctx)

	question := new(dns.Msg).SetQuestion("abc.spf.example.net.", dns.TypeTXT)
	reply, err := dns.ExchangeContext(ctx, question, server.Addr())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(dnsmsg.TXT(reply.Answer[0].(*dns.TXT)), reply.Authoritative)
	// Output: v=spf1 ip4:192.0.2.0/24 -all true
}
