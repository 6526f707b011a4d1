package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/mailauth/hostedspf/sqlite"
)

// Two processes share a file: a profile that one is resolving is skipped by the other.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	var stores [2]*sqlite.Store
	for i := range stores {
		if stores[i], err = sqlite.Open(ctx, filepath.Join(dir, "diag.db"), sqlite.Config{}); err != nil {
			fmt.Println(err)
			return
		}
		defer stores[i].Close()
	}
	const id = "spf_mn4zq2vtw6k7y3cx5hbd2jfgla"
	fmt.Println(stores[0].Create(ctx, hostedspf.Profile{
		ID: id, Owner: "key_a", Domain: diag.MustDomain("example.com"), IncludeHost: diag.MustName("abc.spf.example.net"),
		IntervalSeconds: 3600, CreatedAt: time.Now(),
	}))
	_, err = stores[0].Claim(ctx, id, time.Minute)
	fmt.Println(err)
	_, err = stores[1].Claim(ctx, id, time.Minute)
	fmt.Println(err)
	// Output:
	// <nil>
	// <nil>
	// claiming spf_mn4zq2vtw6k7y3cx5hbd2jfgla: the profile is being resolved
}
