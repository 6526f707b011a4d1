package qr

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"
)

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
