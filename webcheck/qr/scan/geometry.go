package scan

import (
	"math"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/common"
)

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
