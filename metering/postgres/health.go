package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/diagkit/diagkit/metering"
)

const (
	// examinePause is the time between two looks at the server, and examineTimeout how long one may take.
	examinePause   = time.Second
	examineTimeout = 2 * time.Second
)

// health is why the store cannot work, as far as that is known.
type health struct {
	trouble atomic.Pointer[error]
	doubts  chan struct{}
}

func (h *health) init() { h.doubts = make(chan struct{}, 1) }

// doubt lets the server be looked at now. One connection that breaks is no trouble of the store.
func (h *health) doubt() {
	select {
	case h.doubts <- struct{}{}:
	default:
	}
}

// Health implements [metering.Healthy]: the server is looked at every second, and at once after an error.
func (s *Store) Health() error {
	if err := s.health.trouble.Load(); err != nil {
		return *err
	}
	return nil
}

// examine looks after the server until the store closes.
func (s *Store) examine() {
	tick := time.NewTicker(examinePause)
	defer tick.Stop()
	for {
		doubt := s.Health() != nil
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		case <-s.health.doubts:
			doubt = true
		}
		if err := s.probe(doubt); err == nil {
			s.health.trouble.Store(nil)
			s.releaseAll()
		} else if s.ctx.Err() == nil {
			s.health.trouble.Store(&err)
		}
	}
}

// probe asks whether the server takes writes, and where there is doubt it writes.
func (s *Store) probe(doubt bool) error {
	ctx, cancel := context.WithTimeout(s.ctx, examineTimeout)
	defer cancel()
	var readOnly bool
	err := s.pool.QueryRow(ctx, "SELECT current_setting('transaction_read_only')::boolean").Scan(&readOnly)
	switch {
	case err == nil && readOnly:
		err = errors.New("PostgreSQL is read-only")
	case err == nil && doubt: // the same version again, but it is written
		_, err = s.pool.Exec(ctx, "UPDATE metering_layout SET version = version")
	}
	if err != nil && !errors.Is(err, metering.ErrUnavailable) {
		err = fmt.Errorf("%w: %w", metering.ErrUnavailable, err)
	}
	return err
}
