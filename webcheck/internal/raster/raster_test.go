package raster

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// read reads a file whose header is sound.
func read(t testing.TB, data []byte, ground byte) (*Gray, error) {
	t.Helper()
	header, err := Probe(data)
	require.NoError(t, err)
	return Read(context.Background(), data, header, ground)
}

// pngFile writes a PNG from its raw rows, as encoders of other libraries do: with any depth, palette and interlacing.
func pngFile(width, height, depth int, colour byte, interlaced bool, chunks map[string][]byte, rows []byte) []byte {
	var b bytes.Buffer
	chunk := func(name string, data []byte) {
		binary.Write(&b, binary.BigEndian, uint32(len(data)))
		sum := crc32.NewIEEE()
		sum.Write([]byte(name))
		sum.Write(data)
		b.WriteString(name)
		b.Write(data)
		binary.Write(&b, binary.BigEndian, sum.Sum32())
	}
	b.WriteString("\x89PNG\r\n\x1a\n")
	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(width)), uint32(height))
	head = append(head, byte(depth), colour, 0, 0, 0)
	if interlaced {
		head[12] = 1
	}
	chunk("IHDR", head)
	for _, name := range []string{"PLTE", "tRNS", "tEXt"} {
		if data := chunks[name]; data != nil {
			chunk(name, data)
		}
	}
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	z.Write(rows)
	z.Close()
	data := packed.Bytes()
	for len(data) > 100 { // several chunks
		chunk("IDAT", data[:100])
		data = data[100:]
	}
	chunk("IDAT", data)
	chunk("IEND", nil)
	return b.Bytes()
}

// Rows of any color type, depth, filter and interlacing are those that the standard library reads.
func TestPNG(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const width, height = 21, 18
	for _, kind := range []struct {
		colour byte
		depths []int
	}{{pngGray, []int{1, 2, 4, 8, 16}}, {pngRGB, []int{8, 16}}, {pngPalette, []int{1, 2, 4, 8}}, {pngGrayAlpha, []int{8, 16}}, {pngRGBA, []int{8, 16}}} {
		for _, depth := range kind.depths {
			for _, interlaced := range []bool{false, true} {
				for _, transparent := range []bool{false, true} {
					name := fmt.Sprintf("type %d depth %d interlaced %v transparent %v", kind.colour, depth, interlaced, transparent)
					chunks := map[string][]byte{"tEXt": []byte("a\x00b")}
					if kind.colour == pngPalette {
						chunks["PLTE"] = make([]byte, 3<<depth)
						for i := range chunks["PLTE"] {
							chunks["PLTE"][i] = byte(random.IntN(256))
						}
					}
					if transparent {
						switch kind.colour {
						case pngGray:
							chunks["tRNS"] = []byte{0, 1}
						case pngRGB:
							chunks["tRNS"] = []byte{0, 1, 0, 2, 0, 3}
						case pngPalette:
							chunks["tRNS"] = []byte{0, 128}
						}
					}
					r := pngReader{colour: kind.colour, depth: depth}
					rows := []byte{}
					add := func(w, h int) {
						for range h {
							if w == 0 {
								continue
							}
							rows = append(rows, byte(random.IntN(5)))
							for range (w*r.channels()*depth + 7) / 8 {
								rows = append(rows, byte(random.IntN(256)))
							}
						}
					}
					if interlaced {
						for _, p := range passes {
							add((width-p.x+p.dx-1)/p.dx, (height-p.y+p.dy-1)/p.dy)
						}
					} else {
						add(width, height)
					}
					checkPNG(t, name, pngFile(width, height, depth, kind.colour, interlaced, chunks, rows))
				}
			}
		}
	}
}

// checkPNG compares an image with that of the standard library, on a white ground.
func checkPNG(t *testing.T, name string, data []byte) {
	t.Helper()
	want, err := png.Decode(bytes.NewReader(data))
	require.NoError(t, err, name)
	got, err := read(t, data, 255)
	require.NoError(t, err, name)
	require.Equal(t, want.Bounds().Dx()/got.Factor, got.Width, name)
	if got.Factor > 1 {
		return
	}
	expect := reduce(want, 255)
	for i := range expect.Pix {
		if off := int(expect.Pix[i]) - int(got.Pix[i]); off*off > 1 { // sixteen bits are rounded in two ways
			t.Fatalf("%s: pixel %d is %d, not %d", name, i, got.Pix[i], expect.Pix[i])
		}
	}
	require.Equal(t, expect.Transparent, got.Transparent, name)
}

// Broken files are errors, whatever is broken.
func TestBroken(t *testing.T) {
	good := pngFile(2, 2, 8, pngGray, false, nil, make([]byte, 6))
	for name, data := range map[string][]byte{
		"cut":        good[:len(good)-30],
		"filter":     pngFile(2, 2, 8, pngGray, false, nil, []byte{9, 0, 0, 0, 0, 0}),
		"rows":       pngFile(2, 2, 8, pngGray, false, nil, make([]byte, 5)),
		"depth":      pngFile(2, 2, 3, pngGray, false, nil, make([]byte, 6)),
		"type":       pngFile(2, 2, 8, 5, false, nil, make([]byte, 6)),
		"palette":    pngFile(2, 2, 8, pngPalette, false, map[string][]byte{"PLTE": make([]byte, 1000)}, make([]byte, 6)),
		"no zlib":    bytes.Replace(good, []byte("\x78\x9c"), []byte("\x00\x00"), 1),
		"a GIF":      []byte("GIF89a\x02\x00\x02\x00\x00\x00\x00;"),
		"two images": append(good[:33:33], good[8:33]...),
	} {
		_, err := read(t, data, 255)
		var unreadable *UnreadableError
		require.ErrorAs(t, err, &unreadable, name)
	}
	for name, data := range map[string]string{
		"empty": "", "text": "hello", "PNG": "\x89PNG\r\n\x1a\n", "JPEG": "\xff\xd8\xff\xe0", "JPEG without a frame": "\xff\xd8\xff\xd9",
		"GIF": "GIF89a", "WebP": "RIFF\x00\x00\x00\x00WEBPVP8 ", "BMP": "BM", "no width": string(pngFile(0, 2, 8, 0, false, nil, nil)),
	} {
		_, err := Probe([]byte(data))
		var unreadable *UnreadableError
		require.ErrorAs(t, err, &unreadable, name)
	}
}

// What is too large is refused by its header.
func TestTooLarge(t *testing.T) {
	var small bytes.Buffer
	require.NoError(t, jpeg.Encode(&small, image.NewGray(image.Rect(0, 0, 8, 8)), nil))
	scans := bytes.Replace(small.Bytes(), []byte("\xff\xda"), []byte(strings.Repeat("\xff\xda\x00\x02", 100)+"\xff\xda"), 1)
	for name, data := range map[string][]byte{
		"PNG":              pngFile(40_000, 40_000, 1, pngGray, false, nil, nil),
		"PNG, overflow":    pngFile(1<<31-1, 1<<31-1, 1, pngGray, false, nil, nil),
		"GIF":              []byte("GIF89a\xff\xff\xff\xff\x00\x00\x00;"),
		"progressive JPEG": jpegHeader(0xc2, 4000, 4000, 0x22, 0x11, 0x11),
		"JPEG in full":     jpegHeader(0xc0, 4000, 4000, 0x11, 0x11, 0x11),
		"JPEG":             jpegHeader(0xc0, 65535, 65535, 0x22, 0x11, 0x11),
		"scans":            scans,
		"WebP":             []byte("RIFF\x00\x01\x00\x00WEBPVP8L\x0a\x00\x00\x00\x2f\xff\xff\xff\x0f\x00\x00\x00\x00\x00"),
	} {
		_, err := Probe(data)
		var large *TooLargeError
		require.ErrorAs(t, err, &large, name)
		assert.NotContains(t, large.Sentence(), "%!")
		t.Log(large.Sentence())
	}
	for name, data := range map[string][]byte{
		"25 megapixels":         pngFile(5000, 5000, 8, pngRGBA, false, nil, nil),
		"25 megapixels of JPEG": jpegHeader(0xc0, 5000, 5000, 0x22, 0x11, 0x11),
		"4 progressive":         jpegHeader(0xc2, 2000, 2000, 0x22, 0x11, 0x11),
	} {
		header, err := Probe(data)
		require.NoError(t, err, name)
		require.LessOrEqual(t, header.Memory, int64(maxMemory))
	}
}

// jpegHeader is a JPEG that ends after its frame header.
func jpegHeader(marker byte, width, height int, sampling ...byte) []byte {
	b := []byte{0xff, 0xd8, 0xff, marker, 0, byte(8 + 3*len(sampling)), 8}
	b = binary.BigEndian.AppendUint16(b, uint16(height))
	b = binary.BigEndian.AppendUint16(b, uint16(width))
	b = append(b, byte(len(sampling)))
	for i, s := range sampling {
		b = append(b, byte(i+1), s, 0)
	}
	return append(b, 0xff, 0xd9, 0, 0)
}

// A large image is averaged; a frame of an animation keeps its place; the context ends the reading.
func TestRead(t *testing.T) {
	large := image.NewGray(image.Rect(0, 0, 4000, 1500))
	for y := range 1500 {
		for x := range 4000 {
			large.Pix[y*4000+x] = byte(200 * (x % 2))
		}
	}
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, large))
	img, err := read(t, b.Bytes(), 255)
	require.NoError(t, err)
	assert.Equal(t, []int{2000, 750, 2, 100}, []int{img.Width, img.Height, img.Factor, int(img.Pix[1000])})

	black := image.NewPaletted(image.Rect(3, 4, 9, 9), color.Palette{color.Black, color.White})
	b.Reset()
	require.NoError(t, gif.EncodeAll(&b, &gif.GIF{Image: []*image.Paletted{black, black}, Delay: []int{1, 1},
		Config: image.Config{Width: 20, Height: 20, ColorModel: black.Palette}}))
	img, err = read(t, b.Bytes(), 255)
	require.NoError(t, err)
	assert.Equal(t, image.Pt(3, 4), img.Offset)
	assert.Equal(t, 6, img.Width)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	header, err := Probe(b.Bytes())
	require.NoError(t, err)
	_, err = Read(ended, b.Bytes(), header, 255)
	require.ErrorIs(t, err, context.Canceled)
}

// Every kind of image of the standard library gives the same shades as its pixels one by one.
func TestShades(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	colours := image.NewNRGBA(image.Rect(2, 3, 13, 12))
	for i := range colours.Pix {
		colours.Pix[i] = byte(random.IntN(256))
	}
	for _, img := range []draw.Image{image.NewNRGBA(colours.Rect), image.NewRGBA(colours.Rect), image.NewGray(colours.Rect), image.NewCMYK(colours.Rect),
		image.NewPaletted(colours.Rect, color.Palette{color.Black, color.White, color.Transparent, color.NRGBA{200, 10, 30, 100}})} {
		draw.Draw(img, colours.Rect, colours, colours.Rect.Min, draw.Src)
		got := reduce(img, 0)
		for i := range got.Pix {
			want := (&Gray{}).shade(img.At(2+i%11, 3+i/11), 0)
			require.Equal(t, want, got.Pix[i], "%T", img)
		}
	}
}

// No bytes make a panic, and what is read has the size that was promised.
func FuzzRead(f *testing.F) {
	f.Add(pngFile(3, 3, 8, pngRGBA, true, nil, make([]byte, 100)))
	f.Add(pngFile(9, 3, 1, pngPalette, false, map[string][]byte{"PLTE": make([]byte, 6)}, make([]byte, 9)))
	img := image.NewPaletted(image.Rect(0, 0, 9, 9), color.Palette{color.Black, color.White})
	var b bytes.Buffer
	require.NoError(f, jpeg.Encode(&b, img, nil))
	f.Add(bytes.Clone(b.Bytes()))
	b.Reset()
	require.NoError(f, gif.Encode(&b, img, nil))
	f.Add(bytes.Clone(b.Bytes()))
	f.Add([]byte("RIFF\x24\x00\x00\x00WEBPVP8 \x18\x00\x00\x000\x01\x00\x9d\x01*\x01\x00\x01\x00\x02\x004%\xa4\x00\x03p\x00\xfe\xfb\x94\x00\x00"))
	f.Add([]byte("\xff\xd8\xff\xc0\x00\x01\x08\x00\x01\x00\x01")) // a segment shorter than its own length
	f.Fuzz(func(t *testing.T, data []byte) {
		header, err := Probe(data)
		if err != nil || header.Width*header.Height > 1<<20 {
			return
		}
		img, err := Read(t.Context(), data, header, 255)
		if (img == nil) == (err == nil) {
			t.Fatal("neither image nor error, or both")
		}
		if err == nil && (len(img.Pix) != img.Width*img.Height || img.Width > header.Width || img.Height > header.Height) {
			t.Fatalf("%d by %d pixels of %d by %d", img.Width, img.Height, header.Width, header.Height)
		}
	})
}
