package decode

import (
	"image"
	"image/draw"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// row is an image with images side by side on a light ground, as far apart as given.
func row(gap int, list ...*image.Gray) *image.Gray {
	width, height := gap, 0
	for _, img := range list {
		width, height = width+img.Rect.Dx()+gap, max(height, img.Rect.Dy())
	}
	out := image.NewGray(image.Rect(0, 0, width, height+2*gap))
	draw.Draw(out, out.Rect, image.White, image.Point{}, draw.Src)
	at := image.Pt(gap, gap)
	for _, img := range list {
		draw.Draw(out, img.Rect.Add(at), img, image.Point{}, draw.Src)
		at.X += img.Rect.Dx() + gap
	}
	return out
}

// Dark and inverted codes of one image are all read, and the report says which is which.
func TestInvertedBeside(t *testing.T) {
	const path = "/a/longer/path/that/makes/a/larger/code?with=a&query=string"
	dark := func(text string, size int) *image.Gray { return drawn(t, "dark "+text, size) }
	light := func(text string, size int) *image.Gray { return inverted(drawn(t, "light "+text, size)) }
	for name, img := range map[string]*image.Gray{
		"dark first":    row(20, dark("a", 200), light("b", 200)),
		"light first":   row(20, light("a", 200), dark("b", 200)),
		"small":         row(8, light("a", 87), dark("b", 87)),
		"large, small":  row(10, dark("a", 400), light("b", 90)),
		"small, large":  row(10, dark("a", 90), light("b", 400)),
		"without a gap": row(0, dark("a", 150), light("b", 150)),
		"noisy":         noisy(row(20, dark("a", 200), light("b", 200)), 60),
		"turned":        turned(row(60, dark("a", 150), light("b", 150)), 11),
		"upside down":   turned(row(60, light("b", 150), dark("a", 150)), 180),
		"long contents": row(20, dark("a"+path, 300), light("b"+path, 300)),
	} {
		t.Run(name, func(t *testing.T) {
			r := decodeImage(t, Request{Image: asPNG(t, img)})
			require.Len(t, r.Codes, 2)
			for _, c := range r.Codes {
				assert.Equal(t, strings.HasPrefix(c.Text, "light"), c.Inverted, c.Text)
			}
			assert.NotEqual(t, r.Codes[0].Inverted, r.Codes[1].Inverted)
		})
	}
	r := decodeImage(t, Request{Image: asPNG(t, row(0, dark("a", 150), light("b", 150), dark("c", 150), light("d", 150)))})
	require.Len(t, r.Codes, 4)
}
