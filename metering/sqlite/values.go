package sqlite

import (
	"encoding/binary"
	"hash/fnv"
	"time"

	"github.com/diagkit/diagkit/metering/internal/hold"
)

// micros returns an instant as it is stored.
func micros(t time.Time) int64 { return t.UnixMicro() }

func instant(us int64) time.Time { return time.UnixMicro(us).UTC() }

// tagOf returns a 31-bit tag of a claim, which SQLite stores in four bytes: the smaller the index, the fewer of its
// pages a charge costs. Claims may share a tag; the row distinguishes them.
func tagOf(id hold.ClaimID) uint32 {
	h := fnv.New64a()
	h.Write([]byte(id.Line))
	return uint32((h.Sum64() ^ binary.LittleEndian.Uint64(id.Hash[:])) >> 33)
}
