//go:build !race

package qr

// The race detector makes these many times slower, and nothing in them runs at once.

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode/encoder"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The two libraries draw ASCII texts as the same symbols, bit for bit and with the same masks.
func TestLibrariesAgree(t *testing.T) {
	alphabets := map[mode]string{
		numeric: "0123456789", alphanumeric: alphanumericSet, plainBytes: "https://example.com/ ",
	}
	for m, alphabet := range alphabets {
		for version := 1; version <= maxVersion; version += versionStep(3) {
			level := levels()[version%4]
			text := truncated(strings.Repeat(alphabet, 2000), m.capacity(version, level)-version%3)
			if modeOf(text) != m {
				continue // version 1 has no room for the character that shows the mode
			}
			drawn, err := newSymbol(text, m, version, level)
			require.NoError(t, err)
			other, err := encoder.Encoder_encode(text, level.zxing(), map[gozxing.EncodeHintType]any{gozxing.EncodeHintType_QR_VERSION: version})
			require.NoError(t, err)
			require.Equal(t, other.GetMaskPattern(), drawn.mask, "%v %d-%s", m, version, level)
			require.Equal(t, rows(other.GetMatrix().GetArray()), rows(drawn.modules), "%v %d-%s", m, version, level)
		}
	}
}

// Whatever colors are not refused can be read.
func TestColours(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	accepted := 0
	for i := range 240 {
		fg, bg := random.IntN(1<<24), random.IntN(1<<24)
		r := Request{
			Data: "https://example.com/colours", Format: formats()[i%3], Size: 74 + random.IntN(200),
			Foreground: fmt.Sprintf("#%06x", fg), Background: fmt.Sprintf("#%06X", bg),
		}
		img, err := Encode(r)
		if err != nil {
			fault, ok := errors.AsType[*diag.InputError](err)
			require.True(t, ok, err)
			require.Equal(t, "foreground", fault.Field)
			continue
		}
		accepted++
		text, err := tryRead(pixels(t, img))
		require.NoError(t, err, "%+v", r)
		require.Equal(t, r.Data, text, "%+v", r)
	}
	assert.Greater(t, accepted, 40)
}

func TestLargestImage(t *testing.T) {
	for _, format := range formats() {
		img, err := Encode(Request{Data: "https://example.com/", Format: format, Size: maxSize, Margin: new(maxMargin)})
		require.NoError(t, err)
		if format == SVG {
			assert.Contains(t, string(img.Data), `width="4096" height="4096" viewBox="0 0 57 57"`)
			continue
		}
		file, _, err := image.Decode(bytes.NewReader(img.Data))
		require.NoError(t, err)
		require.Equal(t, image.Rect(0, 0, maxSize, maxSize), file.Bounds())
		const step = 16
		small := image.NewGray(image.Rect(0, 0, maxSize/step, maxSize/step))
		for y := range small.Rect.Dy() {
			for x := range small.Rect.Dx() {
				small.Set(x, y, file.At(x*step, y*step))
			}
		}
		require.Equal(t, "https://example.com/", read(t, small))
	}
}
