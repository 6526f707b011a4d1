package postgres

import (
	"context"
	"sync/atomic"
	"time"
)

// clock is the server's clock, for everything that its stores share: months, the ends of leases and sweeps. It is read
// periodically, and advanced with the monotonic clock of this machine in between; this machine's wall clock is not
// used.
type clock struct{ last atomic.Pointer[clockReading] }

type clockReading struct {
	there time.Time
	here  time.Time // with the monotonic clock
}

func (c *clock) now() time.Time {
	r := c.last.Load()
	return r.there.Add(time.Since(r.here))
}

// readClock reads the server's clock, unless the store was given one.
func (s *Store) readClock(ctx context.Context) error {
	if !s.shared {
		return nil
	}
	var at int64
	sent := time.Now()
	err := s.pool.QueryRow(ctx, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint").Scan(&at)
	if err == nil {
		s.server.last.Store(&clockReading{instant(at), sent.Add(time.Since(sent) / 2)})
	}
	return err
}

// Now implements [metering.Clocked].
func (s *Store) Now() time.Time { return s.clock() }
