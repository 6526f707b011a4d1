package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/sqlitedb"
)

// examinePause is the time between two looks at the file, and between two tries to write to it after one failed.
const examinePause = time.Second

// health is why the store cannot write, as far as that is known.
type health struct{ trouble atomic.Pointer[error] }

func (h *health) set(err error) { h.trouble.Store(&err) }

func (h *health) clear() { h.trouble.Store(nil) }

// Health implements [metering.Healthy]. It is an error from the first write that failed for want of the
// machine until one succeeds, which is tried every second, and once the file was removed.
func (s *Store) Health() error {
	if err := s.health.trouble.Load(); err != nil {
		return *err
	}
	return nil
}

// unavailable marks an error of the machine.
func unavailable(err error) error {
	if !sqlitedb.Unavailable(err) || errors.Is(err, metering.ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", metering.ErrUnavailable, err)
}

// examine looks after the file until the store closes.
func (s *Store) examine() {
	ctx, cancel := s.untilClose()
	defer cancel()
	tick := time.NewTicker(examinePause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.probe(ctx)
		}
	}
}

// probe finds out whether the store can write, if there is a reason to doubt it.
func (s *Store) probe(ctx context.Context) {
	if err := s.file.Check(); err != nil {
		s.health.set(unavailable(err))
	}
	if s.Health() == nil {
		return
	}
	err := s.administer(ctx, func(w *writer) error { // the same version again, but it is written
		return sqlitedb.Pragmas(w.conn, fmt.Sprintf("user_version = %d", SchemaVersion))
	}, nil)
	if err == nil {
		s.health.clear()
	}
}
