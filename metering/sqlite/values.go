package sqlite

import (
	"encoding/binary"
	"hash/fnv"
	"time"

	"github.com/diagkit/diagkit/metering/hold"
)

// micros is how an instant is stored.
func micros(t time.Time) int64 { return t.UnixMicro() }

func instant(us int64) time.Time { return time.UnixMicro(us).UTC() }

// tagOf names a claim in 31 bits, which SQLite stores in four bytes: the smaller the index, the fewer of its
// pages a charge costs. Claims may share a tag; the row tells them apart.
func tagOf(id hold.ClaimID) uint32 {
	h := fnv.New64a()
	h.Write([]byte(id.Line))
	return uint32((h.Sum64() ^ binary.LittleEndian.Uint64(id.Hash[:])) >> 33)
}
