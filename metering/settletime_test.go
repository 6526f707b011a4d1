package metering

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// What settles has 14 to 15 seconds, its own values, and ends with a context that ends earlier.
func TestSettleEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type name struct{}
		forever := context.WithValue(context.Background(), name{}, "value")
		var s settleDeadline
		var ends []context.Context
		for range 5 {
			ctx, cancel := s.bound(forever)
			cancel() // which ends nothing that others share
			equal(t, any("value"), ctx.Value(name{}), "value")
			noError(t, ctx.Err())
			until, ok := ctx.Deadline()
			left := time.Until(until)
			isTrue(t, ok && left <= settleTime && left > settleTime-settleShare, "deadline")
			ends = append(ends, ctx)
			time.Sleep(400 * time.Millisecond)
		}
		equal(t, ends[0].Done(), ends[2].Done(), "shared")
		isTrue(t, ends[2].Done() != ends[3].Done(), "for a second")
		for _, ctx := range ends {
			<-ctx.Done()
			isTrue(t, errors.Is(ctx.Err(), context.DeadlineExceeded), "end")
		}
		short, stop := context.WithCancel(forever)
		ctx, cancel := s.bound(short)
		defer cancel()
		until, _ := ctx.Deadline()
		equal(t, settleTime, time.Until(until), "of its own")
		stop()
		<-ctx.Done()
		isTrue(t, errors.Is(ctx.Err(), context.Canceled), "ends with the other one")
	})
}
