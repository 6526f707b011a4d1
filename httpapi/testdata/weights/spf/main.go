// Command spf is the smallest program that calls the package.
package main

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/spf"
)

func main() {
	r, err := spf.Lookup(context.Background(), nil, spf.LookupRequest{Domain: diag.MustDomain("example.com")})
	fmt.Println(r, err)
}
