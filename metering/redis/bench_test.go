package redis

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// BenchmarkTake compares the shared limiter with the local one, from one goroutine and from many.
func BenchmarkTake(b *testing.B) {
	limiters := map[string]metering.Limiter{"local": metering.LocalLimiter{}}
	if url := os.Getenv("DIAG_TEST_REDIS"); url != "" {
		limiters["redis"] = open(b, url, uniquePrefix())
	}
	p := metering.Policy{Limit: 1 << 30}
	for name, limiter := range limiters {
		for _, goroutines := range []int{1, 16, 256} {
			b.Run(fmt.Sprintf("%s/%d", name, goroutines), func(b *testing.B) {
				bucket := metering.Bucket{ID: "key_bench"}
				var wg sync.WaitGroup
				for range goroutines {
					wg.Go(func() {
						for range (b.N + goroutines - 1) / goroutines {
							if _, err := limiter.Take(context.Background(), &bucket, p, time.Now()); err != nil {
								b.Error(err)
							}
						}
					})
				}
				wg.Wait()
			})
		}
	}
}
