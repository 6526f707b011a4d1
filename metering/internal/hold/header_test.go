package hold_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering/internal/hold"
)

func FuzzHeader(f *testing.F) {
	f.Add([]byte{})
	f.Add(hold.AppendHeader(nil, map[string]string{"Content-Type": "image/png", "X": ""}))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Add([]byte{3, 'a'})
	f.Fuzz(func(t *testing.T, data []byte) {
		header, err := hold.ParseHeader(data)
		if err != nil {
			require.Nil(t, header)
			return
		}
		again, err := hold.ParseHeader(hold.AppendHeader(nil, header))
		require.NoError(t, err)
		require.Equal(t, header, again)
	})
}
