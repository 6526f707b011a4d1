package qr

import (
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/diag"
)

// formats and levels list the enumerations as themselves.
func formats() []Format { return []Format{PNG, SVG, JPEG} }
func levels() []Level   { return []Level{Low, Medium, Quartile, High} }

var texts = []string{
	"0", "31415926535", "DIAGKIT 42/7: $%*+-.", "https://example.com/?q=a&r=b", "a\x00b\x7f\n",
	"Zürich", "日本語 and ASCII", "😀", strings.Repeat("https://example.com/é ", 20),
}

func TestDefaults(t *testing.T) {
	img, err := Encode(Request{Data: "https://example.com/"})
	require.NoError(t, err)
	assert.Equal(t, "image/png", img.MediaType())
	assert.Equal(t, 2, img.Version)
	assert.Equal(t, Medium, img.ErrorCorrection)
	page := pixels(t, img)
	assert.Equal(t, image.Rect(0, 0, 512, 512), page.Bounds())
	assert.Equal(t, "https://example.com/", read(t, page))
	// 25 modules and a margin of 4 around them are 33: 15 pixels each, and 17 left over.
	assert.Equal(t, color.NRGBA{255, 255, 255, 255}, page.At(67, 67))
	assert.Equal(t, color.NRGBA{0, 0, 0, 255}, page.At(68, 68))
	assert.Equal(t, color.NRGBA{0, 0, 0, 255}, page.At(68+7*15-1, 68))
	assert.Equal(t, color.NRGBA{255, 255, 255, 255}, page.At(68+7*15, 68))

	same, err := Encode(Request{
		Data: "https://example.com/", Format: PNG, Size: 512, ErrorCorrection: Medium, Margin: new(4),
		Foreground: "#000000", Background: "#FFFFFF",
	})
	require.NoError(t, err)
	assert.Equal(t, img, same, "the defaults, spelt out")
}

func TestEverythingReadsBack(t *testing.T) {
	for _, format := range formats() {
		for _, level := range levels() {
			for i, text := range texts {
				margin := (i + int(level.zxing())) % 3
				r := Request{Data: text, Format: format, ErrorCorrection: level, Margin: &margin, Size: 125 + 20*i}
				img, err := Encode(r)
				require.NoError(t, err, "%+v", r)
				require.Equal(t, text, read(t, pixels(t, img)), "%s %s %d", format, level, margin)
			}
		}
	}
}

func TestSmallestImage(t *testing.T) {
	for _, text := range []string{strings.Repeat("a", 300), strings.Repeat("é", 150)} {
		for _, format := range []Format{PNG, JPEG} {
			r := Request{Data: text, Format: format, Size: 72}
			_, err := Encode(r)
			fault, ok := errors.AsType[*diag.InputError](err)
			require.True(t, ok, err)
			require.Equal(t, "size", fault.Field)
			_, err = fmt.Sscanf(fault.Reason, "must be at least %d", &r.Size)
			require.NoError(t, err, fault.Reason)

			img, err := Encode(r)
			require.NoError(t, err, "the size that the error named")
			require.Equal(t, text, read(t, pixels(t, img)))
			r.Size--
			_, err = Encode(r)
			require.Error(t, err)
		}
	}
	coloured := Request{Data: "https://example.com/", Format: JPEG, Size: 65, Foreground: "#000080"}
	_, err := Encode(coloured)
	assert.EqualError(t, err, "size: must be at least 66 for this data, error correction, margin and format")
	coloured.Size = 66
	img, err := Encode(coloured)
	require.NoError(t, err)
	assert.Equal(t, coloured.Data, read(t, pixels(t, img)))

	img, err = Encode(Request{Data: strings.Repeat("a", 300), Format: SVG, Size: 72})
	require.NoError(t, err, "a viewer may enlarge an SVG file")
	assert.Equal(t, strings.Repeat("a", 300), read(t, pixels(t, img)))
}

func TestTransparent(t *testing.T) {
	png, err := Encode(Request{Data: "x", Background: "transparent", Foreground: "#102030"})
	require.NoError(t, err)
	assert.Contains(t, string(png.Data), "tRNS")
	page := pixels(t, png)
	assert.Equal(t, color.NRGBA{255, 255, 255, 255}, page.At(0, 0), "the page shows through")
	assert.Equal(t, "x", read(t, page))

	svg, err := Encode(Request{Data: "x", Format: SVG, Background: "transparent"})
	require.NoError(t, err)
	assert.Equal(t, 1, strings.Count(string(svg.Data), "<path"))
	assert.Equal(t, "x", read(t, pixels(t, svg)))
}

func TestRefused(t *testing.T) {
	long := strings.Repeat("a", 2000)
	tests := []struct {
		name    string
		request Request
		field   string
		reason  string
	}{
		{"no data", Request{}, "data", "must not be empty"},
		{"not UTF-8", Request{Data: "\xff"}, "data", "must be valid UTF-8"},
		{"more than any code holds", Request{Data: long + long}, "data",
			"is 4000 bytes long; a code holds at most 2953"},
		{"more digits than wanted", Request{Data: strings.Repeat("1", 2954)}, "data",
			"is 2954 bytes long; a code holds at most 2953"},
		{"too long for H", Request{Data: long, ErrorCorrection: High}, "data",
			"is 2000 bytes long; at error correction level H a code holds at most 1273 bytes of ASCII text"},
		{"too long for the default", Request{Data: long + long[:332]}, "data",
			"is 2332 bytes long; at error correction level M a code holds at most 2331 bytes of ASCII text"},
		{"capital letters", Request{Data: strings.Repeat("A", 1853), ErrorCorrection: High}, "data",
			"is 1853 bytes long; at error correction level H a code holds at most 1852 bytes of " +
				"digits, capital letters and punctuation"},
		{"the ECI takes a byte", Request{Data: strings.Repeat("é", 1476) + "e", ErrorCorrection: Low}, "data",
			"is 2953 bytes long; at error correction level L a code holds at most 2952 bytes of UTF-8 text"},
		{"format", Request{Data: "x", Format: "PNG"}, "format", "must be one of [png svg jpeg]"},
		{"level", Request{Data: "x", ErrorCorrection: "m"}, "error_correction", "must be one of [L M Q H]"},
		{"size below", Request{Data: "x", Size: 63}, "size", "must be from 64 to 4096"},
		{"size above", Request{Data: "x", Size: 4097}, "size", "must be from 64 to 4096"},
		{"size negative", Request{Data: "x", Size: -1 << 62}, "size", "must be from 64 to 4096"},
		{"size too small for the text", Request{Data: long, Size: 100}, "size",
			"must be at least 177 for this data, error correction, margin and format"},
		{"margin below", Request{Data: "x", Margin: new(-1)}, "margin", "must be from 0 to 16"},
		{"margin above", Request{Data: "x", Margin: new(17)}, "margin", "must be from 0 to 16"},
		{"colour by name", Request{Data: "x", Foreground: "black"}, "foreground", "must be a colour like #1a2b3c"},
		{"colour in short", Request{Data: "x", Foreground: "#000"}, "foreground", "must be a colour like #1a2b3c"},
		{"not hexadecimal", Request{Data: "x", Foreground: `#"/><x>`}, "foreground", "must be a colour like #1a2b3c"},
		{"transparent modules", Request{Data: "x", Foreground: "transparent"}, "foreground", "must be a colour like #1a2b3c"},
		{"background", Request{Data: "x", Background: "#ffffff00"}, "background",
			"must be a colour like #1a2b3c, or transparent"},
		{"transparent JPEG", Request{Data: "x", Format: JPEG, Background: "transparent"}, "background",
			"cannot be transparent in a JPEG image"},
		{"one colour", Request{Data: "x", Foreground: "#ffffff"}, "foreground", tooLight(0)},
		{"red on green", Request{Data: "x", Foreground: "#ff0000", Background: "#008000"}, "foreground", tooLight(-1)},
		{"light grey", Request{Data: "x", Foreground: "#d8d8d8"}, "foreground", tooLight(39)},
		{"white on black", Request{Data: "x", Foreground: "#ffffff", Background: "#000000"}, "foreground", tooLight(-255)},
		{"white on transparent", Request{Data: "x", Foreground: "#ffffff", Background: "transparent"}, "foreground", tooLight(0)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			img, err := Encode(tt.request)
			assert.Nil(t, img)
			assert.Equal(t, &diag.InputError{Field: tt.field, Reason: tt.reason}, err)
		})
	}
}

func TestFromJSON(t *testing.T) {
	var r Request
	require.NoError(t, json.Unmarshal([]byte(`{"data":"x","format":"svg","margin":0,"error_correction":"H"}`), &r))
	img, err := Encode(r)
	require.NoError(t, err)
	assert.Equal(t, "image/svg+xml", img.MediaType())
	assert.Contains(t, string(img.Bytes()), `viewBox="0 0 21 21"`, "a margin of 0 is no default")
}

// The same request gives the same bytes, whatever else the machine does.
func TestDeterministic(t *testing.T) {
	requests := make([]Request, 0, 18)
	for i := range 18 {
		requests = append(requests, Request{
			Data: fmt.Sprintf("https://example.com/%d/%s", i, texts[i%8]), Format: formats()[i%3], Size: 256,
		})
	}
	encodeAll := func() []string {
		out := make([]string, len(requests))
		for i, r := range requests {
			img, err := Encode(r)
			if assert.NoError(t, err) {
				out[i] = string(img.Data)
			}
		}
		return out
	}
	before := runtime.GOMAXPROCS(1)
	want := encodeAll()
	runtime.GOMAXPROCS(max(before, 4))
	defer runtime.GOMAXPROCS(before)
	goroutines := 16
	if testing.Short() {
		goroutines = 4
	}
	var all sync.WaitGroup
	got := make([][]string, goroutines)
	for i := range got {
		all.Go(func() { got[i] = encodeAll() })
	}
	all.Wait()
	for i := range got {
		require.True(t, assert.ObjectsAreEqual(want, got[i]), "goroutine %d drew other images", i)
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, format := range formats() {
		for _, length := range []int{20, 100, 500, 1300} {
			b.Run(fmt.Sprintf("%s/%d", format, length), func(b *testing.B) {
				r := Request{Data: strings.Repeat("https://example.com/", 65)[:length], Format: format}
				b.ReportAllocs()
				for b.Loop() {
					if _, err := Encode(r); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkEncodeUTF8(b *testing.B) {
	r := Request{Data: strings.Repeat("é", 50)}
	for b.Loop() {
		if _, err := Encode(r); err != nil {
			b.Fatal(err)
		}
	}
}

func tooLight(by int) string {
	return fmt.Sprintf("must be darker than the background by 51 of 255 for readers, not by %d; a transparent one counts as white", by)
}

func FuzzEncode(f *testing.F) {
	for i, text := range texts {
		f.Add(text, "png", 64+i*100, "L", i, "#000000", "#ffffff")
		f.Add(text, "jpeg", 500, "H", 4, "#0000ff", "#ffff00")
	}
	f.Add("x", "svg", 0, "", -1, "", "transparent")
	f.Fuzz(func(t *testing.T, data, format string, size int, level string, margin int, fg, bg string) {
		r := Request{
			Data: data, Format: Format(format), Size: size, ErrorCorrection: Level(level), Margin: &margin,
			Foreground: fg, Background: bg,
		}
		img, err := Encode(r)
		if err != nil {
			_, ok := errors.AsType[*diag.InputError](err)
			require.True(t, ok, "not the caller's fault: %v", err)
			require.Nil(t, img)
			return
		}
		require.Equal(t, data, read(t, pixels(t, img)))
	})
}
