//go:build !race

package decode

// The race detector makes these many times slower, and nothing in them runs at once.

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/webcheck/qr"
)

// Every version at every level is read, also when it is turned.
func TestEveryVersion(t *testing.T) {
	for version := 1; version <= 40; version++ {
		if testing.Short() && version%13 != 1 {
			continue
		}
		for _, level := range (qr.Level("")).Values() {
			text := symbolText(t, version, qr.Level(level))
			file, err := qr.Encode(qr.Request{Data: text, ErrorCorrection: qr.Level(level), Size: 4 * (17 + 4*version + 8)})
			require.NoError(t, err)
			require.Equal(t, version, file.Version)
			r := decodeImage(t, Request{Image: file.Data})
			require.True(t, r.Found, "%d-%s", version, level)
			c := r.Codes[0]
			require.Equal(t, text, c.Text, "%d-%s", version, level)
			require.Equal(t, version, c.Version)
			require.Equal(t, level, c.ErrorCorrection)
			require.Equal(t, file.Mask, c.Mask)
			require.Zero(t, c.ErrorsCorrected)
			require.Equal(t, 1, r.CodesCount)
		}
	}
}
