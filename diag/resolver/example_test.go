package resolver_test

import (
	"context"
	"fmt"
	"net"

	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/miekg/dns"
)

// A client queries servers in order; a trace records how. The network of this example is in memory.
func Example() {
	server, err := resolver.ParseServer("udp://192.0.2.53")
	if err != nil {
		fmt.Println(err)
		return
	}
	client := &resolver.Client{
		Servers: []resolver.Server{server},
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return packets(answering)(ctx)
		},
	}
	defer client.Close()

	var trace resolver.Trace
	ctx := resolver.WithTrace(context.Background(), &trace)
	m, err := client.Exchange(ctx, new(dns.Msg).SetQuestion("www.example.com.", dns.TypeA))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(dns.RcodeToString[m.Rcode], m.Answer[0].(*dns.A).A)
	for _, step := range trace.Steps() {
		fmt.Println(step.Server, step.Transport)
	}
	// Output:
	// NOERROR 192.0.2.1
	// udp://192.0.2.53 udp
}

// A server can be written in several ways.
func ExampleParseServer() {
	for _, text := range []string{
		"192.0.2.1", "tls://192.0.2.1#dns.example", "https://dns.example/dns-query", "dns.example",
	} {
		fmt.Println(resolver.ParseServer(text))
	}
	// Output:
	// udp://192.0.2.1 <nil>
	// tls://dns.example#192.0.2.1 <nil>
	// https://dns.example/dns-query <nil>
	// udp:// name server "dns.example": the host must be an IP address
}
