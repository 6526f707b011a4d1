package hold

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
)

// AppendHeader appends the fields of a kept reply, each as two strings with their lengths in front, sorted
// so that equal headers are equal bytes.
func AppendHeader(to []byte, header map[string]string) []byte {
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

// ParseHeader is the inverse of [AppendHeader].
func ParseHeader(data []byte) (map[string]string, error) {
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
