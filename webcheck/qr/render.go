package qr

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	stdpng "image/png"
	"strconv"
	"sync"
)

// A color is red, green and blue.
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

// brightness returns the color as readers see it, 0 to 255: by the weights of ITU-R BT.601, as JPEG
// files and most readers have it, and by quarters of red, blue and twice green, as some have it.
func (c colour) brightness() (weighted, quarters int) {
	y, _, _ := color.RGBToYCbCr(c[0], c[1], c[2])
	return int(y), (int(c[0]) + 2*int(c[1]) + int(c[2])) / 4
}

// contrast returns by how much one color is darker than another for the reader that sees the least of it; below 0 if
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
// number. A JPEG image has one sample of color for two by two pixels; were they of different
// modules, the mixture would mislead readers.
func (p *picture) unit() int {
	switch {
	case p.format == SVG:
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
	case SVG:
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

// jpeg draws the symbol in brightness and, unless both colors are grey, in color at half of the
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

// A bufferPool keeps what an encoder needs from one image to the next: the tables of a zlib writer take most of a
// megabyte.
type bufferPool struct{ sync.Pool }

// Get implements [png.EncoderBufferPool].
func (p *bufferPool) Get() *stdpng.EncoderBuffer {
	b, _ := p.Pool.Get().(*stdpng.EncoderBuffer)
	return b
}

// Put implements [png.EncoderBufferPool].
func (p *bufferPool) Put(b *stdpng.EncoderBuffer) { p.Pool.Put(b) }

// pngEncoder is four times as fast as the default, and the files are a few hundred bytes larger.
var pngEncoder = stdpng.Encoder{CompressionLevel: stdpng.BestSpeed, BufferPool: &bufferPool{}}

// png draws the symbol with a palette of two colors, one bit a pixel. A transparent background is
// the first entry of the palette, without opacity.
func (p *picture) png() ([]byte, error) {
	bg, fg := p.background, p.foreground
	background := color.NRGBA{bg[0], bg[1], bg[2], 0xff}
	if p.transparent {
		background.A = 0
	}
	palette := color.Palette{background, color.NRGBA{fg[0], fg[1], fg[2], 0xff}}
	img := image.NewPaletted(image.Rect(0, 0, p.size, p.size), palette)
	scale, before := p.grid()
	p.symbol.paint(plane{img.Pix, img.Stride, scale, before}, 1, 0)
	var b bytes.Buffer
	if err := pngEncoder.Encode(&b, img); err != nil {
		return nil, fmt.Errorf("writing a PNG image: %w", err)
	}
	return b.Bytes(), nil
}
