package sqlite

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/hold"
)

// micros is how an instant is stored.
func micros(t time.Time) int64 { return t.UnixMicro() }

func instant(us int64) time.Time { return time.UnixMicro(us).UTC() }

func bindInstant(stmt *sqlite.Stmt, param int, t *time.Time) {
	if t == nil {
		stmt.BindNull(param)
	} else {
		stmt.BindInt64(param, micros(*t))
	}
}

func columnInstant(stmt *sqlite.Stmt, column int) *time.Time {
	if stmt.ColumnIsNull(column) {
		return nil
	}
	t := instant(stmt.ColumnInt64(column))
	return &t
}

// monthNumber is how a period is stored: months since the year 0.
func monthNumber(p metering.Period) int64 { return int64(p.Year)*12 + int64(p.Month) - 1 }

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

// appendHeader writes the fields of a reply, each as two strings with their lengths in front, sorted
// so that equal headers are equal bytes.
func appendHeader(to []byte, header map[string]string) []byte {
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, s := range [...]string{name, header[name]} {
			to = binary.AppendUvarint(to, uint64(len(s)))
			to = append(to, s...)
		}
	}
	return to
}

// errHeader means that the stored fields of a reply are damaged.
var errHeader = errors.New("the stored header of a reply is damaged")

// parseHeader is the inverse of appendHeader.
func parseHeader(data []byte) (map[string]string, error) {
	header := make(map[string]string)
	for len(data) > 0 {
		var field [2]string
		for i := range field {
			length, n := binary.Uvarint(data)
			if n <= 0 || length > uint64(len(data)-n) {
				return nil, errHeader
			}
			field[i] = string(data[n : n+int(length)])
			data = data[n+int(length):]
		}
		header[field[0]] = field[1]
	}
	return header, nil
}
