package dnssec_test

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/dnssec"
	"github.com/miekg/dns"
)

// signedWorld is a small Internet whose root is signed, with the keys of that root as trust anchors.
func signedWorld() (*diagtest.World, *diag.Env) {
	world, err := diagtest.New(diagtest.Config{Zone: `
		example.com.           300 MX  10 mx.example.com.
		_25._tcp.mx.example.com. 300 TLSA 3 1 1 ( e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 )
		example.net.           300 MX  10 mx.example.com.`})
	if err != nil {
		panic(err)
	}
	world.Sign("example.com", diagtest.Signing{})
	world.Sign("example.net", diagtest.Signing{Broken: []diagtest.Broken{{Fault: diagtest.SigExpired, Type: dns.TypeMX}}})
	env := world.NewEnv()
	for _, ds := range world.Anchors() {
		env.TrustAnchors = append(env.TrustAnchors, ds)
	}
	return world, env
}

func ExampleCheck() {
	world, env := signedWorld()
	defer world.Close()
	for _, domain := range []string{"example.com", "example.net"} {
		request := dnssec.Request{Domain: diag.MustName(domain), Type: 15}
		report, err := dnssec.Check(context.Background(), env, request)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(domain, "is", report.Status)
		for _, link := range report.Chain {
			fmt.Println("  zone", link.Zone, "is", link.Status, "with", len(link.Keys), "keys")
		}
		if report.FirstFailure.Code != "" {
			fmt.Println("  " + report.FirstFailure.Message)
		}
	}
	// Output:
	// example.com is secure
	//   zone . is secure with 2 keys
	//   zone com is secure with 2 keys
	//   zone example.com is secure with 2 keys
	// example.net is bogus
	//   zone . is secure with 2 keys
	//   zone net is secure with 2 keys
	//   zone example.net is secure with 2 keys
	//   The signature over MX example.net by the key 54930 expired at 2025-12-31 00:00:00 UTC
}

func ExampleValidator() {
	world, env := signedWorld()
	defer world.Close()
	validator := dnssec.Validator{Env: env}
	result, err := validator.Validate(context.Background(), "_25._tcp.mx.example.com.", dns.TypeTLSA)
	if err != nil {
		fmt.Println(err)
		return
	}
	if result.Status == diag.Secure {
		fmt.Println(len(result.Records), "TLSA record to rely on")
	}
	// Output: 1 TLSA record to rely on
}
