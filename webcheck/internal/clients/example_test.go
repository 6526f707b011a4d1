package clients_test

import (
	"context"
	"fmt"
	"net"

	"github.com/diagkit/diagkit/webcheck/internal/clients"
	"github.com/diagkit/diagkit/webcheck/internal/probe"
	"github.com/diagkit/diagkit/webcheck/tlscert/tlscerttest"
)

// A server with TLS 1.3 alone locks out old clients.
func Example() {
	server := tlscerttest.Server{
		Suites: map[probe.Version][]uint16{probe.TLS13: {0x1301, 0x1302}}, Groups: []probe.Group{probe.X25519, probe.P256},
	}
	dial := func(context.Context) (net.Conn, error) { // to www.example.com:443, say
		here, there := net.Pipe()
		go server.Serve(there)
		return here, nil
	}
	ctx := context.Background()
	scan := probe.Scan(ctx, dial, probe.Config{ServerName: "www.example.com"})
	ask := func(ctx context.Context, h probe.Hello) (*probe.Reply, error) {
		conn, err := dial(ctx)
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		return probe.Ask(ctx, conn, h)
	}
	for _, o := range clients.Examine(ctx, clients.Server{ServerName: "www.example.com", Scan: scan}, ask) {
		if o.Connects == probe.No {
			fmt.Println(o.Family.Name, o.Reason)
		}
	}
	// Output:
	// Windows 10 no_common_version
	// Windows Server 2012 R2 no_common_version
	// Java 8u161 no_common_version
	// OpenSSL 1.0.2 no_common_version
}
