package decode

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/makiuchi-d/gozxing/qrcode/decoder"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/image/bmp"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/webcheck/internal/raster"
	"github.com/diagkit/diagkit/webcheck/qr"
)

const link = "https://example.com/"

// drawn is a code as an image of so many pixels.
func drawn(t testing.TB, text string, size int) *image.Gray {
	t.Helper()
	file, err := qr.Encode(qr.Request{Data: text, Size: size})
	require.NoError(t, err)
	img, err := png.Decode(bytes.NewReader(file.Data))
	require.NoError(t, err)
	out := image.NewGray(img.Bounds())
	draw.Draw(out, out.Rect, img, image.Point{}, draw.Src)
	return out
}

// warped takes each pixel of an image from where a function says.
func warped(in *image.Gray, from func(x, y float64) (float64, float64)) *image.Gray {
	out := image.NewGray(in.Rect)
	for y := range in.Rect.Dy() {
		for x := range in.Rect.Dx() {
			c := color.Gray{Y: 255}
			fx, fy := from(float64(x), float64(y))
			if p := image.Pt(int(math.Floor(fx)), int(math.Floor(fy))); p.In(in.Rect) {
				c = in.GrayAt(p.X, p.Y)
			}
			out.SetGray(x, y, c)
		}
	}
	return out
}

// turned turns an image around its middle.
func turned(in *image.Gray, degrees float64) *image.Gray {
	sin, cos := math.Sincos(degrees * math.Pi / 180)
	mx, my := float64(in.Rect.Dx())/2, float64(in.Rect.Dy())/2
	return warped(in, func(x, y float64) (float64, float64) {
		x, y = x-mx, y-my
		return mx + x*cos + y*sin, my - x*sin + y*cos
	})
}

// padded adds a margin.
func padded(in *image.Gray, by int) *image.Gray {
	out := image.NewGray(in.Rect.Inset(-by).Add(image.Pt(by, by)))
	draw.Draw(out, out.Rect, image.White, image.Point{}, draw.Src)
	draw.Draw(out, in.Rect.Add(image.Pt(by, by)), in, image.Point{}, draw.Src)
	return out
}

// tilted shows an image from below: its upper side is shorter.
func tilted(in *image.Gray, by float64) *image.Gray {
	w, h := float64(in.Rect.Dx()), float64(in.Rect.Dy())
	return warped(in, func(x, y float64) (float64, float64) {
		depth := 1 + by*(1-y/h)
		return w/2 + (x-w/2)*depth, h + (y-h)*depth
	})
}

// noisy adds noise.
func noisy(in *image.Gray, most int) *image.Gray {
	random := rand.New(rand.NewPCG(1, 2))
	out := image.NewGray(in.Rect)
	for i, v := range in.Pix {
		out.Pix[i] = uint8(min(255, max(0, int(v)+random.IntN(2*most+1)-most)))
	}
	return out
}

func inverted(in *image.Gray) *image.Gray {
	out := image.NewGray(in.Rect)
	for i, v := range in.Pix {
		out.Pix[i] = ^v
	}
	return out
}

func mirrored(in *image.Gray) *image.Gray {
	return warped(in, func(x, y float64) (float64, float64) { return float64(in.Rect.Dx()) - 1 - x, y })
}

func asPNG(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, img))
	return b.Bytes()
}

// Codes are read however they lie.
func TestDecode(t *testing.T) {
	plain := drawn(t, link, 300)
	transparent := image.NewNRGBA(plain.Rect) // light modules without a ground
	for i, v := range plain.Pix {
		transparent.Pix[4*i], transparent.Pix[4*i+1], transparent.Pix[4*i+2], transparent.Pix[4*i+3] = 255, 255, 255, 255-v
	}
	for _, tt := range []struct {
		name string
		img  image.Image
		want []string // codes of findings
	}{
		{"plain", plain, nil},
		{"a pixel a module", drawn(t, link, 64).SubImage(image.Rect(15, 15, 49, 49)), nil},
		{"turned by a quarter", turned(plain, 90), nil},
		{"turned upside down", turned(plain, 180), nil},
		{"turned by 17 degrees", turned(plain, 17), nil},
		{"turned by 45 degrees", turned(padded(plain, 80), 45), nil},
		{"from below", tilted(plain, .35), nil},
		{"from below and turned", turned(tilted(plain, .25), 30), nil},
		{"noise", noisy(plain, 100), nil},
		{"light on dark", inverted(plain), []string{"qr.code.inverted"}},
		{"mirror image", mirrored(plain), []string{"qr.code.mirrored"}},
		{"no margin", plain.SubImage(image.Rect(40, 40, 260, 260)), nil},
		{"dark frame", framed(plain), []string{"qr.code.quiet"}},
		{"light modules on nothing", transparent, []string{"qr.code.inverted"}},
		{"nothing", image.NewGray(plain.Rect), []string{"qr.code.missing"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := decodeImage(t, Request{Image: asPNG(t, tt.img)})
			var codes []string
			for _, f := range r.Findings {
				codes = append(codes, string(f.Code))
			}
			assert.Equal(t, tt.want, codes)
			if tt.name == "nothing" {
				assert.False(t, r.Found)
				return
			}
			require.True(t, r.Found)
			require.Equal(t, 1, r.CodesCount)
			assert.Equal(t, link, r.Codes[0].Text)
			assert.Equal(t, URL, r.Codes[0].ContentType)
		})
	}
}

// framed draws a dark frame right around a code.
func framed(in *image.Gray) *image.Gray {
	out := image.NewGray(in.Rect)
	inner := image.Rect(36, 36, 264, 264)
	draw.Draw(out, inner, in, inner.Min, draw.Src)
	return out
}

func decodeImage(t testing.TB, r Request) *Report {
	t.Helper()
	report, err := Decode(context.Background(), nil, r)
	require.NoError(t, err)
	return report
}

// The format is detected from the content, and all of them are read alike.
func TestFormats(t *testing.T) {
	img := drawn(t, link, 200)
	for format, encode := range map[raster.Format]func(b *bytes.Buffer) error{
		raster.PNG:  func(b *bytes.Buffer) error { return png.Encode(b, img) },
		raster.JPEG: func(b *bytes.Buffer) error { return jpeg.Encode(b, img, nil) },
		raster.GIF:  func(b *bytes.Buffer) error { return gif.Encode(b, img, nil) },
		raster.BMP:  func(b *bytes.Buffer) error { return bmp.Encode(b, img) },
	} {
		var b bytes.Buffer
		require.NoError(t, encode(&b))
		r := decodeImage(t, Request{Image: b.Bytes()})
		require.True(t, r.Found, format)
		assert.Equal(t, link, r.Codes[0].Text)
		assert.Equal(t, Image{format, 200, 200, b.Len()}, r.Image)

		r = decodeImage(t, Request{Image: b.Bytes()[:40]})
		assert.False(t, r.Found)
		assert.Equal(t, diag.Code("qr.image.unreadable"), r.Findings[0].Code, format)
	}
}

// Positions are in pixels of the file, also of a large one that was reduced, and codes come in reading order.
func TestPositions(t *testing.T) {
	page := image.NewGray(image.Rect(0, 0, 3000, 2600))
	draw.Draw(page, page.Rect, image.White, image.Point{}, draw.Src)
	texts := []string{"one", "two", "three", "four"}
	places := []image.Point{{100, 140}, {1700, 100}, {80, 1500}, {1600, 1540}}
	for i, text := range texts {
		draw.Draw(page, image.Rectangle{places[i], places[i].Add(image.Pt(580, 580))}, drawn(t, text, 580), image.Point{}, draw.Src)
	}
	data := asPNG(t, page)
	r := decodeImage(t, Request{Image: data})
	var got []string
	for i, c := range r.Codes {
		got = append(got, c.Text)
		module := 580 / 29 // version 1, and the margin
		for corner, want := range []image.Point{{4, 4}, {25, 4}, {25, 25}, {4, 25}} {
			want = places[i].Add(want.Mul(module))
			assert.InDelta(t, want.X, c.Position[corner].X, 6)
			assert.InDelta(t, want.Y, c.Position[corner].Y, 6)
		}
	}
	assert.Equal(t, texts, got)

	r = decodeImage(t, Request{Image: data, MaxCodes: 1})
	assert.Equal(t, 1, r.CodesCount)
	assert.Equal(t, "one", r.Codes[0].Text)
	assert.Equal(t, diag.Code("qr.code.more"), r.Findings[0].Code)
}

// The same image has the same reply.
func TestDeterministic(t *testing.T) {
	img := asPNG(t, noisy(turned(drawn(t, link, 300), 33), 120))
	first, err := json.Marshal(decodeImage(t, Request{Image: img}))
	require.NoError(t, err)
	for range 5 {
		again, err := json.Marshal(decodeImage(t, Request{Image: img}))
		require.NoError(t, err)
		require.Equal(t, string(first), string(again))
	}
}

// symbolText is a text that fills exactly this version.
func symbolText(t *testing.T, number int, level qr.Level) string {
	t.Helper()
	version, err := decoder.Version_GetVersionForNumber(number)
	require.NoError(t, err)
	ec, err := decoder.ErrorCorrectionLevel_ValueOf(string(level))
	require.NoError(t, err)
	length := version.GetTotalCodewords() - version.GetECBlocksForLevel(ec).GetTotalECCodewords() - 2
	if number > 9 {
		length--
	}
	random := rand.New(rand.NewPCG(uint64(number), uint64(level[0])))
	text := make([]byte, length)
	for i := range text {
		text[i] = "abcdefghijklmnopqrstuvwxyz /:."[random.IntN(30)]
	}
	return string(text)
}

// Requests that make no sense are the caller's fault; images beyond the limits are refused before they are read.
func TestRefusals(t *testing.T) {
	ctx := t.Context()
	for _, r := range []Request{{}, {Image: []byte("x"), MaxCodes: 51}, {Image: []byte("x"), MaxCodes: -1}, {Image: make([]byte, MaxBytes+1)}} {
		_, err := Decode(ctx, nil, r)
		var input *diag.InputError
		require.ErrorAs(t, err, &input)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err := Decode(ended, nil, Request{Image: asPNG(t, drawn(t, link, 300))})
	require.ErrorIs(t, err, context.Canceled)
}

// What cannot be read has no size to be named by.
func TestSubjectOfNoImage(t *testing.T) {
	r, err := Decode(t.Context(), nil, Request{Image: []byte("no image")})
	require.NoError(t, err)
	assert.Equal(t, "image", r.View().Subject)
}
