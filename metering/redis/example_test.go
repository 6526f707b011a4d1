package redis_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/redis"
)

// Two servers share the bucket of a key.
func Example() {
	server := miniredis.NewMiniRedis() // in the place of a real one
	if err := server.Start(); err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	free := metering.Policy{Limit: 3}
	for name := range 2 {
		limiter, err := redis.Open(context.Background(), "redis://"+server.Addr(), redis.Config{})
		if err != nil {
			log.Fatal(err)
		}
		bucket := metering.Bucket{ID: "key_example"}
		for range 2 {
			d, err := limiter.Take(context.Background(), &bucket, free, time.Now())
			fmt.Println("server", name, "allowed:", d.Allowed, "remaining:", d.Remaining, err)
		}
		limiter.Close()
	}
	// Output:
	// server 0 allowed: true remaining: 2 <nil>
	// server 0 allowed: true remaining: 1 <nil>
	// server 1 allowed: true remaining: 0 <nil>
	// server 1 allowed: false remaining: 0 <nil>
}
