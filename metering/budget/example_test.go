package budget_test

import (
	"context"
	"fmt"
	"log"

	"github.com/diagkit/diagkit/metering/budget"
)

// Work of one account takes its share of the memory, and gives it back.
func ExamplePool() {
	pool := &budget.Pool{All: 1 << 30, Account: 512 << 20, Key: 256 << 20}
	lease, err := pool.Take(context.Background(), budget.Owner{Account: "acc_1", Key: "key_1"}, 64<<20)
	if err != nil {
		log.Fatal(err) // budget.ErrFull: answer that the server is busy
	}
	fmt.Println(pool.Held()>>20, "MiB held")
	lease.Release()
	fmt.Println(pool.Held()>>20, "MiB held")
	// Output:
	// 64 MiB held
	// 0 MiB held
}
