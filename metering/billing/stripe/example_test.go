package stripe_test

import (
	"fmt"

	"github.com/diagkit/diagkit/metering/billing"
	"github.com/diagkit/diagkit/metering/billing/stripe"
	"github.com/diagkit/diagkit/metering/memory"
)

func Example() {
	store := memory.New(memory.Config{})
	defer store.Close()
	biller, err := stripe.New("sk_test_0123456789abcdefghij")
	if err != nil {
		fmt.Println(err)
		return
	}
	b := billing.Billing{Store: store, Biller: biller} // b.Run closes months and charges for as long as a server runs
	fmt.Println(b.Biller == billing.Biller(biller))
	_, err = stripe.New("pk_live_0123456789abcdefghij")
	fmt.Println(err)
	// Output:
	// true
	// this is a publishable key, which cannot charge; use a restricted or secret one
}
