package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/diagkit/diagkit/metering"
)

const (
	// examinePause is the time between two tries to write, and examineTimeout how long one may take: together less than
	// the five seconds after which a server must say that it is not ready.
	examinePause   = 2 * time.Second
	examineTimeout = 2 * time.Second
)

// health is why the store cannot work, as far as that is known.
type health struct {
	trouble atomic.Pointer[error]
	doubts  chan struct{}
}

func (h *health) init() { h.doubts = make(chan struct{}, 1) }

// doubt triggers a check of the server now. A single broken connection is not a fault of the store.
func (h *health) doubt() {
	select {
	case h.doubts <- struct{}{}:
	default:
	}
}

// Health implements [metering.Healthy]: the writes of a charge are tried every two seconds, and immediately after an
// error.
func (s *Store) Health() error {
	if err := s.health.trouble.Load(); err != nil {
		return *err
	}
	return nil
}

// examine monitors the server until the store closes.
func (s *Store) examine() {
	tick := time.NewTicker(examinePause)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		case <-s.health.doubts:
		}
		if err := s.probe(); err == nil {
			s.health.trouble.Store(nil)
			s.releaseAll()
		} else if s.ctx.Err() == nil {
			s.health.trouble.Store(&err)
		}
	}
}

// The rows of the probe belong to no account, and are removed in the same transaction, which is as durable as that of
// a charge. A locked table is waited for at most one second, and the server then gives up on its own.
const (
	probeSettings = "SELECT set_config('lock_timeout', '1s', true)"
	probeWrites   = `WITH
		a AS (INSERT INTO ledger (account, seq, key, endpoint, credits, period, at, request, ceiling)
			VALUES ('', $1, '', '', 0, 0, 0, '', 0)),
		b AS (INSERT INTO balances (account, period, used, charges, peak) VALUES ('', $2, 0, 0, 0)),
		c AS (INSERT INTO key_uses (account, key, at) VALUES ('', $3, 0)),
		d AS (INSERT INTO replies (account, line, hash, id, expires, status, form, fingerprint, request, header, body, bytes)
			VALUES ('', $3, '', $1, 0, 0, 0, '', '', '', '', 0)),
		e AS (INSERT INTO lines (account, line, bytes) VALUES ('', $3, 0)),
		f AS (INSERT INTO admissions (account) VALUES ($3)),
		g AS (INSERT INTO taken (account, period, credits) VALUES ('', $2, 0))
		INSERT INTO holds (account, token, period, credits, ceiling, lease) VALUES ('', $1, 0, 0, 0, 0)`
	probeRemoves = `WITH
		a AS (DELETE FROM ledger WHERE account = '' AND seq = $1),
		b AS (DELETE FROM balances WHERE account = '' AND period = $2),
		c AS (DELETE FROM key_uses WHERE account = '' AND key = $3),
		d AS (DELETE FROM replies WHERE account = '' AND line = $3 AND hash = '' AND id = $1),
		e AS (DELETE FROM lines WHERE account = '' AND line = $3),
		f AS (DELETE FROM admissions WHERE account = $3),
		g AS (DELETE FROM taken WHERE account = '' AND period = $2)
		DELETE FROM holds WHERE account = '' AND token = $1`
)

// probe does the writes of a charge. Servers that probe at the same time use separate rows.
func (s *Store) probe() error {
	ctx, cancel := context.WithTimeout(s.ctx, examineTimeout)
	defer cancel()
	number := rand.Int64()
	args := []any{number, int32(number), fmt.Sprintf("probe %d", number)}
	var batch pgx.Batch // one transaction
	batch.Queue(probeSettings)
	batch.Queue(probeWrites, args...)
	batch.Queue(probeRemoves, args...)
	err := s.pool.SendBatch(ctx, &batch).Close()
	if err == nil {
		err = s.readClock(ctx)
	}
	if err != nil && !errors.Is(err, metering.ErrUnavailable) {
		err = fmt.Errorf("%w: %w", metering.ErrUnavailable, err)
	}
	return err
}
