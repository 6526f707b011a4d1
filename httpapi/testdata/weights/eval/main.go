// Command eval is the smallest program that calls the package.
package main

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

func main() {
	r, err := eval.Check(context.Background(), nil, eval.Request{})
	fmt.Println(r, err)
}
