package csr_test

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/webcheck/csr"
)

func ExampleParse() {
	const text = `-----BEGIN CERTIFICATE REQUEST-----
MIIBIjCBygIBADA5MQswCQYDVQQGEwJHQjEUMBIGA1UECgwLRXhhbXBsZSBMdGQx
FDASBgNVBAMMC2V4YW1wbGUuY29tMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
GU9abzy5x7IovBiNUsnVcgC4cKV9IGvaQMyXY8zXtRecIBWhb3v07DN5gfKk6GdC
wjsiajm531wURCzOM/yyyKAvMC0GCSqGSIb3DQEJDjEgMB4wHAYDVR0RBBUwE4IL
ZXhhbXBsZS5jb22HBMAAAgowCgYIKoZIzj0EAwIDRwAwRAIgau4Okh1HVQNJ8yD3
6OzqbanXOEp9yD0F5INdL5MEKagCIHOslvmgYYFOV9W/7Myw251MX3Q7cqfI8mno
3s0czC1d
-----END CERTIFICATE REQUEST-----`
	report, err := csr.Parse(context.Background(), nil, csr.Request{CSR: text})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Outcome, "-", report.Headline)
	for _, n := range report.Names {
		if !n.Valid {
			fmt.Printf("%s: %s\n", n.Value, n.Reason)
		}
	}
	fmt.Println(report.Recommendations[0].SuggestedValue)
	// Output:
	// non_compliant - Reserved IP address among the names
	// 192.0.2.10: the address is reserved: Documentation (TEST-NET-1) (RFC 5737)
	// openssl req -new -key example.com.key -sha256 -utf8 -subj '/C=GB/O=Example Ltd/CN=example.com' -addext 'subjectAltName=DNS:example.com' -out example.com-new.csr
}
