package raster

import (
	"compress/zlib"
	"encoding/binary"
	"errors"
	"io"
)

// The standard library holds all pixels of a PNG at up to eight bytes each before the first is seen: 200 MB for 25
// megapixels. Here they are read row by row.

// A pngReader reads the rows of a PNG file (W3C PNG Specification, third edition).
type pngReader struct {
	in            io.Reader
	width, height int
	depth         int  // bits of a sample
	colour        byte // color type
	interlaced    bool
	left          int // bytes left of the current IDAT chunk
	shades        [256]byte
	alphas        [256]byte
	transparent   []byte // the one color that is, as given in tRNS
	background    byte
	img           *Gray
}

// Colour types of PNG, section 11.2.1.
const (
	pngGray      = 0
	pngRGB       = 2
	pngPalette   = 3
	pngGrayAlpha = 4
	pngRGBA      = 6
)

var errPNG = errors.New("malformed PNG")

// readPNG reads a file whose header was found to be sound.
func readPNG(in io.Reader, ground byte) (*Gray, error) {
	r := &pngReader{in: in, background: ground}
	if _, err := io.CopyN(io.Discard, in, 8); err != nil {
		return nil, err
	}
	if err := r.readChunks(); err != nil {
		return nil, err
	}
	inflated, err := zlib.NewReader(r)
	if err != nil {
		return nil, err
	}
	out := newReducer(r.width, r.height)
	r.img = out.img
	if r.interlaced {
		err = r.readPasses(inflated, out)
	} else {
		err = r.readPass(inflated, r.width, r.height, func(_ int, row []byte) { out.add(row) })
	}
	return out.img, err
}

// chunk reads the length and the name of a chunk, section 5.3.
func (r *pngReader) chunk() (length int, name string, err error) {
	var head [8]byte
	if _, err := io.ReadFull(r.in, head[:]); err != nil {
		return 0, "", err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > 1<<31-1 {
		return 0, "", errPNG
	}
	return int(n), string(head[4:]), nil
}

// readChunks reads up to the beginning of the pixels. Checksums are left alone: a damaged image may still be read.
func (r *pngReader) readChunks() error {
	for {
		n, name, err := r.chunk()
		if err != nil {
			return err
		}
		switch name {
		case "IDAT":
			r.left = n
			return r.check()
		case "IHDR", "PLTE", "tRNS":
			if n > 3*256 {
				return errPNG
			}
			data := make([]byte, n)
			if _, err := io.ReadFull(r.in, data); err != nil {
				return err
			}
			if err := r.take(name, data); err != nil {
				return err
			}
			n = 0
		}
		if _, err := io.CopyN(io.Discard, r.in, int64(n)+4); err != nil {
			return err
		}
	}
}

// take takes what a chunk before the pixels says.
func (r *pngReader) take(name string, data []byte) error {
	switch {
	case name == "IHDR" && len(data) == 13:
		r.width, r.height = int(binary.BigEndian.Uint32(data)), int(binary.BigEndian.Uint32(data[4:]))
		r.depth, r.colour, r.interlaced = int(data[8]), data[9], data[12] != 0
		for i := range r.alphas {
			r.alphas[i] = 255
		}
	case name == "PLTE":
		for i := 0; i+2 < len(data); i += 3 {
			r.shades[i/3] = luminance(data[i], data[i+1], data[i+2])
		}
	case name == "tRNS" && r.colour == pngPalette:
		copy(r.alphas[:], data)
	case name == "tRNS":
		r.transparent = data
	default:
		return errPNG
	}
	return nil
}

// check reports what in the header keeps the image from being read, table 11.1.
func (r *pngReader) check() error {
	depths := map[byte]string{pngGray: "\x01\x02\x04\x08\x10", pngRGB: "\x08\x10", pngPalette: "\x01\x02\x04\x08",
		pngGrayAlpha: "\x08\x10", pngRGBA: "\x08\x10"}[r.colour]
	for i := range depths {
		if int(depths[i]) == r.depth && r.width > 0 && r.height > 0 && r.width*r.height <= maxPixels {
			return nil
		}
	}
	return errPNG
}

// Read reads what the IDAT chunks hold, one after the other.
func (r *pngReader) Read(p []byte) (int, error) {
	for r.left == 0 {
		if _, err := io.CopyN(io.Discard, r.in, 4); err != nil {
			return 0, err
		}
		n, name, err := r.chunk()
		if err != nil {
			return 0, err
		}
		if name != "IDAT" {
			return 0, io.ErrUnexpectedEOF
		}
		r.left = n
	}
	n, err := r.in.Read(p[:min(len(p), r.left)])
	r.left -= n
	return n, err
}

// channels is the number of samples of a pixel.
func (r *pngReader) channels() int {
	switch r.colour {
	case pngRGB:
		return 3
	case pngGrayAlpha:
		return 2
	case pngRGBA:
		return 4
	}
	return 1
}

// readPass reads the rows of an image, or of one pass of an interlaced one.
func (r *pngReader) readPass(in io.Reader, width, height int, take func(y int, row []byte)) error {
	bits := r.channels() * r.depth
	length, pixel := (width*bits+7)/8, max(1, bits/8)
	// What is left of the first pixel and above the first row is zero.
	this, above := make([]byte, pixel+1+length), make([]byte, pixel+1+length)
	row := make([]byte, width)
	for y := range height {
		if _, err := io.ReadFull(in, this[pixel:]); err != nil {
			return err
		}
		filter := this[pixel]
		this[pixel] = 0
		copy(this[1:], this[:pixel]) // zeros on both sides of where the filter stood
		if err := unfilter(filter, this[1:], above[1:], pixel); err != nil {
			return err
		}
		r.shade(this[1+pixel:], row)
		take(y, row)
		this, above = above, this
	}
	return nil
}

// unfilter restores a row, which follows as many zeros as a pixel has bytes, from the one above (section 9.2).
func unfilter(filter byte, this, above []byte, pixel int) error {
	switch filter {
	case 0:
	case 1:
		for i := pixel; i < len(this); i++ {
			this[i] += this[i-pixel]
		}
	case 2:
		for i := pixel; i < len(this); i++ {
			this[i] += above[i]
		}
	case 3:
		for i := pixel; i < len(this); i++ {
			this[i] += byte((int(this[i-pixel]) + int(above[i])) / 2)
		}
	case 4:
		for i := pixel; i < len(this); i++ {
			this[i] += paeth(int(this[i-pixel]), int(above[i]), int(above[i-pixel]))
		}
	default:
		return errPNG
	}
	return nil
}

// paeth picks of left, above and upper left the one nearest to left+above-upperLeft, section 9.4.
func paeth(a, b, c int) byte {
	pa, pb, pc := b-c, a-c, a+b-2*c
	pa, pb, pc = max(pa, -pa), max(pb, -pb), max(pc, -pc)
	switch {
	case pa <= pb && pa <= pc:
		return byte(a)
	case pb <= pc:
		return byte(b)
	}
	return byte(c)
}

func (r *pngReader) shade(in, row []byte) {
	width := r.depth / 8 // bytes of a sample; the second of two makes no difference
	size := r.channels() * width
	for x := range row {
		if r.depth < 8 {
			row[x] = r.small(in, x)
			continue
		}
		p := in[x*size:][:size]
		shade, alpha := byte(0), byte(255)
		switch r.colour {
		case pngGray:
			shade = p[0]
		case pngGrayAlpha:
			shade, alpha = p[0], p[width]
		case pngPalette:
			shade, alpha = r.shades[p[0]], r.alphas[p[0]]
		case pngRGB:
			shade = luminance(p[0], p[width], p[2*width])
		case pngRGBA:
			shade, alpha = luminance(p[0], p[width], p[2*width]), p[3*width]
		}
		if r.transparent != nil && r.isTransparent(p, width) {
			alpha = 0
		}
		row[x] = r.img.lay(shade, alpha, r.background)
	}
}

// small is the shade of a pixel of less than eight bits.
func (r *pngReader) small(in []byte, x int) byte {
	top := 1<<r.depth - 1
	v := int(in[x*r.depth/8]) >> (8 - r.depth - x*r.depth%8) & top
	if r.colour == pngPalette {
		return r.img.lay(r.shades[v], r.alphas[v], r.background)
	}
	alpha := byte(255)
	if len(r.transparent) == 2 && int(binary.BigEndian.Uint16(r.transparent)) == v {
		alpha = 0
	}
	return r.img.lay(byte(v*255/top), alpha, r.background)
}

// isTransparent compares a pixel with the color in tRNS, which has two bytes for each sample.
func (r *pngReader) isTransparent(p []byte, width int) bool {
	if len(r.transparent) != 2*len(p)/width {
		return false
	}
	for i := range len(p) / width {
		want := r.transparent[2*i:]
		if width == 1 && p[i] != want[1] || width == 2 && (p[2*i] != want[0] || p[2*i+1] != want[1]) {
			return false
		}
	}
	return true
}

// passes are the seven of Adam7, section 8: where each begins and how far apart its pixels are.
var passes = [7]struct{ x, y, dx, dy int }{
	{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2},
}

// readPasses reads an interlaced image: its last rows come with the last pass, so all of it is held, a byte a pixel.
func (r *pngReader) readPasses(in io.Reader, out *reducer) error {
	whole := make([]byte, r.width*r.height)
	for _, p := range passes {
		width, height := (r.width-p.x+p.dx-1)/p.dx, (r.height-p.y+p.dy-1)/p.dy
		if width <= 0 || height <= 0 {
			continue
		}
		err := r.readPass(in, width, height, func(y int, row []byte) {
			to := whole[(p.y+y*p.dy)*r.width:]
			for x, v := range row {
				to[p.x+x*p.dx] = v
			}
		})
		if err != nil {
			return err
		}
	}
	for y := range r.height {
		out.add(whole[y*r.width:][:r.width])
	}
	return nil
}
