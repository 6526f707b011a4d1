package memory_test

import (
	"context"
	"fmt"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/mailauth/hostedspf/memory"
)

// The holder of a claim resolves the profile alone, until the claim is finished, released or lapses.
func Example() {
	ctx := context.Background()
	store := memory.New(memory.Config{})
	defer store.Close()
	err := store.Create(ctx, hostedspf.Profile{
		ID: "spf_1", Owner: "key_1", Domain: diag.MustDomain("example.com"), IncludeHost: diag.MustName("_flat.example.net"),
	})
	fmt.Println(err)
	claim, err := store.Claim(ctx, "spf_1", time.Minute)
	fmt.Println(claim.ProfileID, err)
	_, err = store.Claim(ctx, "spf_1", time.Minute)
	fmt.Println(err)
	// Output:
	// <nil>
	// spf_1 <nil>
	// the profile is being resolved
}
