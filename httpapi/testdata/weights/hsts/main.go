// Command hsts is the smallest program that calls the package.
package main

import (
	"fmt"

	"github.com/diagkit/diagkit/webcheck/hsts/policy"
)

func main() {
	fmt.Println(policy.Parse("max-age=31536000; preload"))
}
