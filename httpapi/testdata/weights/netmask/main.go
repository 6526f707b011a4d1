// Command netmask is the smallest program that calls the package.
package main

import (
	"fmt"

	"github.com/diagkit/diagkit/diag/netmask"
)

func main() {
	r, err := netmask.Compute(netmask.Request{IP: "192.0.2.77/26"})
	fmt.Println(r, err)
}
