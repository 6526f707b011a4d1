package scan

import "github.com/diagkit/diagkit/webcheck/qr/raster"

// The work on an image is counted in pixels that are looked at, of all its views; other work counts as so many of them
// as take the time. So the same image has the same codes however busy the machine is.
const (
	leastWork    = 2_500_000  // all tries on an image of 240 by 240 pixels
	workPerPixel = 6          // of the image
	mostWork     = 24_000_000 // half a second
)

// A try says how the image is changed before symbols are looked for.
type try struct {
	scale    float64 // 0: as it is
	filter   filter
	global   bool // one threshold for all of the image
	inverted bool
}

type filter int

const (
	none   filter = iota
	coarse        // pixels stay squares when the image grows
	blur
	sharpen
)

// plan is the order of tries: those first that find the most for their work.
var plan = []try{
	{},
	{global: true},
	{scale: .5},
	{inverted: true},
	{scale: 2},
	{scale: .75},
	{filter: sharpen},
	{scale: 4, filter: coarse},
	{scale: 1.5},
	{filter: blur, global: true},
	{scale: .33},
	{global: true, inverted: true},
	{scale: .5, filter: blur},
	{scale: .5, global: true},
	{scale: 2, global: true},
	{filter: blur},
	{scale: .5, inverted: true},
	{scale: 3},
	{scale: 2, filter: sharpen},
	{scale: .25},
}

// view makes the view of a try, if it makes sense for the image.
func (p try) view(s *scanner) (view, bool) {
	img, scale := s.img, 1.0
	if p.scale != 0 {
		scale = p.scale
		w, h := int(float64(img.Width)*scale), int(float64(img.Height)*scale)
		if w < 21 || h < 21 || w*h > raster.MaxReduced || p.filter == coarse && len(img.Pix) > maxCoarse {
			return view{}, false
		}
		img = resize(img, w, h, p.filter == coarse)
	}
	switch p.filter {
	case blur:
		img = convolve(img, [3]int{1, 2, 1}, 4)
	case sharpen:
		img = sharpened(img)
	}
	return view{img, scale}, true
}

// maxCoarse is the size of an image in which a module may be one pixel.
const maxCoarse = 200 * 200

// resize scales an image: averages where it shrinks, interpolates where it grows unless squares are wanted.
func resize(in *raster.Gray, w, h int, squares bool) *raster.Gray {
	out := &raster.Gray{Width: w, Height: h, Pix: make([]byte, w*h)}
	switch {
	case w < in.Width:
		shrink(in, out)
	case squares:
		for i := range out.Pix {
			out.Pix[i] = in.Pix[i/w*in.Height/h*in.Width+i%w*in.Width/w]
		}
	default:
		grow(in, out)
	}
	return out
}

func shrink(in, out *raster.Gray) {
	for y := range out.Height {
		y0 := y * in.Height / out.Height
		y1 := max(y0+1, (y+1)*in.Height/out.Height)
		for x := range out.Width {
			x0 := x * in.Width / out.Width
			x1 := max(x0+1, (x+1)*in.Width/out.Width)
			sum := 0
			for yy := y0; yy < y1; yy++ {
				for _, v := range in.Pix[yy*in.Width+x0 : yy*in.Width+x1] {
					sum += int(v)
				}
			}
			out.Pix[y*out.Width+x] = byte(sum / ((y1 - y0) * (x1 - x0)))
		}
	}
}

func grow(in, out *raster.Gray) {
	for y := range out.Height {
		fy := (256*y+128)*in.Height/out.Height - 128
		y0, wy := pixelAt(fy, in.Height)
		a, b := in.Pix[y0*in.Width:], in.Pix[min(y0+1, in.Height-1)*in.Width:]
		for x := range out.Width {
			x0, wx := pixelAt((256*x+128)*in.Width/out.Width-128, in.Width)
			x1 := min(x0+1, in.Width-1)
			top := int(a[x0])*(256-wx) + int(a[x1])*wx
			bottom := int(b[x0])*(256-wx) + int(b[x1])*wx
			out.Pix[y*out.Width+x] = byte((top*(256-wy) + bottom*wy) >> 16)
		}
	}
}

// pixelAt splits a place in 256ths of a pixel into pixel and rest.
func pixelAt(at, size int) (pixel, rest int) {
	at = min(max(at, 0), 256*(size-1))
	return at >> 8, at & 255
}

// convolve smoothes an image in both directions.
func convolve(in *raster.Gray, k [3]int, sum int) *raster.Gray {
	w, h := in.Width, in.Height
	tmp := make([]byte, w*h)
	for y := range h {
		row := in.Pix[y*w:][:w]
		for x := range w {
			tmp[y*w+x] = byte((k[0]*int(row[max(x-1, 0)]) + k[1]*int(row[x]) + k[2]*int(row[min(x+1, w-1)])) / sum)
		}
	}
	out := make([]byte, w*h)
	for y := range h {
		a, b, c := tmp[max(y-1, 0)*w:], tmp[y*w:], tmp[min(y+1, h-1)*w:]
		for x := range w {
			out[y*w+x] = byte((k[0]*int(a[x]) + k[1]*int(b[x]) + k[2]*int(c[x])) / sum)
		}
	}
	return &raster.Gray{Width: w, Height: h, Pix: out}
}

// sharpened adds to an image what blurring takes away.
func sharpened(in *raster.Gray) *raster.Gray {
	soft := convolve(in, [3]int{1, 1, 1}, 3)
	for i, v := range in.Pix {
		soft.Pix[i] = byte(min(255, max(0, 3*int(v)-2*int(soft.Pix[i]))))
	}
	return soft
}
