// Command metering is the smallest program that calls the package.
package main

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
)

func main() {
	store := memory.New(memory.Config{})
	gate, err := metering.NewGate(context.Background(), metering.GateConfig{Store: store})
	fmt.Println(gate, err)
}
