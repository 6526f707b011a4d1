package qr

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"strconv"
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

// luma returns the brightness, 0 to 255, as ITU-R BT.601 weighs it and JPEG files store it.
func (c colour) luma() int {
	y, _, _ := color.RGBToYCbCr(c[0], c[1], c[2])
	return int(y)
}

// A picture is a symbol and how to draw it.
type picture struct {
	symbol      *symbol
	size        int // pixels
	margin      int // modules
	foreground  colour
	background  colour
	transparent bool // the background is not painted
}

func (p *picture) draw(f Format) ([]byte, error) {
	switch f {
	case SVG:
		return p.svg(), nil
	case JPEG:
		return p.jpeg()
	default:
		return p.png()
	}
}

// grid returns the side of a module and the width of the margin before the symbol, in pixels. What
// the margin after the symbol has more is one pixel at most.
func (p *picture) grid() (scale, before int) {
	scale = p.size / (p.symbol.side + 2*p.margin)
	return scale, (p.size - scale*p.symbol.side) / 2
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
func (m *matrix) runs(y int) func(yield func(start, length int) bool) {
	return func(yield func(start, length int) bool) {
		for x := 0; x < m.side; x++ {
			start := x
			for x < m.side && m.isDark(x, y) {
				x++
			}
			if x > start && !yield(start, x-start) {
				return
			}
		}
	}
}

// jpegQuality keeps the ripples that JPEG leaves at edges far below minLumaDifference.
const jpegQuality = 95

// jpeg draws the symbol in brightness at full resolution. Two greys need no more; colour is stored at
// half the resolution, as the encoder of the standard library always does, which blurs the hue of
// small modules but not the brightness by which readers tell them apart.
func (p *picture) jpeg() ([]byte, error) {
	frame := image.Rect(0, 0, p.size, p.size)
	fg, bg := p.foreground, p.background
	fgY, fgCb, fgCr := color.RGBToYCbCr(fg[0], fg[1], fg[2])
	bgY, bgCb, bgCr := color.RGBToYCbCr(bg[0], bg[1], bg[2])
	var img image.Image
	if fgCb == bgCb && fgCr == bgCr && fgCb == 128 && fgCr == 128 {
		grey := image.NewGray(frame)
		p.paint(grey.Pix, fgY, bgY)
		img = grey
	} else {
		full := image.NewYCbCr(frame, image.YCbCrSubsampleRatio444)
		p.paint(full.Y, fgY, bgY)
		p.paint(full.Cb, fgCb, bgCb)
		p.paint(full.Cr, fgCr, bgCr)
		img = full
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: jpegQuality}); err != nil {
		return nil, fmt.Errorf("writing a JPEG image: %w", err)
	}
	return b.Bytes(), nil
}

// paint fills a plane of size by size samples.
func (p *picture) paint(plane []byte, fg, bg byte) {
	fill(plane[:p.size], bg)
	for filled := p.size; filled < len(plane); filled *= 2 {
		copy(plane[filled:], plane[:filled])
	}
	scale, before := p.grid()
	for y := range p.symbol.side {
		top := (before + y*scale) * p.size
		row := plane[top:][:p.size]
		for start, length := range p.symbol.runs(y) {
			fill(row[before+start*scale:][:length*scale], fg)
		}
		for i := 1; i < scale; i++ {
			copy(plane[top+i*p.size:], row)
		}
	}
}

func fill(samples []byte, value byte) {
	for i := range samples {
		samples[i] = value
	}
}
