package sqlite

import (
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/hold"
)

// keptBody is the body of a reply: its row, and the line of keys that it is kept for.
type keptBody struct {
	line, id    int64
	bytes       int
	at, expires int64
	limit       int64
}

// keep writes the reply of a charge for a line of keys.
func (w *writer) keep(j *job, line int64) error {
	w.header = hold.AppendHeader(w.header[:0], j.reply.Header)
	expires := j.at + metering.ReplayWindow.Microseconds()
	bind(w.reply, 1, int64(j.tag), expires, line, int64(j.reply.Status), int64(j.reply.Form))
	w.reply.BindBytes(6, j.ticket.Idempotency[:])
	w.reply.BindBytes(7, j.ticket.Fingerprint[:])
	w.reply.BindText(8, j.ticket.RequestID)
	w.reply.BindBytes(9, w.header)
	w.reply.BindBytes(10, j.reply.Body)
	w.reply.BindInt64(11, int64(len(j.reply.Body)))
	if err := run(w.reply); err != nil {
		return err
	}
	w.kept = append(w.kept, keptBody{
		line: line, id: w.conn.LastInsertRowID(), bytes: len(j.reply.Body), at: j.at, expires: expires,
		limit: j.ticket.KeptBytes,
	})
	return nil
}

// count takes in the bodies of a transaction that is durable now.
func (w *writer) count() {
	w.excess = w.excess[:0]
	for _, k := range w.kept {
		for _, id := range w.bodies.Add(k.line, k.id, k.bytes, instant(k.at), instant(k.expires), k.limit) {
			w.excess = append(w.excess, keptBody{line: k.line, id: id})
		}
	}
}

// dropBodies drops those for which the last transaction left no room. Their claims stay.
func (w *writer) dropBodies() error {
	for _, k := range w.excess {
		bind(w.drop, 1, int64(metering.GoneReply), k.id, k.line)
		if err := run(w.drop); err != nil {
			return err
		}
	}
	return nil
}
