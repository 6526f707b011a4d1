package postgres_test

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/mailauth/hostedspf/postgres"
)

// A store is opened by the URL of its database. An error about a mistyped one omits what might be a password.
func Example() {
	store, err := postgres.Open(context.Background(), "postgres:/diag:secret@localhost/diag", postgres.Config{})
	if err != nil {
		fmt.Println("there is no store")
		return
	}
	defer store.Close()
	// Output: there is no store
}
