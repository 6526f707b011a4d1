// Command dmarc is the smallest program that calls the package.
package main

import (
	"fmt"

	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
)

func main() {
	fmt.Println(policy.Parse("v=DMARC1; p=reject"))
}
