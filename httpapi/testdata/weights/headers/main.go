// Command headers is the smallest program that calls the package.
package main

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/webcheck/headers"
)

func main() {
	r, err := headers.Check(context.Background(), nil, headers.Request{})
	fmt.Println(r, err)
}
