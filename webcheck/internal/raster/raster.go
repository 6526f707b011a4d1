package raster

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"io"

	"golang.org/x/image/bmp"
	"golang.org/x/image/webp"
)

// Gray is an image in shades of grey, reduced by a whole factor if it was large.
type Gray struct {
	Width, Height int
	Pix           []byte // by rows, 0 is black
	Factor        int    // how many pixels of the file, in each direction, one pixel covers
	Offset        image.Point
	Transparent   bool // whether some pixels of the file let the ground shine through
}

// MaxReduced bounds a reduced image, in pixels. What is on paper or on a screen is legible at
// that size, and the work of a search grows with it.
const MaxReduced = 4_000_000

// An UnreadableError reports a file that is not an image, or is corrupt.
type UnreadableError struct {
	Format Format // empty: not known
	Reason string
}

func (e *UnreadableError) Error() string {
	if e.Format == "" {
		return e.Reason
	}
	return fmt.Sprintf("reading %s: %s", e.Format, e.Reason)
}

// Read reads an image that [Probe] has measured. Transparent pixels lie on a ground of the given shade.
// An end of the context ends the reading.
func Read(ctx context.Context, data []byte, header Header, ground byte) (*Gray, error) {
	in := &source{ctx: ctx, data: data}
	img, err := header.decode(in, ground)
	if in.err != nil {
		return nil, in.err
	}
	if err != nil {
		return nil, &UnreadableError{header.Format, reason(err)}
	}
	return img, nil
}

// reason returns the message of a decoder, without the name of its format.
func reason(err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return "the file ends too early"
	}
	return "its data are broken"
}

// A source is a file in memory whose reading ends with a context.
type source struct {
	ctx  context.Context
	data []byte
	at   int
	err  error
}

// step is how many bytes are read between two checks of the context: at worst they decode to
// four megabytes of pixels.
const step = 4096

// Read implements [io.Reader].
func (s *source) Read(p []byte) (int, error) {
	if s.err = s.ctx.Err(); s.err != nil {
		return 0, s.err
	}
	if s.at == len(s.data) {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), step)], s.data[s.at:])
	s.at += n
	return n, nil
}

// A reducer takes the rows of an image and keeps the averages of squares.
type reducer struct {
	img  *Gray
	sums []uint32
	rows int // of the square that is under way
	next int // row to write
}

// newReducer prepares for an image of the given size.
func newReducer(width, height int) *reducer {
	factor := 1
	for width*height > factor*factor*MaxReduced {
		factor++
	}
	img := &Gray{Width: max(1, width/factor), Height: max(1, height/factor), Factor: factor}
	img.Pix = make([]byte, img.Width*img.Height)
	return &reducer{img: img, sums: make([]uint32, img.Width)}
}

func (r *reducer) add(row []byte) {
	if r.next == r.img.Height {
		return // the rest of the last square
	}
	f, out := r.img.Factor, r.img.Pix[r.next*r.img.Width:][:r.img.Width]
	if f == 1 {
		copy(out, row)
		r.next++
		return
	}
	for x := range r.sums {
		for _, v := range row[min(len(row), x*f):min(len(row), x*f+f)] {
			r.sums[x] += uint32(v)
		}
	}
	if r.rows++; r.rows < f {
		return
	}
	for x, sum := range r.sums {
		out[x] = byte(sum / uint32(f*f))
	}
	clear(r.sums)
	r.rows = 0
	r.next++
}

// luminance weighs the colors as the eye does (ITU-R BT.601).
func luminance(r, g, b byte) byte {
	return byte((306*uint32(r) + 601*uint32(g) + 117*uint32(b) + 512) >> 10)
}

func over(shade, alpha, ground byte) byte {
	a := uint32(alpha)
	return byte((uint32(shade)*a + uint32(ground)*(255-a) + 127) / 255)
}

func (h Header) decode(in *source, ground byte) (*Gray, error) {
	var img image.Image
	var err error
	switch h.Format {
	case PNG:
		return readPNG(in, ground)
	case JPEG:
		img, err = jpeg.Decode(in)
	case GIF:
		img, err = gif.Decode(in) // the first frame
	case webP:
		img, err = webp.Decode(in)
	default:
		img, err = bmp.Decode(in)
	}
	if err != nil {
		return nil, err
	}
	return reduce(img, ground), nil
}

func reduce(img image.Image, ground byte) *Gray {
	b := img.Bounds()
	r := newReducer(b.Dx(), b.Dy())
	r.img.Offset = b.Min
	row := make([]byte, b.Dx())
	shades := shadesOf(img, ground, r.img)
	for y := range b.Dy() {
		shades(y, row)
		r.add(row)
	}
	return r.img
}

func shadesOf(img image.Image, ground byte, out *Gray) func(y int, row []byte) {
	b := img.Bounds()
	switch m := img.(type) {
	case *image.YCbCr:
		return func(y int, row []byte) { copy(row, m.Y[y*m.YStride:]) }
	case *image.Gray:
		return func(y int, row []byte) { copy(row, m.Pix[y*m.Stride:]) }
	case *image.NYCbCrA:
		return func(y int, row []byte) {
			for x := range row {
				row[x] = out.lay(m.Y[y*m.YStride+x], m.A[y*m.AStride+x], ground)
			}
		}
	case *image.NRGBA:
		return func(y int, row []byte) {
			for x := range row {
				p := m.Pix[y*m.Stride+4*x:]
				row[x] = out.lay(luminance(p[0], p[1], p[2]), p[3], ground)
			}
		}
	case *image.Paletted:
		shades := make([]byte, 256)
		for i, c := range m.Palette {
			shades[i] = out.shade(c, ground)
		}
		return func(y int, row []byte) {
			for x := range row {
				row[x] = shades[m.Pix[y*m.Stride+x]]
			}
		}
	}
	return func(y int, row []byte) {
		for x := range row {
			row[x] = out.shade(img.At(b.Min.X+x, b.Min.Y+y), ground)
		}
	}
}

func (g *Gray) shade(c color.Color, ground byte) byte {
	n := color.NRGBAModel.Convert(c).(color.NRGBA)
	return g.lay(luminance(n.R, n.G, n.B), n.A, ground)
}

// lay lays a shade on the ground, and notes what shines through.
func (g *Gray) lay(shade, alpha, ground byte) byte {
	if alpha == 255 {
		return shade
	}
	g.Transparent = true
	return over(shade, alpha, ground)
}
