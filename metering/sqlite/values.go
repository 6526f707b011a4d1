package sqlite

import (
	"encoding/binary"
	"hash/fnv"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/hold"
)

// micros is how an instant is stored.
func micros(t time.Time) int64 { return t.UnixMicro() }

func instant(us int64) time.Time { return time.UnixMicro(us).UTC() }

// optional stores an instant that may be missing.
func optional(t *time.Time) *int64 {
	if t == nil || t.IsZero() {
		return nil
	}
	return new(micros(*t))
}

func columnInstant(stmt *sqlite.Stmt, column int) *time.Time {
	if stmt.ColumnIsNull(column) {
		return nil
	}
	return new(instant(stmt.ColumnInt64(column)))
}

// monthNumber is how a period is stored.
func monthNumber(p metering.Period) int64 { return p.Number() }

func periodOf(number int64) metering.Period {
	return metering.Period{Year: int(number / 12), Month: time.Month(number%12 + 1)}
}

// tagOf names a claim in 31 bits, which SQLite stores in four bytes: the smaller the index, the fewer of its
// pages a charge costs. Claims may share a tag; the row tells them apart.
func tagOf(id hold.ClaimID) uint32 {
	h := fnv.New64a()
	h.Write([]byte(id.Line))
	return uint32((h.Sum64() ^ binary.LittleEndian.Uint64(id.Hash[:])) >> 33)
}
