package raster

import (
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"

	"golang.org/x/image/bmp"
	"golang.org/x/image/webp"
)

// decode reads the image by its format.
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

// reduce takes the brightness of an image row by row.
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

// shadesOf returns a function that fills a row with shades of grey.
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

// shade is a colour on its ground.
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
