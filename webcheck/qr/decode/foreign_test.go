package decode

import (
	"bytes"
	"image"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/webcheck/internal/raster"
	"github.com/diagkit/diagkit/webcheck/internal/scan"
)

// foreignImages are images of codes of other kinds, by their names up to a dot. They were made with zint 2.11.
func foreignImages(t testing.TB) map[string][]byte {
	files, err := filepath.Glob("testdata/foreign/*.png")
	require.NoError(t, err)
	images := map[string][]byte{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		images[strings.TrimSuffix(filepath.Base(file), ".png")] = data
	}
	return images
}

var kinds = map[string]scan.Symbology{
	"micro-qr": scan.MicroQR, "rmqr": scan.RMQR, "data-matrix": scan.DataMatrix, "aztec": scan.Aztec,
	"pdf417": scan.PDF417, "none": "",
}

// A code of another kind is named, also if it is turned or inverted, and where that is not certain there is no QR code.
func TestForeign(t *testing.T) {
	for name, data := range foreignImages(t) {
		kind, _, _ := strings.Cut(name, ".")
		want, known := kinds[kind]
		require.True(t, known, name)
		img, err := png.Decode(bytes.NewReader(data))
		require.NoError(t, err)
		gray := image.NewGray(img.Bounds())
		draw.Draw(gray, gray.Rect, img, image.Point{}, draw.Src)
		wide := square(padded(gray, 20))
		for how, image := range map[string]image.Image{
			"as it is": img, "with a margin": wide, "turned by 90 degrees": turned(wide, 90), "upside down": turned(wide, 180),
			"inverted": inverted(wide), "turned by 7 degrees": turned(wide, 7),
		} {
			if how == "turned by 7 degrees" && kind == "rmqr" {
				continue // too long for that
			}
			t.Run(name+" "+how, func(t *testing.T) {
				r := decodeImage(t, Request{Image: asPNG(t, image)})
				require.Equal(t, []diag.Code{"qr.code.missing"}, diagtest.CodesOf(r.Findings))
				if want == "" {
					require.Equal(t, "No QR code found", r.Headline)
					return
				}
				assert.Contains(t, r.Headline, want)
				assert.Contains(t, r.Findings[0].Detail, want)
				assert.Equal(t, r.Sub, r.Findings[0].Advice)
			})
		}
	}
}

// square adds a margin on two sides, so that an image can be turned.
func square(in *image.Gray) *image.Gray {
	side := max(in.Rect.Dx(), in.Rect.Dy())
	out := image.NewGray(image.Rect(0, 0, side, side))
	draw.Draw(out, out.Rect, image.White, image.Point{}, draw.Src)
	at := image.Pt((side-in.Rect.Dx())/2, (side-in.Rect.Dy())/2)
	draw.Draw(out, in.Rect.Add(at), in, image.Point{}, draw.Src)
	return out
}

// A QR code that cannot be read is not taken for a code of another kind.
func TestDamagedIsNotForeign(t *testing.T) {
	for _, text := range []string{"1", link, link + "a/longer/path/that/makes/a/larger/code?with=a&query=string"} {
		for corner := range 4 {
			img := drawn(t, text, 200)
			cover := image.Rect(0, 0, 100, 100).Add(image.Pt(corner%2*100, corner/2*100))
			draw.Draw(img, cover, image.White, image.Point{}, draw.Src)
			r := decodeImage(t, Request{Image: asPNG(t, img)})
			if !r.Found {
				require.Equal(t, "No QR code found", r.Headline)
			}
		}
	}
}

// Whatever the modules, a search for codes of other kinds ends, and what it names is one of them.
func FuzzForeign(f *testing.F) {
	const module, margin = 3, 6 // pixels
	for _, data := range foreignImages(f) {
		img, err := png.Decode(bytes.NewReader(data))
		require.NoError(f, err)
		side := img.Bounds().Dx() / module
		var modules []byte
		for y := range img.Bounds().Dy() / module {
			for x := range side {
				r, _, _, _ := img.At(x*module+1, y*module+1).RGBA()
				modules = append(modules, byte(r>>15))
			}
		}
		f.Add(byte(side), modules)
	}
	f.Fuzz(func(t *testing.T, side byte, modules []byte) {
		width := int(side%100) + 1
		if height := len(modules) / width; height == 0 || height > 100 {
			return
		}
		img := &raster.Gray{Width: width*module + 2*margin, Height: len(modules)/width*module + 2*margin, Factor: 1}
		img.Pix = bytes.Repeat([]byte{0xff}, img.Width*img.Height)
		for i := range img.Pix {
			x, y := i%img.Width-margin, i/img.Width-margin
			if at := y/module*width + x/module; x >= 0 && y >= 0 && x < width*module && at < len(modules) && modules[at]&1 == 0 {
				img.Pix[i] = 0
			}
		}
		kind := scan.Foreign(img)
		require.True(t, slices.Contains(slices.Collect(maps.Values(kinds)), kind))
	})
}
