package message

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// endless yields spaces without end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestRead(t *testing.T) {
	const text = "From: a@example.com\r\n\r\nHi.\n"
	got, err := Read(iotest.OneByteReader(strings.NewReader(text)))
	require.NoError(t, err)
	require.Equal(t, text, string(got))
	_, err = Read(strings.NewReader(""))
	require.ErrorIs(t, err, ErrEmpty)
	_, err = Read(endless{})
	require.ErrorIs(t, err, ErrTooLong)
	got, err = Read(io.LimitReader(endless{}, MaxBytes))
	require.NoError(t, err)
	require.Len(t, got, MaxBytes)
	broken := errors.New("broken")
	_, err = Read(iotest.ErrReader(broken))
	require.ErrorIs(t, err, broken)
}
