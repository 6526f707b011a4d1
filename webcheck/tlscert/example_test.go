package tlscert_test

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/webcheck/tlscert"
)

func ExampleCheck() {
	world, err := diagtest.New(diagtest.Config{Zone: `www.example.com. A 192.0.2.80`})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	world.Site(diagtest.Site{Host: "www.example.com", Cert: diagtest.CertWrongName})

	// With nil instead of world.Env() the real Internet is asked.
	report, err := tlscert.Check(context.Background(), world.Env(),
		tlscert.Request{Host: tlscert.MustHost("www.example.com")})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Headline)
	fmt.Println(report.Findings[0].Detail)
	for _, v := range report.Versions {
		fmt.Println(v.Version, *v.Supported)
	}
	// Output:
	// Certificate does not match the name
	// The certificate does not match the name www.example.com: it is for wrong.example.
	// SSLv2 false
	// SSLv3 false
	// TLS 1.0 false
	// TLS 1.1 false
	// TLS 1.2 true
	// TLS 1.3 true
}
