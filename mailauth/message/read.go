package message

import (
	"errors"
	"fmt"
	"io"
)

// MaxBytes bounds a message that [Read] accepts: mail servers accept some 25 to 50 MiB, encoded.
const MaxBytes = 64 << 20

// The errors of [Read] that are faults of the message.
var (
	ErrEmpty   = errors.New("the message is empty")
	ErrTooLong = fmt.Errorf("the message is longer than %d MiB", MaxBytes>>20)
)

// Read reads a whole message, such as from a file, standard input or a connection, for functions that accept its
// text: [Split], and Verify of packages dkim and arc. Nothing is changed. The error is [ErrEmpty], [ErrTooLong], or
// that of the reader.
func Read(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading a message: %w", err)
	case len(text) == 0:
		return nil, ErrEmpty
	case len(text) > MaxBytes:
		return nil, ErrTooLong
	}
	return text, nil
}
