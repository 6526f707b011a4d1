package scan

import (
	"context"
	"math"

	"github.com/diagkit/diagkit/webcheck/internal/raster"
	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/common"
)

// A scanner looks for symbols in one image.
type scanner struct {
	img    *raster.Gray
	max    int
	found  []Symbol
	bits   *gozxing.BitMatrix // of the view: dark pixels are set
	budget int                // work that is left
	rest   int                // likely triples of finder patterns in the view that gave no symbol
	cut    bool               // a limit ended the search of the view while there was something left to try
}

// A view is the image, changed so that something may be seen in it.
type view struct {
	img   *raster.Gray
	scale float64 // pixels of the view for one of the image
}

// Once a symbol is found, few more tries are made, and only while there are likely candidates.
const triesWithSymbol = 5

// Scan returns the symbols in an image, at most max of them, in no particular order, and whether all of the image was
// searched: false if a limit ended that while there was something left that may be a symbol. The error is that of the
// context.
func Scan(ctx context.Context, img *raster.Gray, limit int) (found []Symbol, whole bool, err error) {
	s := &scanner{img: img, max: limit, budget: min(mostWork, leastWork+workPerPixel*len(img.Pix))}
	for i, p := range plan {
		if len(s.found) >= limit || s.budget <= 0 || len(s.found) > 0 && (i >= triesWithSymbol || s.rest == 0 && !s.cut) {
			break
		}
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		if v, ok := p.view(s); ok {
			s.try(v, p)
		}
	}
	return s.found, !s.cut, nil
}

func (s *scanner) try(v view, p try) {
	source := &luminance{img: v.img}
	binarizer := gozxing.NewHybridBinarizer(source)
	if p.global {
		binarizer = gozxing.NewGlobalHistgramBinarizer(source)
	}
	s.budget -= len(v.img.Pix)
	bits, err := binarizer.GetBlackMatrix()
	if err != nil {
		return // there is no contrast
	}
	if p.inverted {
		bits.FlipAll()
	}
	s.bits = bits
	s.search(v, p)
	if len(s.found) > 0 && !p.inverted {
		s.searchInverted(v, p)
	}
}

// searchInverted looks for inverted symbols in a view that shows others: one image may have both kinds. What seems to
// be one and gives none is no reason for more tries.
func (s *scanner) searchInverted(v view, p try) {
	rest, cut := s.rest, s.cut
	s.bits.FlipAll()
	p.inverted, p.otherFound = true, true
	s.search(v, p)
	s.rest, s.cut = rest, cut
}

// luminance hands an image to the library.
type luminance struct {
	gozxing.LuminanceSource // for methods that are never called
	img                     *raster.Gray
}

func (l *luminance) GetRow(y int, _ []byte) ([]byte, error) {
	return l.img.Pix[y*l.img.Width:][:l.img.Width], nil
}
func (l *luminance) GetMatrix() []byte { return l.img.Pix }
func (l *luminance) GetWidth() int     { return l.img.Width }
func (l *luminance) GetHeight() int    { return l.img.Height }

// A Point is a place in the image, in pixels from the top left.
type Point struct{ X, Y float64 }

func (p Point) plus(q Point) Point       { return Point{p.X + q.X, p.Y + q.Y} }
func (p Point) minus(q Point) Point      { return Point{p.X - q.X, p.Y - q.Y} }
func (p Point) times(f float64) Point    { return Point{p.X * f, p.Y * f} }
func (p Point) distance(q Point) float64 { return math.Hypot(p.X-q.X, p.Y-q.Y) }
func (p Point) towards(q Point) Point    { return q.minus(p).times(1 / p.distance(q)) }
func place(p gozxing.ResultPoint) Point  { return Point{p.GetX(), p.GetY()} }
func cross(p, q Point) float64           { return p.X*q.Y - p.Y*q.X }
func (p Point) finite() bool             { return !math.IsNaN(p.X+p.Y) && !math.IsInf(p.X+p.Y, 0) }

// A mapping leads from modules to pixels. It changes the points, which are pairs of coordinates, in place.
type mapping interface{ TransformPoints(points []float64) }

// quad is four points, clockwise.
type quad [4]Point

// project returns the mapping that leads from one quadrilateral to another.
func project(from, to quad) *common.PerspectiveTransform {
	return common.PerspectiveTransform_QuadrilateralToQuadrilateral(
		from[0].X, from[0].Y, from[1].X, from[1].Y, from[2].X, from[2].Y, from[3].X, from[3].Y,
		to[0].X, to[0].Y, to[1].X, to[1].Y, to[2].X, to[2].Y, to[3].X, to[3].Y)
}

func at(m mapping, p Point) Point {
	xy := []float64{p.X, p.Y}
	m.TransformPoints(xy)
	return Point{xy[0], xy[1]}
}

// edge follows a ray from the centre of a finder pattern through its dark, light and dark ring, and returns where it
// leaves the pattern.
func (s *scanner) edge(from, direction Point, module float64) (Point, bool) {
	const step = .5 // pixels
	dark := true
	changes := 0
	for i := 1; float64(i)*step < 8*module+4; i++ {
		p := from.plus(direction.times(float64(i) * step))
		if s.bits.Get(int(math.Floor(p.X)), int(math.Floor(p.Y))) == dark {
			continue
		}
		dark = !dark
		if changes++; changes == 3 {
			return from.plus(direction.times((float64(i) - .5) * step)), true
		}
	}
	return Point{}, false
}

// moduleAlong measures a finder pattern in a direction, both ways: it is seven modules wide.
func (s *scanner) moduleAlong(centre, direction Point, guess float64) float64 {
	ahead, ok := s.edge(centre, direction, guess)
	behind, ok2 := s.edge(centre, direction.times(-1), guess)
	switch {
	case ok && ok2:
		return ahead.distance(behind) / 7
	case ok:
		return ahead.distance(centre) / 3.5
	case ok2:
		return behind.distance(centre) / 3.5
	}
	return guess
}

// side finds the side of a finder pattern that lies in a direction, as two points of its line: rays start on both sides
// of the centre, along the other axis.
func (s *scanner) side(centre, direction, along Point, module float64) (a, b Point, ok bool) {
	var points []Point
	for _, offset := range []float64{-1, -.5, 0, .5, 1} { // modules; all begin in the dark middle
		if p, ok := s.edge(centre.plus(along.times(offset*module)), direction, module); ok {
			points = append(points, p)
		}
	}
	if len(points) < 3 {
		return a, b, false
	}
	// The line of least squares goes through the mean; its direction is that of the greatest spread.
	var mean Point
	for _, p := range points {
		mean = mean.plus(p.times(1 / float64(len(points))))
	}
	var xx, xy, yy float64
	for _, p := range points {
		d := p.minus(mean)
		xx, xy, yy = xx+d.X*d.X, xy+d.X*d.Y, yy+d.Y*d.Y
	}
	angle := math.Atan2(2*xy, xx-yy) / 2
	return mean, mean.plus(Point{math.Cos(angle), math.Sin(angle)}), true
}

func meet(a, b, c, d Point) (Point, bool) {
	ab, cd := b.minus(a), d.minus(c)
	across := cross(ab, cd)
	if math.Abs(across) < .05 { // nearly parallel: the directions have length 1
		return Point{}, false
	}
	p := a.plus(ab.times(cross(c.minus(a), cd) / across))
	return p, p.finite()
}

// The work on an image is counted in pixels that are examined, of all its views; other work counts as so many of them
// as take the time. So the same image has the same codes however busy the machine is.
const (
	leastWork    = 2_500_000  // all tries on an image of 240 by 240 pixels
	workPerPixel = 6          // of the image
	mostWork     = 24_000_000 // half a second
)

// A try says how the image is changed before symbols are looked for.
type try struct {
	scale      float64 // 0: as it is
	filter     filter
	global     bool // one threshold for all of the image
	inverted   bool
	otherFound bool // symbols of the other kind were found in the view
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
