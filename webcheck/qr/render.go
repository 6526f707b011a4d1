package qr

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"slices"
	"strconv"
	"sync"
)

// A colour is red, green and blue.
type colour [3]byte

// parseColour reads "#rrggbb".
func parseColour(text string) (colour, bool) {
	var c colour
	if len(text) != 7 || text[0] != '#' {
		return c, false
	}
	_, err := hex.Decode(c[:], []byte(text[1:]))
	return c, err == nil
}

func (c colour) String() string { return fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2]) }

func (c colour) grey() bool { return c[0] == c[1] && c[1] == c[2] }

// brightness returns the colour as readers see it, 0 to 255: by the weights of ITU-R BT.601, as JPEG
// files and most readers have it, and by quarters of red, blue and twice green, as some have it.
func (c colour) brightness() (weighted, quarters int) {
	y, _, _ := color.RGBToYCbCr(c[0], c[1], c[2])
	return int(y), (int(c[0]) + 2*int(c[1]) + int(c[2])) / 4
}

// contrast returns by how much one colour is darker than another for the reader that sees the least of it; below 0 if
// one sees it as the lighter.
func contrast(dark, light colour) int {
	darkWeighted, darkQuarters := dark.brightness()
	lightWeighted, lightQuarters := light.brightness()
	return min(lightWeighted-darkWeighted, lightQuarters-darkQuarters)
}

// A picture is a symbol and how to draw it.
type picture struct {
	symbol      *symbol
	format      Format
	size        int // pixels
	margin      int // modules
	foreground  colour
	background  colour
	transparent bool // the background is not painted
}

// unit returns the number of pixels of which the side of a module is a multiple, 0 if there is no such
// number. A JPEG image has one sample of colour for two by two pixels; were they of different
// modules, the mixture would mislead readers.
func (p *picture) unit() int {
	switch {
	case p.format == svg:
		return 0
	case p.format == JPEG && !(p.foreground.grey() && p.background.grey()):
		return 2
	default:
		return 1
	}
}

// grid returns the side of a module and the width of the margin before the symbol, in pixels, both
// multiples of the unit.
func (p *picture) grid() (scale, before int) {
	unit := p.unit()
	scale = p.size / (p.symbol.side + 2*p.margin) / unit * unit
	return scale, (p.size - scale*p.symbol.side) / 2 / unit * unit
}

func (p *picture) draw() ([]byte, error) {
	switch p.format {
	case svg:
		return p.svg(), nil
	case JPEG:
		return p.jpeg()
	default:
		return p.png()
	}
}

// svg draws the symbol as one path in units of modules. A viewer scales it to the size.
func (p *picture) svg() []byte {
	side := p.symbol.side + 2*p.margin
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d"`+
		` shape-rendering="crispEdges">`, p.size, p.size, side, side)
	if !p.transparent {
		fmt.Fprintf(&b, `<path fill="%s" d="M0 0h%dv%dH0z"/>`, p.background, side, side)
	}
	fmt.Fprintf(&b, `<path fill="%s" d="`, p.foreground)
	for y := range p.symbol.side {
		for start, length := range p.symbol.runs(y) {
			writeBar(&b, p.margin+start, p.margin+y, length)
		}
	}
	b.WriteString(`"/></svg>` + "\n")
	return b.Bytes()
}

// writeBar appends a rectangle one module high to the data of an SVG path.
func writeBar(b *bytes.Buffer, x, y, width int) {
	n := b.AvailableBuffer()
	n = strconv.AppendInt(append(n, 'M'), int64(x), 10)
	n = strconv.AppendInt(append(n, ' '), int64(y), 10)
	n = strconv.AppendInt(append(n, 'h'), int64(width), 10)
	n = strconv.AppendInt(append(n, "v1h-"...), int64(width), 10)
	b.Write(append(n, 'z'))
}

// runs yields the first module and the length of each run of dark modules in a row.
func (s *symbol) runs(y int) func(yield func(start, length int) bool) {
	return func(yield func(start, length int) bool) {
		for x := 0; x < s.side; x++ {
			start := x
			for x < s.side && s.isDark(x, y) {
				x++
			}
			if x > start && !yield(start, x-start) {
				return
			}
		}
	}
}

// jpegQuality keeps the ripples that JPEG leaves at edges far below minContrast.
const jpegQuality = 95

// jpeg draws the symbol in brightness and, unless both colours are grey, in colour at half of the
// resolution, which is how the encoder of the standard library stores it in any case.
func (p *picture) jpeg() ([]byte, error) {
	frame := image.Rect(0, 0, p.size, p.size)
	fg, bg := p.foreground, p.background
	fgY, fgCb, fgCr := color.RGBToYCbCr(fg[0], fg[1], fg[2])
	bgY, bgCb, bgCr := color.RGBToYCbCr(bg[0], bg[1], bg[2])
	scale, before := p.grid()
	var img image.Image
	if fg.grey() && bg.grey() {
		grey := image.NewGray(frame)
		p.symbol.paint(plane{grey.Pix, grey.Stride, scale, before}, fgY, bgY)
		img = grey
	} else {
		full := image.NewYCbCr(frame, image.YCbCrSubsampleRatio420)
		p.symbol.paint(plane{full.Y, full.YStride, scale, before}, fgY, bgY)
		p.symbol.paint(plane{full.Cb, full.CStride, scale / 2, before / 2}, fgCb, bgCb)
		p.symbol.paint(plane{full.Cr, full.CStride, scale / 2, before / 2}, fgCr, bgCr)
		img = full
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: jpegQuality}); err != nil {
		return nil, fmt.Errorf("writing a JPEG image: %w", err)
	}
	return b.Bytes(), nil
}

// A plane is a square of samples of one kind.
type plane struct {
	samples []byte
	side    int
	scale   int // samples along the side of a module
	before  int // samples of the margin before the symbol
}

func (s *symbol) paint(p plane, fg, bg byte) {
	fill(p.samples, bg)
	for y := range s.side {
		top := (p.before + y*p.scale) * p.side
		row := p.samples[top:][:p.side]
		for start, length := range s.runs(y) {
			fill(row[p.before+start*p.scale:][:length*p.scale], fg)
		}
		for i := 1; i < p.scale; i++ {
			copy(p.samples[top+i*p.side:], row)
		}
	}
}

// fill sets all samples, doubling what is set already.
func fill(samples []byte, value byte) {
	samples[0] = value
	for done := 1; done < len(samples); done *= 2 {
		copy(samples[done:], samples[:done])
	}
}

// The encoder of the standard library wants a byte for each pixel, 16 MiB at the largest size. All
// rows of a row of modules are the same, so that one row of bits does.

// PNG filter types (RFC 2083 section 6.1).
const (
	filterNone = 0
	filterUp   = 2 // bytes are differences to the row above
)

// A compressor is what is worth keeping from one image to the next: the tables of a zlib writer take
// most of a megabyte.
type compressor struct {
	zlib *zlib.Writer
	out  bytes.Buffer
}

var compressors = sync.Pool{New: func() any {
	// Four times as fast as the default, and the files are a few hundred bytes larger.
	w, _ := zlib.NewWriterLevel(nil, zlib.BestSpeed) // the error is of levels that do not exist
	return &compressor{zlib: w}
}}

// png draws the symbol with a palette of two colours, one bit a pixel. A transparent background is
// the first entry of the palette, without opacity.
func (p *picture) png() ([]byte, error) {
	c := compressors.Get().(*compressor)
	defer compressors.Put(c)
	c.out.Reset()
	c.zlib.Reset(&c.out)
	if err := p.writeRows(c.zlib); err != nil {
		return nil, fmt.Errorf("writing a PNG image: %w", err)
	}
	if err := c.zlib.Close(); err != nil {
		return nil, fmt.Errorf("writing a PNG image: %w", err)
	}

	const bitDepth, palette = 1, 3
	header := binary.BigEndian.AppendUint32(nil, uint32(p.size))
	header = binary.BigEndian.AppendUint32(header, uint32(p.size))
	header = append(header, bitDepth, palette, 0, 0, 0)

	out := make([]byte, 0, c.out.Len()+128) // room for all other chunks
	out = append(out, "\x89PNG\r\n\x1a\n"...)
	out = appendChunk(out, "IHDR", header)
	out = appendChunk(out, "PLTE", slices.Concat(p.background[:], p.foreground[:]))
	if p.transparent {
		out = appendChunk(out, "tRNS", []byte{0})
	}
	out = appendChunk(out, "IDAT", c.out.Bytes())
	return appendChunk(out, "IEND", nil), nil
}

// appendChunk appends a chunk with its length and checksum (RFC 2083 section 3.2).
func appendChunk(out []byte, name string, data []byte) []byte {
	out = binary.BigEndian.AppendUint32(out, uint32(len(data)))
	start := len(out)
	out = append(append(out, name...), data...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[start:]))
}

// writeRows writes the rows of the image, each behind the byte that names its filter. A row that
// equals the one above is all zeros under the filter Up, which compresses to next to nothing.
func (p *picture) writeRows(w *zlib.Writer) error {
	scale, before := p.grid()
	after := p.size - before - scale*p.symbol.side
	row := make([]byte, 1+(p.size+7)/8)
	same := slices.Clone(row)
	row[0], same[0] = filterNone, filterUp
	write := func(height int) error {
		for i := range height {
			line := same
			if i == 0 {
				line = row
			}
			if _, err := w.Write(line); err != nil {
				return err
			}
		}
		return nil
	}

	if err := write(before); err != nil {
		return err
	}
	for y := range p.symbol.side {
		clear(row[1:])
		for start, length := range p.symbol.runs(y) {
			setBits(row[1:], before+start*scale, length*scale)
		}
		if err := write(scale); err != nil {
			return err
		}
	}
	clear(row[1:])
	return write(after)
}

// setBits sets a run of bits, the most significant of a byte first.
func setBits(row []byte, start, length int) {
	for i := start; i < start+length; i++ {
		row[i/8] |= 0x80 >> (i % 8)
	}
}
