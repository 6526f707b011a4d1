package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/sqlitedb"
)

const (
	// examinePause is the time between two tries to write, and examineTimeout how long one may take.
	examinePause   = time.Second
	examineTimeout = 3 * time.Second
)

// health is why the store cannot write, as far as that is known.
type health struct{ trouble atomic.Pointer[error] }

func (h *health) set(err error) { h.trouble.Store(&err) }

func (h *health) clear() { h.trouble.Store(nil) }

// Health implements [metering.Healthy]. Every second the store does the writes of a charge and rolls them back,
// without a flush of the disk unless in doubt. It is an error from the first write that failed because of the machine
// until one succeeds, and once the file was removed.
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

// examine monitors the file until the store closes.
func (s *Store) examine() {
	ctx := s.ctx
	tick := time.NewTicker(cmp.Or(s.config.pause, examinePause))
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

// charged are the tables that a charge writes, with rows that belong to no account.
var charged = []string{
	"INSERT INTO ledger (account, key, endpoint, credits, period, at, request) VALUES (0, 0, 0, 0, 0, 0, '')",
	"INSERT OR REPLACE INTO ledger_blocks VALUES (0, 0)",
	"INSERT OR REPLACE INTO balances (account, period, used, charges, peak) VALUES (0, 0, 0, 0, 0)",
	"INSERT OR REPLACE INTO key_uses VALUES (0, 0)",
	`INSERT INTO replies (tag, expires, key, status, form, hash, fingerprint, request, header, body)
		VALUES (0, 0, 0, 0, 0, x'', x'', '', x'', x'')`,
}

// errTakenBack ends a try.
var errTakenBack = errors.New("only tried")

// probe checks whether the store can write a charge. It has a separate connection, since the writer's transactions are
// those of customers.
func (s *Store) probe(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	doubt := s.Health() != nil
	err := s.file.Check()
	if err == nil {
		err = sqlitedb.Transact(ctx, s.trial, func() error {
			for _, sql := range charged {
				if err := sqlitedb.Exec(s.trial, sql, nil); err != nil {
					return err
				}
			}
			return errTakenBack
		})
	}
	if errors.Is(err, errTakenBack) {
		err = nil
	}
	if err == nil && doubt { // the same version again, but it is written
		err = s.administer(ctx, func(w *writer) error {
			return sqlitedb.Pragmas(w.conn, fmt.Sprintf("user_version = %d", SchemaVersion))
		}, nil)
	}
	switch {
	case err == nil && doubt:
		s.health.clear()
	case err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, metering.ErrClosed):
		if !errors.Is(err, metering.ErrUnavailable) {
			err = fmt.Errorf("%w: %w", metering.ErrUnavailable, err)
		}
		s.health.set(err)
	}
}

// administer runs an act on the writer, in one transaction with other waiting jobs. The function after, if any, runs
// once the act is durable and before its outcome is reported. If the context ends while the act is being written, it
// may still take effect.
func (s *Store) administer(ctx context.Context, act func(*writer) error, after func()) error {
	j := newJob()
	j.act, j.after = act, after
	writing, err := s.queue.do(ctx, j)
	if writing == nil {
		j.recycle()
	}
	return unavailable(err)
}
