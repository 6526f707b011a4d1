// Command dkim is the smallest program that calls the package.
package main

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/mailauth/dkim"
)

func main() {
	r, err := dkim.Verify(context.Background(), nil, nil, dkim.Options{})
	fmt.Println(r, err)
}
