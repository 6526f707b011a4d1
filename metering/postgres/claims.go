package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/internal/hold"
)

// queueClaims adds the statements that read the claims and kept replies of a group, if it has claims.
func (t *taken) queueClaims(batch *pgx.Batch, g *group[metering.Op, metering.Begun], now int64) {
	var lines []string
	var hashes [][]byte
	asked := make(map[hold.ClaimID]bool)
	for _, j := range g.jobs {
		if j.in.Idempotency == nil {
			continue
		}
		if id := hold.ClaimOf(&j.in); !asked[id] {
			asked[id] = true
			lines, hashes = append(lines, string(id.Line)), append(hashes, id.Hash[:])
		}
	}
	if len(lines) == 0 {
		return
	}
	t.claims = make(map[hold.ClaimID][32]byte)
	t.replies = make(map[hold.ClaimID]hold.Record)
	batch.Queue(readClaims, g.account, lines, hashes, now).Query(func(rows pgx.Rows) error {
		var line string
		var hash, fingerprint []byte
		var lapsed bool
		_, err := pgx.ForEachRow(rows, []any{&line, &hash, &fingerprint, &lapsed}, func() error {
			t.claims[claimID(line, hash)] = [32]byte(fingerprint)
			t.lapsed = t.lapsed || lapsed
			return nil
		})
		return err
	})
	batch.Queue(readReplies, g.account, lines, hashes).Query(func(rows pgx.Rows) error {
		var line string
		var hash, fingerprint, header []byte
		var expires int64
		var r hold.Record
		to := []any{&line, &hash, &r.RequestID, &fingerprint, &expires, &r.Reply.Status, &r.Reply.Form, &header,
			&r.Reply.Body}
		_, err := pgx.ForEachRow(rows, to, func() (err error) {
			r.Fingerprint, r.Expires = [32]byte(fingerprint), instant(expires)
			r.Reply.Header, err = hold.ParseHeader(header)
			t.replies[claimID(line, hash)] = r
			return err
		})
		return err
	})
}

func claimID(line string, hash []byte) hold.ClaimID {
	return hold.ClaimID{Line: metering.KeyID(line), Hash: [32]byte(hash)}
}

// repeat is Begin for a server that cannot write: it returns the outcome of an operation that was carried out before,
// or nothing.
func (s *Store) repeat(ctx context.Context, op metering.Op) (metering.Begun, error) {
	if op.Idempotency == nil {
		return metering.Begun{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	g := &group[metering.Op, metering.Begun]{account: op.Account, period: metering.PeriodOf(op.Now)}
	g.jobs = []*job[metering.Op, metering.Begun]{{in: op}}
	var t taken
	var batch pgx.Batch
	t.queue(&batch, g, micros(s.clock()))
	err := s.pool.SendBatch(ctx, &batch).Close()
	switch {
	case err != nil:
		return metering.Begun{}, s.failure(err)
	case !t.known:
		return metering.Begun{}, nil
	}
	t.claims = nil // of unfinished operations
	return t.repeated(&op, nil, s.balance(g.period, &t, t.sum))
}

// repeated returns the outcome of an operation that was begun before, or nothing.
func (t *taken) repeated(
	op *metering.Op, claimed map[hold.ClaimID][32]byte, balance metering.Balance,
) (metering.Begun, error) {
	id := hold.ClaimOf(op)
	for _, claims := range []map[hold.ClaimID][32]byte{t.claims, claimed} {
		fingerprint, ok := claims[id]
		switch {
		case ok && fingerprint != *op.Fingerprint:
			return metering.Begun{}, metering.ErrMismatch
		case ok:
			return metering.Begun{}, metering.ErrInFlight
		}
	}
	r, ok := t.replies[id]
	switch {
	case !ok || !op.Now.Before(r.Expires):
		return metering.Begun{}, nil
	case r.Fingerprint != *op.Fingerprint:
		return metering.Begun{}, metering.ErrMismatch
	case r.Reply.Form == metering.GoneReply:
		return metering.Begun{}, metering.ErrReplyGone
	}
	return metering.Begun{Replay: &metering.Replay{RequestID: r.RequestID, Reply: r.Reply, Balance: balance}}, nil
}
