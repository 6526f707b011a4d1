package dnsmsg_test

import (
	"fmt"

	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/miekg/dns"
)

// The answer section of a reply has an alias, and the records at its target.
func ExampleFollow() {
	reply := new(dns.Msg).SetReply(dnsmsg.Question("www.example.com.", dns.TypeA, false))
	for _, line := range []string{
		"www.example.com. 300 IN CNAME host.example.net.",
		"host.example.net. 60 IN A 192.0.2.1",
	} {
		rr, err := dns.NewRR(line)
		if err != nil {
			fmt.Println(err)
			return
		}
		reply.Answer = append(reply.Answer, rr)
	}
	chain, records, ttl := dnsmsg.Follow[*dns.A](reply, "www.example.com.", dns.TypeA)
	fmt.Println(chain[0].Target, records[0].A, ttl)
	// Output: host.example.net. 192.0.2.1 60
}
