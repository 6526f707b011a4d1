// Command idn is the smallest program that calls the package.
package main

import (
	"fmt"

	"github.com/diagkit/diagkit/diag/idn"
)

func main() {
	r, err := idn.Convert(idn.Request{Domain: "bücher.example"})
	fmt.Println(r, err)
}
