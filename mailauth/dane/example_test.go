package dane_test

import (
	"context"
	"crypto/x509"
	"fmt"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/dane"
)

func ExampleLookup() {
	world, err := diagtest.New(diagtest.Config{Zone: `
		example.com.             SOA  ns.example.com. hostmaster.example.com. 1 7200 3600 1209600 300
		example.com.             NS   ns.example.com.
		ns.example.com.          A    192.0.2.53
		example.com.             MX   10 mx.example.com.
		mx.example.com.          A    192.0.2.25
		_25._tcp.mx.example.com. TLSA 3 1 1 60317c58126f414056dce98152fca4e2b6b84c4c38a3e4c7a1e2f0a3d8e2b1c0`})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	world.ServeZones()
	world.Sign("example.com.", diagtest.Signing{})
	world.SMTP(diagtest.SMTP{Host: "mx.example.com"}) // with another key

	// With nil instead of world.Env(), it queries the real Internet.
	report, err := dane.Lookup(context.Background(), world.Env(), dane.Request{Domain: diag.MustDomain("example.com")})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Headline)
	for _, h := range report.Hosts {
		fmt.Printf("%s: %s: %s\n", h.Host, h.Status, h.Error)
	}
	// Output:
	// Certificate matches no TLSA record
	// mx.example.com: fail: none of the TLSA records matches the certificate
}

func ExampleVerify() {
	record, err := dane.ParseRecord("3 1 1 60317c58126f414056dce98152fca4e2b6b84c4c38a3e4c7a1e2f0a3d8e2b1c0")
	if err != nil {
		fmt.Println(err)
		return
	}
	var chain []*x509.Certificate // from tls.ConnectionState.PeerCertificates
	result := dane.Verify([]dane.Record{record}, dane.Peer{Chain: chain, Names: []string{"mx.example.com"}, Now: time.Now()})
	fmt.Println(result.OK(), result.Err())
	// Output: false the server presented no certificate
}
