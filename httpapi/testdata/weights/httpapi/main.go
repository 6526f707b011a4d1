// Command httpapi is the smallest program that calls the package.
package main

import (
	"fmt"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering/memory"
)

func main() {
	fmt.Println(httpapi.Endpoints(), memory.New(memory.Config{}))
}
