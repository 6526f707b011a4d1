package policy_test

import (
	"fmt"

	"github.com/diagkit/diagkit/webcheck/hsts/policy"
)

func ExampleParse() {
	header := policy.Parse("max-age=31536000; includeSubDomains")
	fmt.Println(header.Valid(), header.Age(), header.IncludeSubdomains)

	header = policy.Parse("includeSubDomains")
	for _, fault := range header.Faults {
		fmt.Println(header.Valid(), fault.Kind)
	}
	// Output:
	// true 8760h0m0s true
	// false no max-age
}
