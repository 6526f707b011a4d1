//go:build !race

package decode

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/png"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/webcheck/qr"
)

// sheet is an image of codes in rows of eight, each with its number and some text.
func sheet(t *testing.T, n, size int, text string) []byte {
	const columns = 8
	out := image.NewGray(image.Rect(0, 0, columns*size, (n+columns-1)/columns*size))
	for i := range n {
		file, err := qr.Encode(qr.Request{Data: fmt.Sprintf("https://example.com/%d%s", i, text), Size: size})
		require.NoError(t, err)
		code, err := png.Decode(bytes.NewReader(file.Data))
		require.NoError(t, err)
		at := image.Pt(i%columns*size, i/columns*size)
		draw.Draw(out, image.Rectangle{at, at.Add(image.Pt(size, size))}, code, image.Point{}, draw.Src)
	}
	return pngOf(t, out)
}

func pngOf(t *testing.T, img image.Image) []byte {
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, img))
	return b.Bytes()
}

// Of sheets all codes are read, and what is left out is reported.
func TestSheets(t *testing.T) {
	for _, tt := range []struct {
		codes, size int
		text        string
	}{
		{21, 80, ""}, {24, 150, ""}, {30, 80, ""}, {40, 100, ""}, {50, 80, ""}, {60, 80, ""},
		{40, 160, "/a/longer/path/that/makes/a/larger/code?with=a&query=string"},
	} {
		r, err := Decode(t.Context(), nil, Request{Image: sheet(t, tt.codes, tt.size, tt.text), MaxCodes: maxCodes})
		require.NoError(t, err)
		require.Equal(t, min(tt.codes, maxCodes), r.CodesCount)
		require.False(t, r.Partial)
		require.Equal(t, tt.codes > maxCodes, slices.Contains(diagtest.CodesOf(r.Findings), "qr.code.more"))
	}
}

// Thousands of finder patterns are cheap, and the report says that not all were tried.
func TestSquares(t *testing.T) {
	for _, unit := range []int{1, 2, 4} {
		out := image.NewGray(image.Rect(0, 0, 2000, 2000))
		for i := range out.Pix {
			ring := max(abs(i%2000%(9*unit)/unit-4), abs(i/2000%(9*unit)/unit-4))
			if ring == 4 || ring == 2 {
				out.Pix[i] = 0xff
			}
		}
		file := pngOf(t, out)
		began := diagtest.ProcessorTime()
		r, err := Decode(t.Context(), nil, Request{Image: file})
		require.NoError(t, err)
		require.Zero(t, r.CodesCount)
		require.True(t, r.Partial)
		require.Contains(t, diagtest.CodesOf(r.Findings), diag.Code("qr.search.limit"))
		require.Less(t, diagtest.ProcessorTime()-began, 15*time.Second, "it takes 0.4 s of a processor")
	}
}

func abs(i int) int { return max(i, -i) }

// A code that is seen at an angle, so that its far edge is 30 % shorter, is read from all sides.
func TestPerspective(t *testing.T) {
	const size, far = 500, .7
	for turns := range 4 {
		file, err := qr.Encode(qr.Request{Data: "https://example.com/a/path/of/some/length", Size: size})
		require.NoError(t, err)
		code, err := png.Decode(bytes.NewReader(file.Data))
		require.NoError(t, err)
		out := image.NewGray(image.Rect(0, 0, size, size))
		for y := range size {
			for x := range size {
				depth := 1 / (far + (1-far)*float64(y)/size)
				across, down := (float64(x)/size-.5)*depth+.5, (1/far-depth)/(1/far-1)
				for range turns {
					across, down = down, 1-across
				}
				out.Set(x, y, color.White)
				if p := image.Pt(int(across*size), int(down*size)); p.In(code.Bounds()) && across >= 0 {
					out.Set(x, y, code.At(p.X, p.Y))
				}
			}
		}
		r, err := Decode(t.Context(), nil, Request{Image: pngOf(t, out)})
		require.NoError(t, err)
		require.Equal(t, 1, r.CodesCount)
	}
}

// Of an animation the first frame is read, and the reply says so.
func TestAnimation(t *testing.T) {
	frame := image.NewPaletted(image.Rect(0, 0, 30, 30), color.Palette{color.White, color.Black})
	for frames := 1; frames < 3; frames++ {
		var b bytes.Buffer
		film := &gif.GIF{}
		for range frames {
			film.Image, film.Delay = append(film.Image, frame), append(film.Delay, 1)
		}
		require.NoError(t, gif.EncodeAll(&b, film))
		r, err := Decode(t.Context(), nil, Request{Image: b.Bytes()})
		require.NoError(t, err)
		require.Equal(t, frames > 1, r.Partial)
		require.Equal(t, frames > 1, slices.Contains(diagtest.CodesOf(r.Findings), "qr.image.animated"))
	}
}
